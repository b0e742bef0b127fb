//! What the kernel says of a process that has nothing to do.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context, Result};

/// What a process has had of the processor.
pub(crate) struct Spent {
    /// Processor time, in clock ticks of 10 ms.
    pub(crate) ticks: u64,
    /// How often one of its threads gave the processor away or lost it. A thread that is not
    /// woken in between has used no processor time at all.
    pub(crate) switches: u64,
}

impl Spent {
    /// Asks for all threads of a process since it started.
    pub(crate) fn by(pid: u32) -> Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name, in parentheses, may contain anything.
        let (_, rest) = stat.rsplit_once(')').context("a process has a name")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let tick = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        let ticks = tick(11).zip(tick(12)).context("a process has used some ticks")?;
        let mut switches = 0;
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let status = fs::read_to_string(thread?.path().join("status"))?;
            switches += status.lines().filter_map(switches_in).sum::<u64>();
        }
        Ok(Self { ticks: ticks.0 + ticks.1, switches })
    }

    /// Returns what came after an earlier look.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self { ticks: self.ticks - earlier.ticks, switches: self.switches - earlier.switches }
    }
}

/// Tells whether somebody is blocked on a lock on this file.
pub(crate) fn is_blocked_on(file: &Path) -> Result<bool> {
    let inode = format!(":{} ", fs::metadata(file)?.ino());
    let locks = fs::read_to_string("/proc/locks")?;
    Ok(locks.lines().any(|lock| lock.contains("->") && lock.contains(&inode)))
}

/// Both kinds, those of its own will and those against it.
fn switches_in(line: &str) -> Option<u64> {
    let (name, number) = line.split_once(':')?;
    let number = number.trim().parse().ok();
    number.filter(|_| name.ends_with("voluntary_ctxt_switches"))
}
