//! A store in memory, for tests and the model: the contract, and nothing else.
//!
//! Clones share their rows, as processes share a file. Nothing is durable.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::claim::attempt::{
    Attempt, Extent, Origin, OutputSummary, Ownership, Promise, Remains, State,
};
use crate::claim::decide::{Decision, Plan, Request, Seen, decide};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::Claimant;
use crate::claim::key::{Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::{Clock, Now, Until, WallMs};

use super::{
    Answer, Chain, Completion, Dropped, Force, Frames, Hold, Liveness, LostWhy, Owned, Promised,
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
            if !row::may_be_passed_over(attempt) {
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
        if let (Some(superseded), Some(newest)) = (&plan.supersedes, chain.last_mut()) {
            newest.state = State::Interrupted;
            newest.remains = row::remains_of(superseded);
            newest.end = Some(row::cut_off(now));
        }
        let remains = unlooked(chain);
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
        if newest.counts(&now) && force == Force::No {
            return Ok(Dropped::Held(newest.attempt.clone(), newest.life));
        }
        let fence = Fence::after(Fence(rows.fence), now.wall);
        rows.fence = fence.0;
        let token = row::nobodys_token()?;
        let chain = rows.chains.entry(subject.clone()).or_default();
        if let Some(running) = chain.last_mut().filter(|a| a.state == State::Running) {
            running.state = State::Forgotten;
            running.remains = row::remains_of(newest);
            running.end = Some(row::cut_off(&now));
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
        Ok(rows.chains.values().flatten().map(|a| a.lease).max().unwrap_or_default())
    }

    fn sweep(&mut self, sweep: &Sweep) -> Result<Swept, StoreError> {
        let mut rows = self.lock();
        let now = self.clock.now();
        let mut swept = Swept::default();
        let mut gone: Vec<(Subject, Fence)> = Vec::new();
        for (subject, chain) in &rows.chains {
            if sweep.namespace.as_ref().is_some_and(|ns| *ns != subject.namespace) {
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
        Ok(swept)
    }

    fn tidy(&mut self) {}
}

/// Ended attempts whose processes nobody has looked for yet.
fn unlooked(chain: &[Attempt]) -> Vec<Attempt> {
    let ended = |a: &&Attempt| matches!(a.state, State::Interrupted | State::Forgotten);
    chain.iter().filter(ended).filter(|a| a.remains == Remains::Possible).cloned().collect()
}

fn is_old(sweep: &Sweep, attempt: &Attempt, now: &Now) -> bool {
    let horizon = WallMs(now.wall.0 - crate::claim::duration::to_ms(sweep.older_than));
    attempt.end.as_ref().is_some_and(|end| end.at < horizon)
}

/// Whether a whole key goes.
fn goes(sweep: &Sweep, chain: &[Attempt], now: &Now) -> bool {
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
    chain.last().is_some_and(finished)
        && unlooked(chain).is_empty()
        && (sweep.promised == Promised::Included || !chain.iter().any(promised))
}

/// Whether an attempt goes because a later one replaced it.
fn replaced(sweep: &Sweep, chain: &[Attempt], old: &Attempt, now: &Now) -> bool {
    let let_go_of = match old.state {
        State::Done | State::Failed => true,
        State::Interrupted | State::Forgotten => old.remains == Remains::None,
        State::Running => false,
    };
    let came_to_nothing = old.origin == Origin::Rerun && old.state != State::Done;
    let by = |later: &Attempt| {
        later.generation > old.generation
            && later.operation != old.operation
            && (later.origin == Origin::Ordinary || later.state == State::Done || came_to_nothing)
    };
    let_go_of && is_old(sweep, old, now) && chain.iter().any(by)
}
