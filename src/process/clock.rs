//! The only place that reads the machine's clocks for claims.

use std::fs::File;
use std::io::Read as _;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

use crate::claim::duration::to_ms;
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

#[expect(clippy::disallowed_methods, reason = "this is where the wall clock is read")]
fn wall() -> WallMs {
    WallMs(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, to_ms))
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

/// Reads a file of the kernel's in one go: it is shorter than the buffer, and
/// asking for its size first would cost as much as reading it.
pub(super) fn read_short(path: &str) -> Option<String> {
    let mut buffer = [0; 1024];
    let count = File::open(path).ok()?.read(&mut buffer).ok()?;
    Some(String::from_utf8_lossy(&buffer[..count]).into_owned())
}
