//! What predecessors left behind, and claims that cannot be used.

use std::time::Duration;

use anyhow::Context as _;

use crate::claim::attempt::{Attempt, State};
use crate::claim::held::Claim;
use crate::claim::holder::Tie;
use crate::claim::key::Kind;
use crate::claim::outcome::Outcome;
use crate::claim::time::BootMs;
use crate::exit::Ending;
use crate::place::Place;
use crate::process::clock;
use crate::process::group::{self, Presence};
use crate::process::tenure::until;
use crate::report::line::CallOutcome;
use crate::store::{
    Completion, Heed, Liveness as _, Owned, Resumed, Store, StoreError, Trouble, Verdict,
};

use super::super::Context;
use super::{Call, TOLD};

/// How long a predecessor's processes may take to die.
const CLEARING: Duration = Duration::from_secs(10);

/// How long the last try to spend a claim on a server may take.
const LAST_TRY: Duration = Duration::from_secs(1);

impl<R> Call<'_, R> {
    pub(in crate::commands) fn tell_of_take_over(&mut self, claim: &Claim) {
        if let Some(before) = claim.took_over() {
            self.account.took_over();
            let topic = self.topic();
            self.context.voice.note(&topic.took_over(before));
        }
    }

    /// Predecessors that cannot be ended keep the key.
    pub(in crate::commands) fn give_back(
        &mut self,
        store: &mut dyn Store,
        claim: Claim,
    ) -> anyhow::Result<Ending> {
        let sentence = self.topic().not_cleared();
        self.context.voice.note(&sentence);
        self.account.settle(CallOutcome::Busy);
        self.release(store, claim, None, "processes of an earlier attempt could not be ended")?;
        Ok(Ending::Status(self.conflict_exit_code()))
    }

    /// Has a server that does not answer not be waited for beyond the end of a claim.
    pub(in crate::commands) fn wait_until(&self, store: &mut dyn Store, end: BootMs) {
        if let Place::Server(_) = self.context.place() {
            let left = until(end, clock::boot()).max(LAST_TRY);
            store.wait_at_most(left.min(self.context.store_timeout()));
        }
    }

    /// Gives back a claim that the server has and that is not to be used, as far as that
    /// can be done: whoever comes next does not wait for a lease that nobody uses, and has
    /// nothing to decide about a command that never ran.
    pub(in crate::commands) fn without_claim<T>(
        &mut self,
        store: &mut dyn Store,
        ended: anyhow::Result<T>,
        why: &str,
    ) -> anyhow::Result<T> {
        let (subject, token) = (self.request.subject.clone(), self.request.token);
        let limit = self.context.store_timeout();
        store.heed(Heed::default());
        store.wait_at_most(limit.min(LAST_TRY));
        let is_back = match store.resume(&subject, token) {
            Ok(Resumed::Claim(claim)) => {
                match self.release(store, claim, None, why) {
                    Ok(()) => true,
                    // That is written, too, and acknowledged by as few.
                    Err(error) => error.trouble() == Trouble::Unacknowledged,
                }
            }
            Ok(Resumed::Ended(_) | Resumed::Lost(_)) => true,
            Err(_) => false,
        };
        store.wait_at_most(limit);
        let title = self.request.title();
        let claim = if is_back { "was given back" } else { "stays until its lease is over" };
        ended.with_context(|| format!("{title}: nothing has run, and its claim {claim}"))
    }

    /// Spends a claim whose command never ran.
    pub(in crate::commands) fn release(
        &mut self,
        store: &mut dyn Store,
        claim: Claim,
        outcome: Option<Outcome>,
        reason: &str,
    ) -> Result<(), StoreError> {
        let verdict = match claim.subject().kind {
            Kind::Once | Kind::Step => Verdict::Failed { rest: None },
            Kind::Lease => Verdict::Released,
        };
        let completion = Completion {
            verdict,
            outcome,
            reason: Some(reason.to_owned()),
            run: None,
            output: None,
        };
        let fence = claim.attempt().fence;
        let spent = self.spend_soon(store, claim, &completion);
        self.live.let_go(fence);
        spent.map(drop)
    }

    /// Spends it in the time that a server has who is asked by somebody that is told to end.
    fn spend_soon(
        &self,
        store: &mut dyn Store,
        mut claim: Claim,
        completion: &Completion,
    ) -> Result<Owned, StoreError> {
        if !self.heed.is_told() {
            match store.complete(claim, completion) {
                Err(unrecorded) if self.heed.is_told() => claim = unrecorded.claim,
                spent => return spent.map_err(|unrecorded| unrecorded.error),
            }
        }
        store.heed(Heed::default());
        let limit = store.wait_at_most(self.context.store_timeout().min(LAST_TRY));
        let spent = store.complete(claim, completion);
        store.wait_at_most(limit);
        spent.map_err(|unrecorded| unrecorded.error)
    }

    /// Gives back a claim that an error keeps from being used, if it is not a signal that does.
    pub(in crate::commands) fn leave_for(
        &mut self,
        store: &mut dyn Store,
        claim: Claim,
        error: anyhow::Error,
    ) -> anyhow::Result<Ending> {
        self.leave(store, claim).or_else(|claim| {
            self.release(store, claim, None, &format!("{error:#}"))?;
            Err(error)
        })
    }

    /// Gives back a claim if a signal tells us to end before its command has started, and
    /// ends; else the claim is still there.
    pub(in crate::commands) fn leave(
        &mut self,
        store: &mut dyn Store,
        claim: Claim,
    ) -> Result<Ending, Claim> {
        let Some(ending) = self.told_to_end() else { return Err(claim) };
        if let Err(error) = self.release(store, claim, None, TOLD) {
            let title = self.request.title();
            self.context.voice.warn(&format!(
                "{title}: nothing has run, and its claim could not be given back: {error}"
            ));
        }
        self.account.settle(CallOutcome::Failed);
        Ok(ending)
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
