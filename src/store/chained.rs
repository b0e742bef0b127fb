//! A store that reads a chain, changes it by the rules, and has it written as a whole.
//!
//! The rules are here, once, for every [`Shelf`]: rows in memory, which the model
//! explores, and servers. ([`sqlite`](super::sqlite) has the same rules as statements,
//! which are faster.) `claiming` is the claiming step, `owning` what an owner writes,
//! `dropping` what a person decides, `sweeping` what goes, and `surveying` what it all
//! comes to.

mod claiming;
mod dropping;
mod owning;
mod surveying;
mod sweeping;

use std::sync::Arc;
use std::time::Duration;

use crate::claim::attempt::{Attempt, Ownership, State};
use crate::claim::decide::{Decision, Request, Seen, decide};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Tie};
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::survey::Survey;
use crate::claim::time::{Clock, Now};

use super::shelf::{Asked, Changes, Depth, Durability, Fences, Page, Parent, Shelf, Wanted};
use super::{
    Answer, Chain, Completion, Dropped, Finding, Force, Frames, Heed, Liveness, Owned, Spool,
    Store, StoreError, Sweep, Swept, Unrecorded, row, with_lives,
};

/// The rules of a store, over what keeps its chains.
pub struct ChainStore<S> {
    pub(super) shelf: S,
    limit: Duration,
    /// What is read instead of the shelf's clock.
    clock: Option<Arc<dyn Clock + Sync>>,
    /// The attempt whose end was sent and may have been written, though no answer came.
    sent: Option<Fence>,
}

impl<S: Shelf> ChainStore<S> {
    /// A store over a shelf, of which every call takes at most `limit`.
    pub fn over(mut shelf: S, limit: Duration) -> Self {
        shelf.wait_at_most(limit);
        Self { shelf, limit, clock: None, sent: None }
    }

    /// The same, with a clock of the caller's instead of the shelf's: rules about time can
    /// be tried without waiting.
    #[must_use]
    pub fn by(mut self, clock: Arc<dyn Clock + Sync>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Reads; of a chain that cannot be read as a whole, nothing.
    fn read(&mut self, wanted: Wanted<'_>) -> Result<Page, StoreError> {
        let page = self.read_as_it_is(wanted)?;
        page.require_whole(&self.shelf.option())?;
        Ok(page)
    }

    /// Reads what can be read.
    fn read_as_it_is(&mut self, wanted: Wanted<'_>) -> Result<Page, StoreError> {
        let page = self.shelf.read(wanted)?;
        Ok(match &self.clock {
            Some(clock) => Page { now: clock.now(), ..page },
            None => page,
        })
    }

    /// Reads and changes one chain; `step` may be asked again. Nothing is changed about one
    /// that cannot be read as a whole.
    fn change<T>(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        mut step: impl FnMut(&Page, &mut Fences<'_>) -> Result<(Changes, T), StoreError>,
    ) -> Result<T, StoreError> {
        let option = self.shelf.option();
        self.change_as_it_is(wanted, durability, |page, fences| {
            page.require_whole(&option)?;
            step(page, fences)
        })
    }

    /// The same, from what can be read.
    fn change_as_it_is<T>(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        mut step: impl FnMut(&Page, &mut Fences<'_>) -> Result<(Changes, T), StoreError>,
    ) -> Result<T, StoreError> {
        let clock = self.clock.as_ref();
        let mut answer = None;
        self.shelf.change(wanted, durability, &mut |page, fences| {
            let timed = clock.map(|clock| Page { now: clock.now(), ..page.clone() });
            let (changes, said) = step(timed.as_ref().unwrap_or(page), fences)?;
            answer = Some(said);
            Ok(changes)
        })?;
        answer.ok_or_else(|| {
            StoreError::new(super::Trouble::Other, "the store did not ask what to change")
        })
    }
}

impl Page {
    /// Requires that all of it can be read: nothing else is to be decided from.
    fn require_whole(&self, option: &str) -> Result<(), StoreError> {
        self.unreadable.first().map_or(Ok(()), |row| Err(row.error(option)))
    }

    /// What a decision is made from: to run once, the newest attempts down to the first
    /// that is not passed over, and of a lease all; newest first.
    fn seen(
        &self,
        subject: &Subject,
        liveness: &mut dyn Liveness,
    ) -> Result<Vec<Seen>, StoreError> {
        let mut chain = Vec::new();
        for attempt in self.attempts.iter().rev() {
            chain.push(attempt.clone());
            if subject.kind.runs_once() && !row::may_be_passed_over(attempt) {
                break;
            }
        }
        with_lives(chain, liveness)
    }

    /// Decides; nothing is said of the chain of a step whose parent has lost its claim.
    fn decide(
        &self,
        request: &Request,
        liveness: &mut dyn Liveness,
    ) -> Result<Decision, StoreError> {
        match self.parent {
            Parent::Lost => Ok(Decision::ParentLost),
            Parent::Holds => {
                Ok(decide(&self.seen(&request.subject, liveness)?, request, &self.now))
            }
        }
    }

    /// Ended attempts whose processes nobody has looked for yet.
    fn unlooked(&self) -> Vec<Attempt> {
        self.attempts.iter().filter(|attempt| row::is_unlooked(attempt)).cloned().collect()
    }

    fn attempt(&self, fence: Fence) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.fence == fence)
    }
}

impl<S: Shelf> Store for ChainStore<S> {
    fn look(
        &mut self,
        request: &Request,
        liveness: &mut dyn Liveness,
    ) -> Result<Decision, StoreError> {
        let wanted = Wanted { parent: request.parent.as_ref(), ..Wanted::of(&request.subject) };
        self.read(wanted)?.decide(request, liveness)
    }

