//! A shelf in memory, for tests and the model: the contract, and nothing else.
//!
//! Clones share their rows, as processes share a server. Nothing is durable.

pub mod picture;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::claim::attempt::{Attempt, Ownership, State};
use crate::claim::fence::Fence;
use crate::claim::id::Token;
use crate::claim::key::{Kind, Namespace, Subject};
use crate::claim::survey::Sizes;
use crate::claim::time::{Clock, Now, WallMs};

use super::chained::ChainStore;
use super::shelf::{Asked, Changes, Durability, Page, Parent, Shelf, Step, Wanted};
use super::{Chain, Finding, Frames, StoreError, Trouble};

#[derive(Default)]
struct Rows {
    fence: i64,
    /// Attempts of each subject, oldest first.
    chains: BTreeMap<Subject, Vec<Attempt>>,
    outputs: BTreeMap<i64, Frames>,
}

/// Rows that live as long as their last store.
pub struct MemoryShelf {
    rows: Arc<Mutex<Rows>>,
    clock: Arc<dyn Clock + Sync>,
}

/// A store that lives as long as its last clone.
pub type MemoryStore = ChainStore<MemoryShelf>;

impl MemoryStore {
    /// An empty store that reads this clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock + Sync>) -> Self {
        Self::of(MemoryShelf { rows: Arc::default(), clock })
    }

    /// Another handle on the same rows.
    #[must_use]
    pub fn share(&self) -> Self {
        let MemoryShelf { rows, clock } = &self.shelf;
        Self::of(MemoryShelf { rows: Arc::clone(rows), clock: Arc::clone(clock) })
    }

    fn of(shelf: MemoryShelf) -> Self {
        Self::over(shelf, Duration::ZERO)
    }
}

impl MemoryShelf {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn page(&self, wanted: Wanted<'_>, now: Now) -> Page {
        let runs = |parent: &Ownership| {
            let is_it = |a: &Attempt| (a.fence, a.token) == (parent.fence, parent.token);
            let mut all = self.chains.values().flatten();
            all.any(|attempt| is_it(attempt) && attempt.state == State::Running)
        };
        Page {
            now,
            attempts: self.chains.get(wanted.subject).cloned().unwrap_or_default(),
            unreadable: Vec::new(),
            parent: if wanted.parent.is_none_or(runs) { Parent::Holds } else { Parent::Lost },
        }
    }

    fn advance_fence(&mut self, now: &Now) -> Fence {
        let fence = Fence::after(Fence(self.fence), now.wall);
        self.fence = fence.0;
        fence
    }

    fn write(&mut self, subject: &Subject, changes: Changes) {
        let chain = self.chains.entry(subject.clone()).or_default();
        for changed in changes.changed {
            if let Some(row) = chain.iter_mut().find(|row| row.fence == changed.fence) {
                *row = changed;
            }
        }
        chain.retain(|row| !changes.removed.contains(&row.fence));
        chain.extend(changes.added);
        if chain.is_empty() {
            self.chains.remove(subject);
        }
        for fence in changes.removed.iter().chain(&changes.outputs_removed) {
            self.outputs.remove(&fence.0);
        }
        for operation in changes.steps_removed {
            let steps = Subject::steps_of(operation);
            let outputs = &mut self.outputs;
            self.chains.retain(|subject, chain| {
                let stays = subject.kind != Kind::Step || subject.namespace != steps;
                if !stays {
                    for step in chain {
                        outputs.remove(&step.fence.0);
                    }
                }
                stays
            });
        }
        if let Some((fence, frames)) = changes.output {
            self.outputs.insert(fence.0, frames);
        }
    }

    fn attempts(&self) -> impl Iterator<Item = (&Subject, &Attempt)> {
        self.chains.iter().flat_map(|(subject, chain)| chain.iter().map(move |a| (subject, a)))
    }
}

fn owned((subject, attempt): (&Subject, &Attempt)) -> (Subject, Attempt) {
    (subject.clone(), attempt.clone())
}

impl Shelf for MemoryShelf {
    fn wait_at_most(&mut self, _limit: Duration) {}

