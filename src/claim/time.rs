//! What time is to a claim: a wall clock for records, a boot clock for leases.
//!
//! A lease counts on the boot clock, so that a step of the wall clock cannot
//! hand a living lease away; only a record's expiry is wall-clock time
//! (DESIGN section 4). Nothing here reads a clock: a [`Clock`] is handed in.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::duration::to_ms;

/// Milliseconds since 1970 by the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallMs(pub i64);

/// Milliseconds since this machine started, sleep included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootMs(pub i64);

/// The identity of one start of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BootId(pub Arc<str>);

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One reading of all clocks; a transaction takes exactly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Now {
    /// The wall clock.
    pub wall: WallMs,
    /// The boot clock.
    pub boot: BootMs,
    /// The start of the kernel that the boot clock counts from.
    pub boot_id: BootId,
}

/// Where stores and verbs read the time.
pub trait Clock: Send {
    /// Reads all clocks once.
    fn now(&self) -> Now;
}

/// The end of a lease or of a pause, on the boot clock of one start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Until {
    /// Which start of the kernel `at` counts from.
    pub boot_id: BootId,
    /// The first instant at which it is over.
    pub at: BootMs,
}

impl Until {
    /// The instant that lies `span` after `now`.
    #[must_use]
    pub fn after(now: &Now, span: Duration) -> Self {
        Self { boot_id: now.boot_id.clone(), at: now.boot.plus(span) }
    }

    /// How long it still lasts; nothing once `now >= until`, or when the
    /// machine has started again since.
    #[must_use]
    pub fn left(&self, now: &Now) -> Option<Duration> {
        let ms = self.at.0.saturating_sub(now.boot.0);
        (self.boot_id == now.boot_id && ms > 0).then(|| Duration::from_millis(ms.unsigned_abs()))
    }
}

/// When a record stops being replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expiry {
    /// Not before it is pruned or forgotten.
    Never,
    /// At this instant of the wall clock.
    At(WallMs),
}

impl Expiry {
    /// Whether it has come: `now >= until`, everywhere.
    #[must_use]
    pub fn has_come(self, now: &Now) -> bool {
        match self {
            Self::Never => false,
            Self::At(at) => now.wall >= at,
        }
    }
}

impl BootMs {
    /// The instant `span` later, at most the end of time.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(to_ms(span)))
    }

    /// The instant `span` earlier.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(to_ms(span)))
    }
}

impl WallMs {
    /// The instant `span` later, at most the end of time.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(to_ms(span)))
    }

    /// How long ago this was; nothing if it lies ahead.
    #[must_use]
    pub fn age(self, now: WallMs) -> Duration {
        Duration::from_millis(u64::try_from(now.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(boot_id: &str, boot: i64, wall: i64) -> Now {
        Now { wall: WallMs(wall), boot: BootMs(boot), boot_id: BootId(boot_id.into()) }
    }

    #[test]
    fn a_lease_is_over_at_exactly_its_end() {
        let until = Until::after(&at("b", 100, 0), Duration::from_millis(50));
        assert_eq!(until.left(&at("b", 149, 0)), Some(Duration::from_millis(1)));
        assert_eq!(until.left(&at("b", 150, 0)), None);
    }

    #[test]
    fn a_lease_of_another_start_is_over() {
        let until = Until::after(&at("b", 100, 0), Duration::from_secs(50));
        assert_eq!(until.left(&at("c", 0, 0)), None);
    }

    #[test]
    fn a_step_of_the_wall_clock_does_not_end_a_lease() {
        let until = Until::after(&at("b", 100, 0), Duration::from_secs(50));
        assert!(until.left(&at("b", 200, i64::MAX / 2)).is_some());
    }

    #[test]
    fn a_record_expires_at_exactly_its_instant() {
        let expiry = Expiry::At(WallMs(10));
        assert!(!expiry.has_come(&at("b", 0, 9)));
        assert!(expiry.has_come(&at("b", 0, 10)));
        assert!(!Expiry::Never.has_come(&at("b", 0, i64::MAX)));
    }
}
