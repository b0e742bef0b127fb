//! Rules that are broken on purpose, each in one place around the real ones: if the
//! model did not find what comes of it, it would find nothing.

use doubletap::claim::attempt::{Attempt, State};
use doubletap::claim::decide::{Request, Terms};
use doubletap::claim::fence::Fence;
use doubletap::claim::holder::Life;
use doubletap::claim::id::{OperationId, Token};
use doubletap::store::memory::MemoryStore;
use doubletap::store::memory::picture::Picture;
use doubletap::store::{Answer, Resumed, Store as _, SweepMode};

use super::setting::Setting;
use super::world::{Command, Held, Place, World};

/// One broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutant {
    /// The look without the lock is trusted: the claim decides by what it saw.
    TrustsTheLook,
    /// A probe calls a living wrapper gone.
    CallsTheLivingGone,
    /// A probe calls a dead holder alive.
    CallsTheDeadAlive,
    /// A probe looks for the wrapper and not for its command.
    OverlooksOrphans,
    /// The next fence follows the highest that is left after a prune.
    FenceRestarts,
    /// A completion goes to whatever attempt runs.
    CompletesForAnybody,
    /// A completion asks for the token, and not whether the attempt has ended.
    CompletesTwice,
    /// A renewal brings back what was lost.
    RenewsTheLost,
    /// Whatever is asked for counts as the same.
    IgnoresTheFingerprint,
    /// A sweep does not look again under its lock.
    PrunesWhatItSaw,
    /// An operation is named by the generation that begins it.
    OperationFromGeneration,
    /// A take-over begins a new operation.
    NewOperationAfterCrash,
    /// A claim that is sent again brings the operation of the last time.
    KeepsTheOperation,
    /// So does one that is sent after another was given back, and the token too.
    AsksAgainAsBefore,
    /// A claim that is sent again has a token of its own.
    NewTokenAfterLoss,
    /// A command starts before its predecessors are ended.
    LeavesRemains,
    /// Whoever only rests takes no slot.
    CountsNoMinHold,
    /// A claim keeps the newest row of a name only.
    TrimsHolders,
    /// A success is given back as a failure.
    ReportsFailure,
    /// A claim does not say what was waited for.
    ForgetsTheAwaited,
}

/// The row that a worker's present call has, as far as it can be told by the token.
fn own<'a>(rows: &'a mut Picture, attempt: &Attempt) -> Option<&'a mut Attempt> {
    rows.chains.values_mut().flatten().find(|row| row.fence == attempt.fence)
}

impl Mutant {
    /// What a probe says instead.
    pub(super) fn probes(self, life: Life) -> Life {
        match (self, life) {
            (Self::CallsTheLivingGone, Life::Alive) | (Self::OverlooksOrphans, Life::Orphaned) => {
                Life::Gone
            }
            (Self::CallsTheDeadAlive, Life::Gone) => Life::Alive,
            _ => life,
        }
    }

    /// What a worker asks instead.
    pub(super) fn asks(self, request: &mut Request, world: &World) {
        let newest = world.attempts().next_back();
        match (self, newest) {
            (Self::IgnoresTheFingerprint, Some(newest)) => {
                request.fingerprint = newest.fingerprint.clone();
            }
            (Self::OperationFromGeneration, _) => {
                let next = newest.map_or(1, |newest| newest.generation + 1);
                request.new_operation = OperationId([u8::try_from(next).unwrap(); 16]);
            }
            (Self::ForgetsTheAwaited, _) => {
                if let Terms::Once(terms) = &mut request.terms {
                    terms.awaited = None;
                }
            }
            _ => {}
        }
    }

    /// What a worker claims instead.
    pub(super) fn claims(self, request: &mut Request, (world, worker): (&World, usize)) {
        match self {
            Self::NewTokenAfterLoss => {
                if let Place::Unsure(_) = world.workers[worker].place {
                    request.token = Token(request.new_operation.0);
                }
            }
            // The number of the token is that of the first claim that was sent with it.
            Self::KeepsTheOperation | Self::AsksAgainAsBefore => {
                request.new_operation = OperationId(request.token.0);
            }
            _ => {}
        }
    }