    fn locked_for(&self, _limit: Duration) -> StoreError {
        StoreError::new(Trouble::Locked, "the store in memory was locked for too long")
    }

    fn now(&mut self) -> Result<Now, StoreError> {
        Ok(self.clock.now())
    }

    fn read(&mut self, wanted: Wanted<'_>) -> Result<Page, StoreError> {
        let rows = self.lock();
        Ok(rows.page(wanted, self.clock.now()))
    }

    fn change(
        &mut self,
        wanted: Wanted<'_>,
        _durability: Durability,
        step: &mut Step<'_>,
    ) -> Result<(), StoreError> {
        let mut rows = self.lock();
        let page = rows.page(wanted, self.clock.now());
        let changes = step(&page, &mut |now| Ok(rows.advance_fence(now)))?;
        rows.write(wanted.subject, changes);
        Ok(())
    }

    fn walk(
        &mut self,
        asked: Asked<'_>,
        told: &mut dyn FnMut(Chain) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let is_asked_for = |subject: &Subject| match asked {
            Asked::Keys(namespace) => {
                subject.kind != Kind::Step && namespace.is_none_or(|ns| *ns == subject.namespace)
            }
            Asked::Steps(operation) => {
                subject.kind == Kind::Step && subject.namespace == Subject::steps_of(operation)
            }
        };
        let rows = self.lock();
        rows.chains.iter().filter(|(subject, _)| is_asked_for(subject)).try_for_each(
            |(subject, chain)| {
                let attempts = chain.iter().rev().cloned().collect();
                told(Chain { subject: subject.clone(), attempts })
            },
        )
    }

    fn ended_before(
        &mut self,
        horizon: WallMs,
        after: Fence,
        namespace: Option<&Namespace>,
        at_most: usize,
    ) -> Result<Vec<(Fence, Subject)>, StoreError> {
        let rows = self.lock();
        let old = rows.attempts().filter(|(subject, attempt)| {
            subject.kind == Kind::Once
                && namespace.is_none_or(|ns| *ns == subject.namespace)
                && attempt.fence > after
                && attempt.end.as_ref().is_some_and(|end| end.at < horizon)
        });
        let mut old: Vec<_> = old.map(|(subject, a)| (a.fence, subject.clone())).collect();
        old.sort();
        old.truncate(at_most);
        Ok(old)
    }

    fn unended(&mut self) -> Result<Vec<(Subject, Attempt)>, StoreError> {
        let rows = self.lock();
        let running = rows.attempts().filter(|(subject, attempt)| {
            subject.kind != Kind::Step && attempt.state == State::Running
        });
        let mut running: Vec<_> = running.map(owned).collect();
        running.sort_by_key(|(_, attempt)| std::cmp::Reverse(attempt.fence));
        Ok(running)
    }

    fn subject_of(&mut self, fence: Fence) -> Result<Option<Subject>, StoreError> {
        let rows = self.lock();
        let found = rows.attempts().find(|(_, attempt)| attempt.fence == fence);
        Ok(found.map(|(subject, _)| subject.clone()))
    }

    fn find(
        &mut self,
        token: Token,
        _fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError> {
        let rows = self.lock();
        let found = rows.attempts().find(|(_, attempt)| attempt.token == token);
        Ok(found.map(owned))
    }

    fn output(&mut self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        Ok(self.lock().outputs.get(&fence.0).cloned())
    }

    fn longest_lease(&mut self) -> Result<Duration, StoreError> {
        let rows = self.lock();
        let counts = |(subject, attempt): &(&Subject, &Attempt)| {
            subject.kind.runs_once() || attempt.state == State::Running
        };
        let leases = rows.attempts().filter(counts).map(|(_, attempt)| attempt.lease);
        Ok(leases.max().unwrap_or_default())
    }

    fn sizes(&mut self) -> Result<Sizes, StoreError> {
        Ok(Sizes::default())
    }

    fn examine(&mut self) -> Vec<Finding> {
        let attempts = self.lock().attempts().count();
        vec![Finding::ok("rows", format!("{attempts} attempts, in memory"))]
    }
}
