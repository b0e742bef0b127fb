//! Which keys and attempts a sweep takes: the rules that SQLite has as queries.

use crate::claim::attempt::{Attempt, Origin, Promise, Remains, State};
use crate::claim::duration::to_ms;
use crate::claim::time::{Now, WallMs};
use crate::store::{Promised, Sweep};

use super::unlooked;

fn is_old(sweep: &Sweep, attempt: &Attempt, now: &Now) -> bool {
    let horizon = WallMs(now.wall.0 - to_ms(sweep.older_than));
    attempt.end.as_ref().is_some_and(|end| end.at < horizon)
}

/// Whether a whole key goes.
pub(super) fn goes(sweep: &Sweep, chain: &[Attempt], now: &Now) -> bool {
    let finished = |attempt: &Attempt| {
        matches!(attempt.state, State::Done | State::Failed | State::Forgotten)
            && is_old(sweep, attempt, now)
    };
    // A promise is spent once a later attempt took the record's place.
    let in_force = |record: &Attempt| {
        !chain.iter().any(|later| {
            later.generation > record.generation
                && (later.origin == Origin::Ordinary || later.state == State::Done)
        })
    };
    let promised = |attempt: &Attempt| {
        attempt.end.as_ref().is_some_and(|end| {
            attempt.state == State::Done
                && end.promise == Promise::Explicit
                && !end.expiry.has_come(now)
        }) && in_force(attempt)
    };
    let rests = |newest: &Attempt| {
        newest.origin == Origin::Ordinary
            && newest.rests_until.as_ref().is_some_and(|until| until.left(now).is_some())
    };
    chain.last().is_some_and(finished)
        && unlooked(chain).is_empty()
        && (sweep.promised == Promised::Included
            || !(chain.iter().any(promised) || chain.last().is_some_and(rests)))
}

/// Whether an attempt goes because a later one replaced it.
pub(super) fn replaced(sweep: &Sweep, chain: &[Attempt], old: &Attempt, now: &Now) -> bool {
    let let_go_of = match old.state {
        State::Done | State::Failed => true,
        State::Interrupted | State::Forgotten => old.remains == Remains::None,
        State::Running | State::Released => false,
    };
    let came_to_nothing = old.origin == Origin::Rerun && old.state != State::Done;
    let by = |later: &Attempt| {
        later.generation > old.generation
            && later.operation != old.operation
            && (later.origin == Origin::Ordinary || later.state == State::Done || came_to_nothing)
    };
    let_go_of && is_old(sweep, old, now) && chain.iter().any(by)
}
