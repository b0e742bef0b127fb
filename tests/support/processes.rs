//! What `/proc` says about processes and locks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The processes whose working folder is in `folder`. Zombies have none.
pub(crate) fn within(folder: &Path) -> Vec<i32> {
    everybody()
        .filter(|pid| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
        })
        .collect()
}

fn everybody() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Kills a process, or a whole group when given a negative id; gone is fine too.
pub(crate) fn destroy(pid: i32) {
    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
}

/// The one-letter state of a process, if it exists.
pub(crate) fn state(pid: i32) -> Option<char> {
    fields(pid)?.first()?.chars().next()
}

/// The thread of a process that is called so.
pub(crate) fn thread(pid: i32, name: &str) -> Option<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let named = |task: &fs::DirEntry| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    tasks.into_iter().find(named)?.file_name().to_str()?.parse().ok()
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| !"ZX".contains(state))
}

/// The processes that a process has started, zombies included.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let parent = pid.to_string();
    everybody().filter(|child| fields(*child).is_some_and(|all| all[1] == parent)).collect()
}

/// The processor time a process has used, in clock ticks (10 ms).
pub(crate) fn cpu_ticks(pid: i32) -> u64 {
    let fields = fields(pid).expect("the process exists");
    [11, 12].iter().map(|&at| fields[at].parse::<u64>().expect("ticks are a number")).sum()
}

/// How often the threads of a process gave the processor away: every wake-up of a
/// loop that polls is one.
pub(crate) fn switches(pid: i32) -> u64 {
    fs::read_dir(format!("/proc/{pid}/task"))
        .expect("the process exists")
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok())
        .filter_map(|status| {
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .sum()
}

/// The most that a process has had in memory at once, in kilobytes.
pub(crate) fn peak_memory_kb(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process exists");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it has a peak");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("a peak is a number")
}

/// Whether this test process ignores a signal, and so whoever it starts.
pub(crate) fn ignores(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    mask & (1 << (signal as i32 - 1)) != 0
}

/// Whether a process has a file open.
pub(crate) fn has_open(pid: i32, file: &Path) -> bool {
    fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|fds| {
        fds.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == file))
    })
}

/// How many lock requests on a file are blocked in the kernel.
pub(crate) fn blocked_on(file: &Path) -> usize {
    let Ok(metadata) = fs::metadata(file) else {
        return 0;
    };
    let inode = format!(":{} ", metadata.ino());
    fs::read_to_string("/proc/locks")
        .unwrap_or_default()
        .lines()
        .filter(|line| line.contains("->") && line.contains(&inode))
        .count()
}

/// The fields of `/proc/PID/stat` after the command's name.
fn fields(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}
