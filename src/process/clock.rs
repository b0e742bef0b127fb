//! The only place that reads the machine's clocks for claims.

use std::fs::File;
use std::io::Read as _;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
#[cfg(target_os = "linux")]
use nix::unistd::{SysconfVar, sysconf};

use crate::claim::duration::to_ms;
use crate::claim::holder::StartTime;
use crate::claim::time::{BootId, BootMs, Clock, Now, WallMs};

/// The machine's own clocks.
#[derive(Debug, Default)]
pub struct SystemClock {
    boot_id: OnceLock<BootId>,
}

impl SystemClock {
    /// The start of the kernel that the boot clock counts from; read once.
    pub fn boot_id(&self) -> &BootId {
        self.boot_id.get_or_init(|| {
            BootId(read_short("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().into())
        })
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        Now { wall: wall(), boot: boot(), boot_id: self.boot_id().clone() }
    }
}

fn wall() -> WallMs {
    WallMs(to_ms(since_1970()))
}

/// The wall clock, as exact as it is.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is where the wall clock is read")]
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The boot clock: it counts on while the machine sleeps, where the kernel has
/// such a clock.
pub fn boot() -> BootMs {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;
    BootMs(clock_gettime(CLOCK).map_or(0, |time| to_ms(Duration::from(time))))
}

/// Whether there is a clock that counts on while the machine sleeps.
#[must_use]
pub fn counts_asleep() -> bool {
    #[cfg(target_os = "linux")]
    return clock_gettime(ClockId::CLOCK_BOOTTIME).is_ok();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// The boot clock in the ticks in which the kernel says when a process started;
/// nothing where it says that otherwise, or not at all.
pub(super) fn ticks() -> Option<StartTime> {
    #[cfg(target_os = "linux")]
    {
        let time = Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?);
        let per_second = u128::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
        let ticks = time.as_nanos() / (1_000_000_000 / per_second);
        u64::try_from(ticks).ok().map(StartTime)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Reads a file of the kernel's in one go: it is shorter than the buffer, and
/// asking for its size first would cost as much as reading it.
pub(super) fn read_short(path: &str) -> Option<String> {
    let mut buffer = [0; 1024];
    let count = File::open(path).ok()?.read(&mut buffer).ok()?;
    Some(String::from_utf8_lossy(&buffer[..count]).into_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::super::proc_stat;
    use super::ticks;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child to look at")]
    fn two_readings_of_the_clock_around_a_start_say_when_proc_says_it_was() {
        let mut compared = 0;
        while compared < 20 {
            let before = ticks().expect("a clock");
            let mut child = Command::new("true").stdin(Stdio::null()).spawn().expect("a child");
            let after = ticks().expect("a clock");
            let pid = i32::try_from(child.id()).expect("a pid");
            let told = proc_stat::read(pid).expect("its line in /proc").start;
            child.wait().expect("its end");
            assert!((before.0..=after.0).contains(&told.0), "{before:?} {told:?} {after:?}");
            compared += u32::from(before == after);
        }
    }
}
