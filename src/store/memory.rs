//! A store in memory, for tests and the model: the contract, and nothing else.
//!
//! Clones share their rows, as processes share a file. Nothing is durable.

mod surveying;
mod sweeping;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::claim::attempt::{Attempt, Extent, OutputSummary, Ownership, Remains, State};
use crate::claim::decide::{Decision, Plan, Request, Seen, decide};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::Claimant;
use crate::claim::key::{Kind, Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::survey::Survey;
use crate::claim::time::{Clock, Now, Until};

use sweeping::{goes, replaced};

use super::{
    Answer, Chain, Completion, Dropped, Finding, Force, Frames, Hold, Liveness, LostWhy, Owned,
    Spool, Store, StoreError, Sweep, SweepMode, Swept, Unrecorded, row, with_lives,
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
            if subject.kind == Kind::Once && !row::may_be_passed_over(attempt) {
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
            let fence = Fence::after(Fence(self.fence), now.wall);
            self.fence = fence.0;
            if let Hold::Taken(inode) = liveness.hold(fence)? {
                return Ok((fence, inode));
            }
        }
    }

    fn insert(
        &mut self,
        (request, claimant): (&Request, &Claimant),
        plan: &Plan,
        now: &Now,
        liveness: &mut dyn Liveness,
    ) -> Result<Claim, StoreError> {
        let (fence, inode) = self.next_fence(now, liveness)?;
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
        let chain = self.lock().seen(&request.subject, liveness)?;
        Ok(decide(&chain, request, &now))
    }

    fn claim(
        &mut self,
        request: &Request,
        claimant: &Claimant,
        liveness: &mut dyn Liveness,
    ) -> Result<Answer, StoreError> {
        let mut rows = self.lock();
        let now = self.clock.now();
        let chain = rows.seen(&request.subject, liveness)?;
        Ok(match decide(&chain, request, &now) {
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
        Ok(match rows.owned(owner) {
            Ok(attempt) => {
                attempt.until = Until::after(&now, attempt.lease);
                Owned::Yes
            }
            Err(why) => Owned::Lost(why),
        })
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
        let rows = self.lock();
        let mut chains: Vec<Chain> = rows
            .chains
            .iter()
            .filter(|(subject, _)| namespace.is_none_or(|ns| *ns == subject.namespace))
            .map(|(subject, attempts)| Chain {
                subject: subject.clone(),
                attempts: attempts.iter().rev().cloned().collect(),
            })
            .collect();
        chains.sort_by_key(|chain| std::cmp::Reverse(chain.attempts.first().map(|a| a.fence)));
        Ok(chains)
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
        let running = all.filter(|(_, attempt)| attempt.state == State::Running);
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
        let seen = rows.seen(subject, liveness)?;
        let Some(newest) = seen.first().filter(|s| s.attempt.state != State::Forgotten) else {
            return Ok(Dropped::Absent);
        };
        let holder = seen.iter().find(|seen| row::is_held(seen, subject.kind, &now));
        if let (Some(holder), Force::No) = (holder, force) {
            return Ok(Dropped::Held(holder.attempt.clone(), holder.life));
        }
        let fence = Fence::after(Fence(rows.fence), now.wall);
        rows.fence = fence.0;
        let token = row::nobodys_token()?;
        let chain = rows.chains.entry(subject.clone()).or_default();
        for running in seen.iter().filter(|seen| seen.attempt.state == State::Running) {
            let fence = running.attempt.fence;
            if let Some(row) = chain.iter_mut().find(|row| row.fence == fence) {
                row.state = State::Forgotten;
                row.remains = row::remains_of(running);
                row.end = Some(row::cut_off(&now));
            }
        }
        if subject.kind == Kind::Lease {
            for row in chain.iter_mut() {
                row.rests_until = None;
            }
        }
        chain.push(row::tombstone(&newest.attempt, fence, token, &now));
        Ok(Dropped::Yes)
    }

    fn settle(
        &mut self,
        subject: &Subject,
        outcome: Outcome,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        let mut rows = self.lock();
        let now = self.clock.now();
        let seen = rows.seen(subject, liveness)?;
        let Some(newest) = seen.first() else { return Ok(Dropped::Absent) };
        if let Some(refusal) = row::not_to_be_settled(newest, &now) {
            return Ok(refusal);
        }
        if let Some(attempt) = rows.chains.get_mut(subject).and_then(|chain| chain.last_mut()) {
            let (state, end) = row::settled(outcome, &now);
            attempt.state = state;
            attempt.end = Some(end);
        }
        Ok(Dropped::Yes)
    }

    fn longest_lease(&mut self) -> Result<Duration, StoreError> {
        let rows = self.lock();
        let counts = |subject: &Subject, attempt: &Attempt| {
            subject.kind == Kind::Once || attempt.state == State::Running
        };
        let leases = rows.chains.iter().flat_map(|(subject, chain)| {
            chain.iter().filter(|attempt| counts(subject, attempt)).map(|attempt| attempt.lease)
        });
        Ok(leases.max().unwrap_or_default())
    }

    fn sweep(&mut self, sweep: &Sweep, told: &mut dyn FnMut(Swept)) -> Result<Swept, StoreError> {
        let mut rows = self.lock();
        let now = self.clock.now();
        let mut swept = Swept::default();
        let mut gone: Vec<(Subject, Fence)> = Vec::new();
        for (subject, chain) in &rows.chains {
            let elsewhere = sweep.namespace.as_ref().is_some_and(|ns| *ns != subject.namespace);
            if elsewhere || subject.kind == Kind::Lease {
                continue;
            }
            let whole = goes(sweep, chain, &now);
            swept.keys += u64::from(whole);
            let fences = chain.iter().filter(|old| whole || replaced(sweep, chain, old, &now));
            gone.extend(fences.map(|attempt| (subject.clone(), attempt.fence)));
        }
        swept.attempts = gone.len() as u64;
        if sweep.mode == SweepMode::Remove {
            for (subject, fence) in gone {
                if let Some(chain) = rows.chains.get_mut(&subject) {
                    chain.retain(|attempt| attempt.fence != fence);
                }
                rows.outputs.remove(&fence.0);
            }
            rows.chains.retain(|_, chain| !chain.is_empty());
        }
        told(swept);
        Ok(swept)
    }

    fn tidy(&mut self) {}
}

/// Whether a row of a lease says nothing any more.
fn is_over(row: &Attempt, now: &Now) -> bool {
    let ended = match row.state {
        State::Released => true,
        State::Interrupted | State::Forgotten => row.remains == Remains::None,
        State::Running | State::Done | State::Failed => false,
    };
    ended && row.rests_until.as_ref().is_none_or(|until| until.left(now).is_none())
}

/// Ended attempts whose processes nobody has looked for yet.
fn unlooked(chain: &[Attempt]) -> Vec<Attempt> {
    let ended = |a: &&Attempt| matches!(a.state, State::Interrupted | State::Forgotten);
    chain.iter().filter(ended).filter(|a| a.remains == Remains::Possible).cloned().collect()
}
