//! A store in memory, for tests and the model: the contract, and nothing else.
//!
//! Clones share their rows, as processes share a file. Nothing is durable.

mod dropping;
mod over;
pub mod picture;
mod surveying;
mod sweeping;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::claim::attempt::{Attempt, Extent, OutputSummary, Ownership, Remains, State};
use crate::claim::decide::{Decision, Plan, Request, Seen, decide};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Tie};
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Kind, Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::survey::Survey;
use crate::claim::time::{Clock, Now, Until};

use over::{is_over, unlooked};
use surveying::is_asked_for;

use super::{
    Answer, Chain, Completion, Dropped, Finding, Force, Frames, Hold, Liveness, LostWhy, Owned,
    Spool, Store, StoreError, Sweep, Swept, Trouble, Unrecorded, row, with_lives,
};

#[derive(Default)]
struct Rows {
    fence: i64,
    /// Attempts of each subject, oldest first.
    chains: BTreeMap<Subject, Vec<Attempt>>,
    outputs: BTreeMap<i64, Frames>,
}

/// A store that lives as long as its last clone.
pub struct MemoryStore {
    rows: Arc<Mutex<Rows>>,
    clock: Arc<dyn Clock + Sync>,
}

impl MemoryStore {
    /// An empty store that reads this clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock + Sync>) -> Self {
        Self { rows: Arc::default(), clock }
    }

    /// Another handle on the same rows.
    #[must_use]
    pub fn share(&self) -> Self {
        Self { rows: Arc::clone(&self.rows), clock: Arc::clone(&self.clock) }
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn seen(
        &self,
        subject: &Subject,
        liveness: &mut dyn Liveness,
    ) -> Result<Vec<Seen>, StoreError> {
        let mut chain = Vec::new();
        for attempt in self.chains.get(subject).into_iter().flatten().rev() {
            chain.push(attempt.clone());
            if subject.kind.runs_once() && !row::may_be_passed_over(attempt) {
                break;
            }
        }
        with_lives(chain, liveness)
    }

    fn next_fence(
        &mut self,
        now: &Now,
        liveness: &mut dyn Liveness,
    ) -> Result<(Fence, Option<u64>), StoreError> {
        loop {
            let fence = self.advance_fence(now);
            if let Hold::Taken(inode) = liveness.hold(fence)? {
                return Ok((fence, inode));
            }
        }
    }

    fn advance_fence(&mut self, now: &Now) -> Fence {
        let fence = Fence::after(Fence(self.fence), now.wall);
        self.fence = fence.0;
        fence
    }

    /// Whether an attempt has not ended, and is this token's.
    fn is_running(&self, fence: Fence, token: Token) -> bool {
        let is_it = |attempt: &Attempt| (attempt.fence, attempt.token) == (fence, token);
        self.chains
            .values()
            .flatten()
            .any(|attempt| is_it(attempt) && attempt.state == State::Running)
    }

    /// Decides; nothing is known of the chain of a step whose parent has lost its claim.
    fn decide(
        &self,
        request: &Request,
        now: &Now,
        liveness: &mut dyn Liveness,
    ) -> Result<Decision, StoreError> {
        match &request.parent {
            Some(parent) if !self.is_running(parent.fence, parent.token) => {
                Ok(Decision::ParentLost)
            }
            _ => Ok(decide(&self.seen(&request.subject, liveness)?, request, now)),
        }
    }

    fn insert(
        &mut self,
        (request, claimant): (&Request, &Claimant),
        plan: &Plan,
        now: &Now,
        liveness: &mut dyn Liveness,
    ) -> Result<Claim, StoreError> {
        let (fence, inode) = match claimant.tie {
            Tie::Wrapper => self.next_fence(now, liveness)?,
            Tie::Process | Tie::Time | Tie::Both => (self.advance_fence(now), None),
        };
        let chain = self.chains.entry(request.subject.clone()).or_default();
        for superseded in &plan.supersedes {
            let fence = superseded.attempt.fence;
            if let Some(row) = chain.iter_mut().find(|row| row.fence == fence) {
                row.state = State::Interrupted;
                row.remains = row::remains_of(superseded);
                row.end = Some(row::cut_off(now));
            }
        }
        let remains = unlooked(chain);
        if request.subject.kind == Kind::Lease {
            chain.retain(|row| !is_over(row, now));
        }
        let attempt = row::claimed(request, claimant, plan, fence, inode, now);
        chain.push(attempt.clone());
        Ok(Claim::won(request.subject.clone(), attempt, plan.takes_over.clone(), remains))
    }

    /// Nobody can ask for the output of the failure before the last.
    fn drop_old_output(&mut self, claim: &Claim) {
        let attempt = claim.attempt();
        let chain = self.chains.get_mut(claim.subject()).map_or(&mut [][..], Vec::as_mut_slice);
        let old = chain.iter_mut().find(|old| {
            old.generation == attempt.generation - 2
                && old.operation == attempt.operation
                && old.state == State::Failed
        });
        if let Some(output) = old.and_then(|old| {
            self.outputs.remove(&old.fence.0);
            old.end.as_mut().and_then(|end| end.output.as_mut())
        }) {
            *output = OutputSummary { bytes: 0, extent: Extent::Truncated };
        }
    }

    fn renew(&mut self, owner: &Ownership, lease: Option<Duration>, now: &Now) -> Owned {
        match self.owned(owner) {
            Ok(attempt) => {
                if let Some(lease) = lease {
                    attempt.lease = lease;
                    attempt.tie = attempt.tie.limited();
                }
                attempt.until = Until::after(now, attempt.lease);
                Owned::Yes
            }
            Err(why) => Owned::Lost(why),
        }
    }

    fn owned(&mut self, owner: &Ownership) -> Result<&mut Attempt, LostWhy> {
        let chain = self.chains.get_mut(&owner.subject).ok_or(LostWhy::Missing)?;
        let found = chain.iter_mut().find(|a| a.fence == owner.fence && a.token == owner.token);
        let attempt = found.ok_or(LostWhy::Missing)?;
        match attempt.state {
            State::Running => Ok(attempt),
            state => Err(row::lost_to(state)),
        }
    }
}

