//! For how long a command may run on, where only a time limit protects it.
//!
//! Whoever renews says when it last sent a renewal that succeeded; whoever owns
//! the command stops it in time, and never asks the store. So a store that hangs
//! holds up nobody (DESIGN section 6).

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::claim::time::BootMs;

/// Who may take what is not renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takers {
    /// Somebody on this machine, who ends our command before he begins.
    Here,
    /// Somebody on another host, too, who cannot.
    Anywhere,
}

/// A right to run that ends by itself unless it is renewed, on the boot clock.
#[derive(Debug)]
pub struct Tenure {
    length: Duration,
    takers: Takers,
    /// When the claim, or the last renewal that succeeded, was sent.
    since: AtomicI64,
}

impl Tenure {
    /// A right of this length that was asked for at this instant.
    #[must_use]
    pub fn new(length: Duration, takers: Takers, sent: BootMs) -> Self {
        Self { length, takers, since: AtomicI64::new(sent.0) }
    }

    /// Who may take it when it is over.
    #[must_use]
    pub fn takers(&self) -> Takers {
        self.takers
    }

    /// Notes that a renewal that was sent then has succeeded.
    pub fn renewed(&self, sent: BootMs) {
        self.since.store(sent.0, Ordering::Release);
    }

    /// Its length.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.length
    }

    /// When it ends, and others may have it.
    #[must_use]
    pub fn end(&self) -> BootMs {
        self.after(self.length)
    }

    /// When the next renewal is to be sent: a quarter after the last.
    #[must_use]
    pub fn renew_at(&self) -> BootMs {
        self.after(self.length / 4)
    }

    /// When a command is told to end because nothing was renewed: at three
    /// quarters.
    #[must_use]
    pub fn stop_at(&self) -> BootMs {
        self.after(self.length * 3 / 4)
    }

    /// When it is killed, always before others may begin: at seven eighths.
    #[must_use]
    pub fn kill_at(&self) -> BootMs {
        self.after(self.length * 7 / 8)
    }

    fn after(&self, span: Duration) -> BootMs {
        BootMs(self.since.load(Ordering::Acquire)).plus(span)
    }
}

/// How long it is until an instant; nothing once it has come.
#[must_use]
pub fn until(at: BootMs, now: BootMs) -> Duration {
    Duration::from_millis(u64::try_from(at.0.saturating_sub(now.0)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_counts_from_when_the_last_success_was_sent() {
        let tenure = Tenure::new(Duration::from_secs(8), Takers::Here, BootMs(1000));
        let instants = |tenure: &Tenure| {
            [tenure.renew_at(), tenure.stop_at(), tenure.kill_at(), tenure.end()].map(|at| at.0)
        };
        assert_eq!(instants(&tenure), [3000, 7000, 8000, 9000]);
        tenure.renewed(BootMs(3000));
        assert_eq!(instants(&tenure), [5000, 9000, 10_000, 11_000]);
    }

    #[test]
    fn an_instant_that_has_come_is_not_waited_for() {
        assert_eq!(until(BootMs(5), BootMs(5)), Duration::ZERO);
        assert_eq!(until(BootMs(5), BootMs(9)), Duration::ZERO);
        assert_eq!(until(BootMs(9), BootMs(5)), Duration::from_millis(4));
    }
}