    fn claim(
        &mut self,
        request: &Request,
        claimant: &Claimant,
        liveness: &mut dyn Liveness,
    ) -> Result<Answer, StoreError> {
        self.claim_in_one_step(request, claimant, liveness)
    }

    fn renew(&mut self, owner: &Ownership, limit: Duration) -> Result<Owned, StoreError> {
        self.extend_lease(owner, None, limit)
    }

    fn renew_for(
        &mut self,
        owner: &Ownership,
        lease: Duration,
        limit: Duration,
    ) -> Result<Owned, StoreError> {
        self.extend_lease(owner, Some(lease), limit)
    }

    fn find(
        &mut self,
        token: Token,
        fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError> {
        self.shelf.find(token, fence)
    }

    fn is_spent(&mut self, token: Token) -> Result<bool, StoreError> {
        let found = self.shelf.find(token, None)?;
        Ok(found.is_some_and(|(_, a)| a.tie != Tie::Wrapper && a.state != State::Running))
    }

    fn complete(&mut self, claim: Claim, completion: &Completion) -> Result<Owned, Unrecorded> {
        self.spend(claim, completion)
    }

    fn mark_empty(&mut self, fence: Fence) -> Result<(), StoreError> {
        self.note_nobody_left(fence)
    }

    fn chain(&mut self, subject: &Subject) -> Result<Vec<Attempt>, StoreError> {
        let page = self.read(Wanted { depth: Depth::Whole, ..Wanted::of(subject) })?;
        Ok(page.attempts.into_iter().rev().collect())
    }

    fn spool(&self, owner: &Ownership) -> Spool {
        self.shelf.spool(owner)
    }

    fn output(&mut self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        self.shelf.output(fence)
    }

    fn chains(&mut self, namespace: Option<&Namespace>) -> Result<Vec<Chain>, StoreError> {
        self.chains_of(Asked::Keys(namespace))
    }

    fn steps(&mut self, operation: OperationId) -> Result<Vec<Chain>, StoreError> {
        self.chains_of(Asked::Steps(operation))
    }

    fn survey(
        &mut self,
        namespace: Option<&Namespace>,
        liveness: &mut dyn Liveness,
    ) -> Result<Survey, StoreError> {
        self.survey_all(namespace, liveness)
    }

    fn unended(&mut self) -> Result<Vec<(Subject, Attempt)>, StoreError> {
        self.shelf.unended()
    }

    fn examine(&mut self) -> Vec<Finding> {
        self.shelf.examine()
    }

    fn forget(
        &mut self,
        subject: &Subject,
        force: Force,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        self.drop_key(subject, force, liveness)
    }

    fn settle(
        &mut self,
        subject: &Subject,
        outcome: Outcome,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        self.settle_interrupted(subject, outcome, liveness)
    }

    fn longest_lease(&mut self) -> Result<Duration, StoreError> {
        self.shelf.longest_lease()
    }

    fn sweep(&mut self, sweep: &Sweep, told: &mut dyn FnMut(Swept)) -> Result<Swept, StoreError> {
        self.sweep_in_batches(sweep, told)
    }

    fn tidy(&mut self) {}

    fn now(&mut self) -> Result<Now, StoreError> {
        match &self.clock {
            Some(clock) => Ok(clock.now()),
            None => self.shelf.now(),
        }
    }

    fn wait_at_most(&mut self, limit: Duration) -> Duration {
        self.shelf.wait_at_most(limit);
        std::mem::replace(&mut self.limit, limit)
    }

    fn locked_for(&self, limit: Duration) -> StoreError {
        self.shelf.locked_for(limit)
    }

    fn heed(&mut self, told: Heed) {
        self.shelf.heed(told);
    }

    fn watch(&mut self, subject: &Subject, ring: Box<dyn Fn() + Send>) -> bool {
        self.shelf.watch(subject, ring)
    }
}
