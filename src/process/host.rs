//! Who and where we are, as a claim's holder.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;

use crate::claim::holder::{Holder, PidNamespace, StartTime};

use super::clock::SystemClock;
use super::proc_stat::{self, Vital};

/// Our own PID namespace, which a process never leaves; 0 where the system has none.
#[must_use]
pub fn pid_namespace() -> PidNamespace {
    static OURS: OnceLock<PidNamespace> = OnceLock::new();
    *OURS.get_or_init(|| {
        PidNamespace(fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino()))
    })
}

/// The machine's name.
#[must_use]
pub fn name() -> String {
    nix::unistd::gethostname()
        .map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Whether we are root, and a folder is another user's.
#[must_use]
pub fn is_guest_of(folder: &Path) -> bool {
    nix::unistd::Uid::effective().is_root()
        && fs::metadata(folder).is_ok_and(|metadata| metadata.uid() != 0)
}

/// Another process, as the holder of a claim; nothing where there is none that lives, or
/// none that can be seen.
#[must_use]
pub fn process(pid: i32, clock: &SystemClock) -> Option<Holder> {
    let stat = proc_stat::read(pid).filter(|stat| stat.vital == Vital::Living)?;
    Some(holder(pid, stat.start, clock))
}

/// The process that called us, as the holder of a claim, for people.
#[must_use]
pub fn caller(clock: &SystemClock) -> Holder {
    let pid = nix::unistd::getppid().as_raw();
    process(pid, clock).unwrap_or_else(|| holder(pid, StartTime(0), clock))
}

/// This process, as the holder of a claim.
#[must_use]
pub fn ourselves(clock: &SystemClock) -> Holder {
    let start = proc_stat::read_own().map_or(StartTime(0), |stat| stat.start);
    holder(nix::unistd::getpid().as_raw(), start, clock)
}

fn holder(pid: i32, start: StartTime, clock: &SystemClock) -> Holder {
    Holder {
        host: name(),
        boot_id: clock.boot_id().clone(),
        pid,
        start,
        pid_namespace: pid_namespace(),
    }
}
