//! Which rows of a chain say nothing any more, and which have to be looked after.

use crate::claim::attempt::{Attempt, Remains, State};
use crate::claim::time::Now;

/// Whether a row of a lease says nothing any more.
pub(super) fn is_over(row: &Attempt, now: &Now) -> bool {
    let ended = match row.state {
        State::Released => true,
        State::Interrupted | State::Forgotten => row.remains == Remains::None,
        State::Running | State::Done | State::Failed => false,
    };
    ended && row.rests_until.as_ref().is_none_or(|until| until.left(now).is_none())
}

/// Ended attempts whose processes nobody has looked for yet.
pub(super) fn unlooked(chain: &[Attempt]) -> Vec<Attempt> {
    let ended = |a: &&Attempt| matches!(a.state, State::Interrupted | State::Forgotten);
    chain.iter().filter(ended).filter(|a| a.remains == Remains::Possible).cloned().collect()
}
