//! Sees to it that a command does not outlive its right to run.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::claim::time::BootMs;

use super::alarm::Alarm;
use super::tenure::{Takers, Tenure, until};

/// What is to be done about a right to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// Nothing; look again after this long at the latest, or when the alarm
    /// rings.
    Holds(Option<Duration>),
    /// The command is told to end, and killed after this long.
    Ends(Duration),
}

/// Watches over one right.
pub(super) struct Watch<'a> {
    tenure: &'a Tenure,
    alarm: Alarm,
    /// Until when whoever renews has time to, after we were not there to see the
    /// right end: stopped, or asleep with the machine.
    patience: Option<BootMs>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(tenure: &'a Tenure) -> Self {
        Self { tenure, alarm: Alarm::new(), patience: None }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.alarm.fd()
    }

    /// Looks at the right at `now`, and sets the alarm.
    ///
    /// Whoever was stopped or slept may find it over though nobody has taken it.
    /// On one machine nobody can have begun without ending our command first, so
    /// there is time for one renewal, which says how it is. On another host somebody
    /// may have begun by now.
    pub(super) fn look(&mut self, now: BootMs) -> Right {
        let stop_at = self.tenure.stop_at();
        let left = until(stop_at, now);
        if !left.is_zero() {
            self.patience = None;
            return self.wait(left);
        }
        let eighth = self.tenure.length() / 8;
        let was_away = self.tenure.takers() == Takers::Here && until(now, stop_at) > eighth / 2;
        if self.patience.is_none() && was_away {
            self.patience = Some(now.plus(eighth));
        }
        match self.patience.map(|end| until(end, now)) {
            Some(left) if !left.is_zero() => self.wait(left),
            _ => Right::Ends(until(self.tenure.kill_at(), now)),
        }
    }

    fn wait(&self, left: Duration) -> Right {
        self.alarm.set(left);
        Right::Holds(self.alarm.timeout(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(right: Right) -> bool {
        matches!(right, Right::Holds(_))
    }

    #[test]
    fn a_right_that_is_not_renewed_ends_at_three_quarters_with_an_eighth_to_end_in() {
        let tenure = Tenure::new(Duration::from_secs(8), Takers::Here, BootMs(0));
        let mut watch = Watch::new(&tenure);
        assert!(held(watch.look(BootMs(5999))));
        assert_eq!(watch.look(BootMs(6000)), Right::Ends(Duration::from_secs(1)));
    }

    #[test]
    fn a_right_that_is_renewed_goes_on() {
        let tenure = Tenure::new(Duration::from_secs(8), Takers::Here, BootMs(0));
        let mut watch = Watch::new(&tenure);
        tenure.renewed(BootMs(4000));
        assert!(held(watch.look(BootMs(9999))));
        assert!(!held(watch.look(BootMs(10_000))));
    }

    #[test]
    fn whoever_was_away_while_others_elsewhere_could_begin_has_no_time_at_all() {
        let tenure = Tenure::new(Duration::from_secs(8), Takers::Anywhere, BootMs(0));
        let mut watch = Watch::new(&tenure);
        assert_eq!(watch.look(BootMs(100_000)), Right::Ends(Duration::ZERO));
    }

    #[test]
    fn whoever_was_away_has_time_for_one_renewal() {
        let tenure = Tenure::new(Duration::from_secs(8), Takers::Here, BootMs(0));
        let mut watch = Watch::new(&tenure);
        assert!(held(watch.look(BootMs(100_000))));
        tenure.renewed(BootMs(100_100));
        assert!(held(watch.look(BootMs(100_200))));
        assert!(held(watch.look(BootMs(200_000))), "it was away again");
        assert!(held(watch.look(BootMs(200_999))));
        assert_eq!(watch.look(BootMs(201_000)), Right::Ends(Duration::ZERO));
    }
}
