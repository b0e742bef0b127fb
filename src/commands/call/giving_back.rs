//! Claims that cannot be used, and are given back.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::claim::duration::for_people;
use crate::claim::held::Claim;
use crate::claim::key::Kind;
use crate::claim::outcome::Outcome;
use crate::claim::time::BootMs;
use crate::exit::{self, Ending, Refusal};
use crate::place::Place;
use crate::process::clock;
use crate::process::tenure::until;
use crate::report::line::CallOutcome;
use crate::store::{
    Completion, Heed, Liveness as _, Owned, Resumed, Store, StoreError, Trouble, Verdict,
};

use super::{Asked, Call, TOLD};

/// How long the last try to spend a claim on a server may take.
const LAST_TRY: Duration = Duration::from_secs(1);

impl<R> Call<'_, R> {
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

    /// Gives back what cannot be used any more, so that it can be asked for again, and says
    /// how the call ends if it is not to be: nothing that is not waited for may take longer
    /// than the store may. What cannot be written just now is somebody else's until its time
    /// is over.
    pub(in crate::commands) fn give_up(
        &mut self,
        store: &mut dyn Store,
        claim: Claim,
        why: &str,
    ) -> anyhow::Result<Option<Ending>> {
        let lease = claim.attempt().lease;
        let claim = match self.leave(store, claim) {
            Ok(ending) => return Ok(Some(ending)),
            Err(claim) => claim,
        };
        if let Err(error) = self.release(store, claim, None, why)
            && let Asked::Over(ending) = self.again_or::<()>(error)?
        {
            return Ok(Some(ending));
        }
        let goes_on_for = self.gives_up.get_or_insert_with(Instant::now).elapsed();
        if !self.waiting.goes_on() && goes_on_for >= self.context.store_timeout() {
            let (title, lease) = (self.request.title(), for_people(lease));
            let option = match self.request.subject.kind {
                Kind::Lease => "--ttl",
                Kind::Once | Kind::Step => "--claim-ttl",
            };
            let message = format!(
                "{title}: nothing has run: its claim was given back each time ({why}); the store is too slow for {option} {lease}: try a longer one"
            );
            return Err(Refusal { status: exit::FAILED, message }.into());
        }
        self.draw_anew()?;
        Ok(None)
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