impl Store for MemoryStore {
    fn look(
        &mut self,
        request: &Request,
        liveness: &mut dyn Liveness,
    ) -> Result<Decision, StoreError> {
        let now = self.clock.now();
        self.lock().decide(request, &now, liveness)
    }

    fn claim(
        &mut self,
        request: &Request,
        claimant: &Claimant,
        liveness: &mut dyn Liveness,
    ) -> Result<Answer, StoreError> {
        let mut rows = self.lock();
        let now = self.clock.now();
        Ok(match rows.decide(request, &now, liveness)? {
            Decision::Run(plan) => {
                Answer::Won(rows.insert((request, claimant), &plan, &now, liveness)?)
            }
            Decision::Claimed(attempt) => {
                let chain = rows.chains.get(&request.subject).map_or(&[][..], Vec::as_slice);
                let remains = unlooked(chain);
                Answer::Won(Claim::won(request.subject.clone(), attempt, None, remains))
            }
            other => Answer::Not(Box::new(other)),
        })
    }

    fn renew(&mut self, owner: &Ownership, _limit: Duration) -> Result<Owned, StoreError> {
        let mut rows = self.lock();
        let now = self.clock.now();
        Ok(rows.renew(owner, None, &now))
    }

    fn renew_for(
        &mut self,
        owner: &Ownership,
        lease: Duration,
        _limit: Duration,
    ) -> Result<Owned, StoreError> {
        let mut rows = self.lock();
        let now = self.clock.now();
        Ok(rows.renew(owner, Some(lease), &now))
    }

