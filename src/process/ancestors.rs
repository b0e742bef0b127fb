//! Whether a holder is one of the processes that wait for us.

use crate::claim::holder::Holder;

use super::{host, proc_stat};

/// Whether the holder is an ancestor of this process: waiting for it would be
/// waiting for ourselves. Survives `sudo` and `env -i`, which drop variables.
#[must_use]
pub fn include(holder: &Holder) -> bool {
    if holder.pid_namespace != host::pid_namespace() {
        return false;
    }
    let parent = proc_stat::read_own().map(|stat| stat.parent);
    let chain = std::iter::successors(parent, |pid| proc_stat::read(*pid).map(|stat| stat.parent));
    chain
        .take_while(|pid| *pid > 0)
        .filter_map(proc_stat::read)
        .any(|stat| stat.pid == holder.pid && stat.start == holder.start)
}
