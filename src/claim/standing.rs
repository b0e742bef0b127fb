//! The state of a key, as people are told it.

use super::attempt::State;
use super::decide::Seen;
use super::holder::Life;
use super::key::Kind;
use super::time::{Expiry, Now};

/// The state of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// A name that somebody holds.
    Held,
    /// A name that nobody holds.
    Released,
    /// A name that nobody holds and that is kept all the same (`--min-hold`).
    Resting,
}

impl Standing {
    /// What a key can be that something is known of.
    pub const KNOWN: [Self; 10] = [
        Self::Running,
        Self::Orphaned,
        Self::Done,
        Self::Expired,
        Self::Failed,
        Self::Interrupted,
        Self::Forgotten,
        Self::Held,
        Self::Released,
        Self::Resting,
    ];

    /// What something that runs once can be.
    pub const OF_ONCE: [Self; 7] = [
        Self::Running,
        Self::Orphaned,
        Self::Done,
        Self::Expired,
        Self::Failed,
        Self::Interrupted,
        Self::Forgotten,
    ];

    /// What a name can be.
    pub const OF_LEASE: [Self; 7] = [
        Self::Held,
        Self::Orphaned,
        Self::Resting,
        Self::Released,
        Self::Expired,
        Self::Interrupted,
        Self::Forgotten,
    ];

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
            Self::Held => "held",
            Self::Released => "released",
            Self::Resting => "resting",
        }
    }

    /// The state of one attempt.
    #[must_use]
    pub fn of_attempt(seen: &Seen, kind: Kind, now: &Now) -> Self {
        match kind {
            Kind::Once | Kind::Step => Self::of_run(seen, now),
            Kind::Lease => Self::of_holding(seen, now),
        }
    }

    fn of_holding(seen: &Seen, now: &Now) -> Self {
        match (seen.attempt.state, seen.holds(now)) {
            (State::Running, Some(_)) if seen.life == Life::Orphaned => Self::Orphaned,
            (State::Running, Some(_)) => Self::Held,
            (State::Forgotten, _) => Self::Forgotten,
            _ if seen.keeps(now).is_some() => Self::Resting,
            (State::Running, None) if seen.life == Life::Gone => Self::Interrupted,
            (State::Running, None) => Self::Expired,
            (ended, _) => Self::of_ended(Kind::Lease, ended, Expiry::Never, now),
        }
    }

    fn of_run(seen: &Seen, now: &Now) -> Self {
        match seen.attempt.state {
            State::Running if !seen.counts(now) => Self::Interrupted,
            State::Running if seen.life == Life::Orphaned => Self::Orphaned,
            State::Done if seen.expired(now) => Self::Expired,
            state => Self::of_ended(Kind::Once, state, Expiry::Never, now),
        }
    }

    /// The state of an attempt of which no process matters any more and that keeps
    /// nobody away, told without the rest of it.
    #[must_use]
    pub fn of_ended(kind: Kind, state: State, expiry: Expiry, now: &Now) -> Self {
        match (kind, state) {
            (Kind::Once | Kind::Step, State::Done) if expiry.has_come(now) => Self::Expired,
            (Kind::Once | Kind::Step, State::Done) => Self::Done,
            (Kind::Once | Kind::Step, State::Failed) => Self::Failed,
            (Kind::Once | Kind::Step, State::Running) => Self::Running,
            (Kind::Lease, State::Running) => Self::Held,
            (_, State::Interrupted) => Self::Interrupted,
            (_, State::Forgotten) => Self::Forgotten,
            (_, State::Released) | (Kind::Lease, State::Done | State::Failed) => Self::Released,
        }
    }

    /// The state of a key, from its attempts, newest first.
    #[must_use]
    pub fn of_key(chain: &[Seen], kind: Kind, now: &Now) -> Self {
        deciding(chain, kind, now).map_or(Self::Absent, |seen| Self::of_attempt(seen, kind, now))
    }
}

/// The attempt that says what state a key is in: to run once the newest, but a
/// `--rerun` that came to nothing is passed over; of a lease, one that keeps it
/// before one that is over.
#[must_use]
pub fn deciding<'a>(chain: &'a [Seen], kind: Kind, now: &Now) -> Option<&'a Seen> {
    match kind {
        Kind::Once | Kind::Step => chain.iter().find(|seen| !seen.is_passed_over(now)),
        Kind::Lease => {
            let holds = chain.iter().find(|seen| seen.holds(now).is_some());
            let keeps = || chain.iter().find(|seen| seen.keeps(now).is_some());
            holds.or_else(keeps).or(chain.first())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::samples::{attempt, now};
    use super::super::time::Until;
    use super::*;

    fn standing(state: State, life: Life) -> Standing {
        Standing::of_key(&[Seen { attempt: attempt(1, state), life }], Kind::Once, &now(0))
    }

    #[test]
    fn every_state_has_its_word() {
        assert_eq!(Standing::of_key(&[], Kind::Once, &now(0)), Standing::Absent);
        assert_eq!(standing(State::Running, Life::Alive), Standing::Running);
        assert_eq!(standing(State::Running, Life::Orphaned), Standing::Orphaned);
        assert_eq!(standing(State::Running, Life::Gone), Standing::Interrupted);
        assert_eq!(standing(State::Done, Life::Gone), Standing::Done);
        assert_eq!(standing(State::Failed, Life::Gone), Standing::Failed);
        assert_eq!(standing(State::Interrupted, Life::Gone), Standing::Interrupted);
        assert_eq!(standing(State::Forgotten, Life::Gone), Standing::Forgotten);
    }

    #[test]
    fn a_name_is_held_rests_or_is_over() {
        let of = |state, life, at_ms| {
            let chain = [Seen { attempt: attempt(1, state), life }];
            Standing::of_key(&chain, Kind::Lease, &now(at_ms))
        };
        assert_eq!(of(State::Running, Life::Alive, 0), Standing::Held);
        assert_eq!(of(State::Running, Life::Orphaned, 0), Standing::Orphaned);
        assert_eq!(of(State::Running, Life::Gone, 0), Standing::Interrupted);
        assert_eq!(of(State::Running, Life::Alive, 60_000), Standing::Expired);
        assert_eq!(of(State::Released, Life::Gone, 0), Standing::Released);
        let mut resting = Seen { attempt: attempt(1, State::Released), life: Life::Gone };
        resting.attempt.rests_until = Some(Until::after(&now(0), Duration::from_secs(1)));
        assert_eq!(Standing::of_key(&[resting], Kind::Lease, &now(0)), Standing::Resting);
    }
}