    fn find(
        &mut self,
        token: Token,
        _fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError> {
        let rows = self.lock();
        let mut all =
            rows.chains.iter().flat_map(|(key, chain)| chain.iter().map(move |a| (key, a)));
        let found = all.find(|(_, attempt)| attempt.token == token);
        Ok(found.map(|(key, attempt)| (key.clone(), attempt.clone())))
    }

    fn is_spent(&mut self, token: Token) -> Result<bool, StoreError> {
        let found = self.find(token, None)?;
        Ok(found.is_some_and(|(_, a)| a.tie != Tie::Wrapper && a.state != State::Running))
    }

    fn steps(&mut self, operation: OperationId) -> Result<Vec<Chain>, StoreError> {
        let namespace = Subject::steps_of(operation);
        Ok(self.lock().chains_where(|s| s.kind == Kind::Step && s.namespace == namespace))
    }

    fn complete(&mut self, claim: Claim, completion: &Completion) -> Result<Owned, Unrecorded> {
        let owner = claim.ownership();
        let mut rows = self.lock();
        let now = self.clock.now();
        let written = match rows.owned(&owner) {
            Ok(attempt) => {
                let (state, end) = row::ended(completion, &now);
                attempt.state = state;
                attempt.end = Some(end);
                if let Some(until) = row::rest(completion, &now) {
                    attempt.rests_until = Some(until);
                }
                if row::never_ran(completion) {
                    attempt.rests_until = None;
                }
                Owned::Yes
            }
            Err(why) => Owned::Lost(why),
        };
        if written == Owned::Yes {
            rows.drop_old_output(&claim);
        }
        if let (Owned::Yes, Some(output)) = (written, &completion.output) {
            rows.outputs.insert(owner.fence.0, output.frames.clone());
        }
        Ok(written)
    }

    fn mark_empty(&mut self, fence: Fence) -> Result<(), StoreError> {
        let mut rows = self.lock();
        for attempt in rows.chains.values_mut().flatten().filter(|a| a.fence == fence) {
            attempt.remains = Remains::None;
        }
        Ok(())
    }

    fn chain(&mut self, subject: &Subject) -> Result<Vec<Attempt>, StoreError> {
        let rows = self.lock();
        Ok(rows.chains.get(subject).into_iter().flatten().rev().cloned().collect())
    }

    fn spool(&self, _owner: &Ownership) -> Spool {
        Spool::Unnamed
    }

    fn output(&mut self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        Ok(self.lock().outputs.get(&fence.0).cloned())
    }

    fn chains(&mut self, namespace: Option<&Namespace>) -> Result<Vec<Chain>, StoreError> {
        Ok(self.lock().chains_where(|subject| is_asked_for(subject, namespace)))
    }

    fn survey(
        &mut self,
        namespace: Option<&Namespace>,
        liveness: &mut dyn Liveness,
    ) -> Result<Survey, StoreError> {
        self.survey_all(namespace, liveness)
    }

    fn unended(&mut self) -> Result<Vec<(Subject, Attempt)>, StoreError> {
        let rows = self.lock();
        let all = rows.chains.iter().flat_map(|(key, chain)| chain.iter().map(move |a| (key, a)));
        let running = all.filter(|(subject, attempt)| {
            subject.kind != Kind::Step && attempt.state == State::Running
        });
        let mut running: Vec<_> = running.map(|(key, a)| (key.clone(), a.clone())).collect();
        running.sort_by_key(|(_, attempt)| std::cmp::Reverse(attempt.fence));
        Ok(running)
    }

    fn examine(&mut self) -> Vec<Finding> {
        let rows = self.lock();
        let attempts: usize = rows.chains.values().map(Vec::len).sum();
        vec![Finding::ok("rows", format!("{attempts} attempts, in memory"))]
    }

    fn forget(
        &mut self,
        subject: &Subject,
        force: Force,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        let mut rows = self.lock();
        let now = self.clock.now();
        rows.forget(subject, force, (liveness, &now))
    }

    fn settle(
        &mut self,
        subject: &Subject,
        outcome: Outcome,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        let mut rows = self.lock();
        let now = self.clock.now();
        rows.settle(subject, outcome, (liveness, &now))
    }

    fn longest_lease(&mut self) -> Result<Duration, StoreError> {
        let rows = self.lock();
        let counts = |subject: &Subject, attempt: &Attempt| {
            subject.kind.runs_once() || attempt.state == State::Running
        };
        let leases = rows.chains.iter().flat_map(|(subject, chain)| {
            chain.iter().filter(|attempt| counts(subject, attempt)).map(|attempt| attempt.lease)
        });
        Ok(leases.max().unwrap_or_default())
    }

    fn sweep(&mut self, sweep: &Sweep, told: &mut dyn FnMut(Swept)) -> Result<Swept, StoreError> {
        let now = self.clock.now();
        let swept = self.lock().sweep(sweep, &now);
        told(swept);
        Ok(swept)
    }

    fn tidy(&mut self) {}

    fn now(&mut self) -> Result<Now, StoreError> {
        Ok(self.clock.now())
    }

    fn wait_at_most(&mut self, limit: Duration) -> Duration {
        limit
    }

    fn locked_for(&self, _limit: Duration) -> StoreError {
        StoreError::new(Trouble::Locked, "the store in memory is locked")
    }
}
