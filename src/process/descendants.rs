//! The processes that come from a command which shares our process group.
//!
//! With a controlling terminal the command cannot be ended by its group: our
//! neighbours in a pipeline are in it too. Its descendants are found by their
//! parents instead, and those whose parent has ended become our own children
//! (`PR_SET_CHILD_SUBREAPER`), so that nobody gets out of sight.

use std::collections::{BTreeMap, HashMap};

use nix::unistd::{Pid, getpid};

use super::proc_stat::{self, ProcStat, Vital};

/// How often the names of all processes are read at the most, where there are ever new ones.
const LOOKS: u32 = 16;

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
pub(super) fn all() -> Vec<ProcStat> {
    of(&[getpid().as_raw()])
}

/// Every living descendant of these processes.
pub(super) fn of(ancestors: &[i32]) -> Vec<ProcStat> {
    let mut children: HashMap<i32, Vec<ProcStat>> = HashMap::new();
    for process in everybody() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut next = ancestors.to_vec();
    while let Some(parent) = next.pop() {
        let of_parent = children.remove(&parent).unwrap_or_default();
        next.extend(of_parent.iter().map(|child| child.pid));
        found.extend(of_parent);
    }
    found.retain(|process| process.vital == Vital::Living);
    found
}

/// Every process. One that starts another and ends while we look hides nobody: the names
/// are read again until none of them is new.
fn everybody() -> impl Iterator<Item = ProcStat> {
    let mut seen = BTreeMap::new();
    for _ in 0..LOOKS {
        let new: Vec<i32> = proc_stat::pids().filter(|pid| !seen.contains_key(pid)).collect();
        if new.is_empty() {
            break;
        }
        seen.extend(new.into_iter().map(|pid| (pid, proc_stat::read(pid))));
    }
    // Whoever lost a parent since has another.
    let is_gone = |pid| seen.get(pid).is_some_and(Option::is_none);
    let orphans = seen.values().flatten().filter(|process| is_gone(&process.parent));
    let orphans: Vec<i32> = orphans.map(|process| process.pid).collect();
    seen.extend(orphans.into_iter().map(|pid| (pid, proc_stat::read(pid))));
    seen.into_values().flatten()
}
