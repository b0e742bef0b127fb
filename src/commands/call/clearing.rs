//! What predecessors left behind.

use std::time::Duration;

use crate::claim::attempt::{Attempt, State};
use crate::claim::held::Claim;
use crate::claim::holder::Tie;
use crate::claim::key::Kind;
use crate::place::Place;
use crate::process::group::{self, Presence};
use crate::store::{Store, StoreError};

use super::super::Context;
use super::Call;

/// How long a predecessor's processes may take to die.
const CLEARING: Duration = Duration::from_secs(10);

impl<R> Call<'_, R> {
    pub(in crate::commands) fn tell_of_take_over(&mut self, claim: &Claim) {
        if let Some(before) = claim.took_over() {
            self.account.took_over();
            let topic = self.topic();
            self.context.voice.note(&topic.took_over(before));
        }
    }
}

/// Whether nobody of earlier attempts is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Cleared {
    Yes,
    No,
}

/// Ends whoever is left of earlier attempts.
pub(in crate::commands) fn clear_remains(
    context: &Context,
    store: &mut dyn Store,
    claim: &Claim,
) -> Result<Cleared, StoreError> {
    for before in claim.remains() {
        let same_boot = before.holder.boot_id == claim.attempt().holder.boot_id;
        if let (Place::Server(_), false) = (context.place(), same_boot) {
            // That host sees to it when it claims the next time.
            continue;
        }
        let group = before.group.filter(|_| same_boot);
        if claim.subject().kind == Kind::Once
            && clear_steps(store, before, same_boot)? == Cleared::No
        {
            return Ok(Cleared::No);
        }
        match group.map(|group| group::clear(&group, &before.holder, CLEARING)) {
            Some(Presence::Somebody) => return Ok(Cleared::No),
            // What cannot be seen from here is left to the fence.
            Some(Presence::Elsewhere) => {}
            Some(Presence::Nobody) | None => store.mark_empty(before.fence)?,
        }
    }
    Ok(Cleared::Yes)
}

/// Ends the commands of the steps that an earlier attempt has started: each leads a group
/// of its own.
fn clear_steps(
    store: &mut dyn Store,
    before: &Attempt,
    same_boot: bool,
) -> Result<Cleared, StoreError> {
    if before.tie != Tie::Wrapper || !same_boot {
        return Ok(Cleared::Yes);
    }
    for step in store.steps(before.operation)? {
        let running = step.attempts.iter().filter(|attempt| attempt.state == State::Running);
        for (attempt, group) in running.filter_map(|attempt| Some((attempt, attempt.group?))) {
            if group::clear(&group, &attempt.holder, CLEARING) == Presence::Somebody {
                return Ok(Cleared::No);
            }
        }
    }
    Ok(Cleared::Yes)
}
