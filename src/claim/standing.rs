//! The state of a key, as people are told it.

use super::attempt::State;
use super::decide::Seen;
use super::holder::Life;
use super::time::Now;

/// The state of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is known of it.
    Absent,
    /// Its holder lives.
    Running,
    /// The wrapper is gone, but its command lives.
    Orphaned,
    /// Its outcome is on record.
    Done,
    /// Its record has expired.
    Expired,
    /// Its last attempt failed.
    Failed,
    /// Its holder died without recording an outcome.
    Interrupted,
    /// It was dropped on purpose.
    Forgotten,
}

impl Standing {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Running => "running",
            Self::Orphaned => "orphaned",
            Self::Done => "done",
            Self::Expired => "expired",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Forgotten => "forgotten",
        }
    }

    /// The state of one attempt.
    #[must_use]
    pub fn of_attempt(seen: &Seen, now: &Now) -> Self {
        match seen.attempt.state {
            State::Running if !seen.counts(now) => Self::Interrupted,
            State::Running if seen.life == Life::Orphaned => Self::Orphaned,
            State::Running => Self::Running,
            State::Done if seen.expired(now) => Self::Expired,
            State::Done => Self::Done,
            State::Failed => Self::Failed,
            State::Interrupted => Self::Interrupted,
            State::Forgotten => Self::Forgotten,
        }
    }

    /// The state of a key, from its attempts, newest first.
    #[must_use]
    pub fn of_key(chain: &[Seen], now: &Now) -> Self {
        deciding(chain, now).map_or(Self::Absent, |seen| Self::of_attempt(seen, now))
    }
}

/// The attempt that says what state a key is in: the newest, but a `--rerun`
/// that came to nothing is passed over.
#[must_use]
pub fn deciding<'a>(chain: &'a [Seen], now: &Now) -> Option<&'a Seen> {
    chain.iter().find(|seen| !seen.is_passed_over(now))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{attempt, now};
    use super::*;

    fn standing(state: State, life: Life) -> Standing {
        Standing::of_key(&[Seen { attempt: attempt(1, state), life }], &now(0))
    }

    #[test]
    fn every_state_has_its_word() {
        assert_eq!(Standing::of_key(&[], &now(0)), Standing::Absent);
        assert_eq!(standing(State::Running, Life::Alive), Standing::Running);
        assert_eq!(standing(State::Running, Life::Orphaned), Standing::Orphaned);
        assert_eq!(standing(State::Running, Life::Gone), Standing::Interrupted);
        assert_eq!(standing(State::Done, Life::Gone), Standing::Done);
        assert_eq!(standing(State::Failed, Life::Gone), Standing::Failed);
        assert_eq!(standing(State::Interrupted, Life::Gone), Standing::Interrupted);
        assert_eq!(standing(State::Forgotten, Life::Gone), Standing::Forgotten);
    }
}
