//! Wakes a thread at an instant of the boot clock.
//!
//! The timeouts of `poll(2)` stand still while the machine sleeps; a timer of
//! this kind rings as soon as it wakes up.

use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A timer that is waited for by its descriptor, where the system has such.
#[derive(Debug)]
pub struct Alarm(Option<timer::Timer>);

impl Alarm {
    /// A timer that is not set. Without one, timeouts have to do.
    #[must_use]
    pub fn new() -> Self {
        Self(timer::new())
    }

    /// Has it ring after this long, once.
    pub fn set(&self, after: Duration) {
        if let Some(timer) = &self.0 {
            timer::set(timer, after.max(Duration::from_millis(1)));
        }
    }

    /// The descriptor to wait on. It stays ready until the alarm is set again.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(timer::fd)
    }

    /// How long to wait at the most for something that is due after this long:
    /// for ever, where the alarm rings.
    #[must_use]
    pub fn timeout(&self, after: Duration) -> Option<Duration> {
        match self.0 {
            Some(_) => None,
            None => Some(after),
        }
    }
}

impl Default for Alarm {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_os = "linux")]
mod timer {
    use std::os::fd::{AsFd as _, BorrowedFd};
    use std::time::Duration;

    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

    pub(super) type Timer = TimerFd;

    pub(super) fn new() -> Option<Timer> {
        TimerFd::new(ClockId::CLOCK_BOOTTIME, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)
            .ok()
    }

    pub(super) fn set(timer: &Timer, after: Duration) {
        let once = Expiration::OneShot(TimeSpec::from_duration(after));
        // The arguments are always valid.
        let _ = timer.set(once, TimerSetTimeFlags::empty());
    }

    pub(super) fn fd(timer: &Timer) -> BorrowedFd<'_> {
        timer.as_fd()
    }
}

#[cfg(not(target_os = "linux"))]
mod timer {
    use std::os::fd::BorrowedFd;
    use std::time::Duration;

    pub(super) enum Timer {}

    pub(super) fn new() -> Option<Timer> {
        None
    }

    pub(super) fn set(timer: &Timer, _: Duration) {
        match *timer {}
    }

    pub(super) fn fd(timer: &Timer) -> BorrowedFd<'_> {
        match *timer {}
    }
}
