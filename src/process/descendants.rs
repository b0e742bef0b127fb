//! The processes that come from a command which shares our process group.
//!
//! With a controlling terminal the command cannot be ended by its group: our
//! neighbours in a pipeline are in it too. Its descendants are found by their
//! parents instead, and those whose parent has ended become our own children
//! (`PR_SET_CHILD_SUBREAPER`), so that nobody gets out of sight.

use std::collections::HashMap;

use nix::unistd::{Pid, getpid};

use super::proc_stat::{self, Vital};

/// Keeps orphaned descendants in sight. They stay what they are otherwise.
pub(super) fn keep_in_sight() {
    #[cfg(target_os = "linux")]
    // Without it a timeout reaches fewer; nothing else depends on it.
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Reaps orphans that became our children and have ended; they would stay as
/// zombies for as long as the command runs. The command itself is left to its
/// owner.
#[cfg(target_os = "linux")]
pub(super) fn reap_orphans(command: Pid) {
    use nix::sys::wait::{Id, WaitPidFlag, waitid, waitpid};

    let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    while let Ok(status) = waitid(Id::All, ended) {
        match status.pid() {
            Some(pid) if pid != command => {
                if waitpid(pid, Some(WaitPidFlag::WNOHANG)).is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// Elsewhere orphans never become our children.
#[cfg(not(target_os = "linux"))]
pub(super) fn reap_orphans(_command: Pid) {}

/// Every living descendant of this process.
pub(super) fn all() -> Vec<i32> {
    of(getpid().as_raw())
}

/// Every living descendant of a process.
pub(super) fn of(ancestor: i32) -> Vec<i32> {
    let processes: Vec<_> = proc_stat::all().collect();
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in &processes {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = Vec::new();
    let mut next = vec![ancestor];
    while let Some(parent) = next.pop() {
        let of_parent = children.remove(&parent).unwrap_or_default();
        next.extend(&of_parent);
        found.extend(of_parent);
    }
    let living = |pid: &i32| {
        processes.iter().any(|process| process.pid == *pid && process.vital == Vital::Living)
    };
    found.retain(living);
    found
}