    /// The rows that a claim finds instead.
    pub(super) fn finds(self, world: &World, worker: usize) -> Picture {
        let mut rows = (*world.rows).clone();
        match (self, &world.workers[worker].place) {
            (Self::TrustsTheLook, Place::Looked(Some(saw))) => {
                rows = Picture { fence: rows.fence, ..(**saw).clone() };
            }
            (Self::CountsNoMinHold, _) => {
                for row in rows.chains.values_mut().flatten() {
                    row.rests_until = None;
                }
            }
            _ => {}
        }
        rows
    }

    /// The answer to a claim instead, and what it leaves.
    pub(super) fn claimed(
        self,
        setting: &Setting,
        world: &World,
        (answer, rows, request): (Answer, &mut Picture, &Request),
    ) -> Answer {
        let Answer::Won(claim) = &answer else {
            if matches!(self, Self::TrustsTheLook | Self::CountsNoMinHold) {
                rows.chains.clone_from(&world.rows.chains);
            }
            return answer;
        };
        let mut won = claim.attempt().clone();
        let subject = setting.subject();
        match self {
            Self::TrustsTheLook | Self::CountsNoMinHold => {
                let newest = world.attempts().next_back();
                if self == Self::TrustsTheLook {
                    won.generation = newest.map_or(1, |newest| newest.generation + 1);
                }
                rows.chains.clone_from(&world.rows.chains);
                let chain = rows.chains.entry(subject.clone()).or_default();
                chain.retain(|row| row.fence != won.fence);
                chain.push(won.clone());
            }
            Self::NewOperationAfterCrash if claim.took_over().is_some() => {
                won.operation = request.new_operation;
                if let Some(row) = own(rows, &won) {
                    row.operation = won.operation;
                }
            }
            Self::TrimsHolders => {
                rows.chains.insert(subject.clone(), vec![won.clone()]);
            }
            _ => return answer,
        }
        let mut hand = Picture::default();
        hand.chains.insert(subject.clone(), vec![won.clone()]);
        match setting.store_of(hand, world).resume(subject, won.token) {
            Ok(Resumed::Claim(claim)) => Answer::Won(claim),
            _ => unreachable!("an attempt that was won is running"),
        }
    }

    /// The store that a renewal finds instead.
    pub(super) fn renews(
        self,
        setting: &Setting,
        world: &World,
        held: &Held,
        store: MemoryStore,
    ) -> MemoryStore {
        if self == Self::RenewsTheLost { running(setting, world, held, store) } else { store }
    }

    /// The store, the attempt and the end that a completion has instead.
    pub(super) fn completes(
        self,
        setting: &Setting,
        world: &World,
        (attempt, end): (&mut Attempt, &mut Command),
        store: MemoryStore,
    ) -> MemoryStore {
        match self {
            Self::CompletesForAnybody => {
                if let Some(runs) = world.attempts().rfind(|row| row.state == State::Running) {
                    *attempt = runs.clone();
                }
            }
            Self::ReportsFailure if *end == Command::Succeeded => *end = Command::Failed,
            Self::CompletesTwice => {
                let mut rows = store.into_picture();
                if let Some(row) = own(&mut rows, attempt) {
                    row.state = State::Running;
                }
                return setting.store_of(rows, world);
            }
            _ => {}
        }
        store
    }

    /// Whether a sweep sees something to be removed.
    pub(super) fn would_sweep(self, setting: &Setting, world: &World) -> bool {
        let mut store = setting.store(world);
        let found = store.sweep(&setting.sweep(SweepMode::Count), &mut |_| ()).unwrap();
        self == Self::PrunesWhatItSaw && found.keys > 0
    }

    /// What a sweep leaves instead.
    pub(super) fn prunes(self, world: &World, rows: &mut Picture) {
        match self {
            Self::FenceRestarts => {
                let left = rows.chains.values().flatten().map(|row| row.fence).max();
                rows.fence = left.unwrap_or(Fence(0)).0;
            }
            Self::PrunesWhatItSaw if world.swept => rows.chains.clear(),
            _ => {}
        }
    }
}

/// The store with an attempt as if it ran.
fn running(setting: &Setting, world: &World, held: &Held, store: MemoryStore) -> MemoryStore {
    let mut rows = store.into_picture();
    if let Some(row) = own(&mut rows, &held.attempt) {
        row.state = State::Running;
    }
    setting.store_of(rows, world)
}
