//! What the model knows at one moment: the rows, the clock, where each worker is
//! in its protocol, who lives, and what the witness remembers.

use std::collections::BTreeMap;
use std::sync::Arc;

use doubletap::claim::attempt::{Attempt, State};
use doubletap::claim::fence::Fence;
use doubletap::claim::id::OperationId;
use doubletap::store::memory::picture::Picture;

use super::promises::Promise;

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    /// What the store holds.
    pub(super) rows: Arc<Picture>,
    /// What may still happen.
    pub(super) left: Budget,
    /// Those who call.
    pub(super) workers: [Worker; 3],
    /// The commands that live, by the number of the call that started them.
    pub(super) children: BTreeMap<u8, Child>,
    /// What the witness remembers.
    pub(super) history: History,
    /// A sweep that has looked and not yet removed: only a mutant has one.
    pub(super) swept: bool,
    /// The promise that the last step broke.
    pub(super) broken: Option<Promise>,
}

/// How often what nobody asked for may happen, and what operators may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    /// Steps of the clock.
    pub(super) ticks: u8,
    /// Workers that die.
    pub(super) crashes: u8,
    /// Requests and replies that are lost.
    pub(super) losses: u8,
    /// Workers that sleep through the end of their lease.
    pub(super) stalls: u8,
    /// Commands that fail.
    pub(super) failures: u8,
    /// Calls of `forget --force`.
    pub(super) forgets: u8,
    /// Calls of `complete --unresolved`.
    pub(super) settles: u8,
    /// Calls of `prune`.
    pub(super) prunes: u8,
}

impl Budget {
    /// How many faults are among it: what can make a command run twice.
    pub(super) fn faults(self) -> u8 {
        self.crashes + self.losses + self.stalls
    }
}

/// One who calls again and again, each time as a new process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Worker {
    /// How many calls are over.
    pub(super) calls: u8,
    /// How often the present call has sent its claim.
    pub(super) sent: u8,
    /// How often it had when its token was drawn: first, or after a claim given back.
    pub(super) drawn: u8,
    /// Whose end the present call waits for, if it was told to wait.
    pub(super) awaited: Option<Fence>,
    /// Where the present call is.
    pub(super) place: Place,
    /// The bytes of the lock file that its process holds.
    pub(super) locks: Vec<Fence>,
}

impl Worker {
    /// One that has made so many calls.
    fn new(calls: u8) -> Self {
        let place = Place::Outside;
        Self { calls, sent: 0, drawn: 0, awaited: None, place, locks: Vec::new() }
    }
}

/// Where a call is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Before its look.
    Outside,
    /// Its look said that it may run. What it saw is kept for a mutant that trusts it.
    Looked(Option<Arc<Picture>>),
    /// It has sent its claim, and heard nothing.
    Unsure(Sent),
    /// It has a claim.
    Holding(Box<Held>),
}

/// A claim that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    /// When, on the boot clock.
    pub(super) at: i64,
    /// The number of the command that waits for it.
    pub(super) number: u8,
}

/// A claim in hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    /// The attempt as it was won.
    pub(super) attempt: Arc<Attempt>,
    /// When the claim, or the last renewal that succeeded, was sent.
    pub(super) since: i64,
    /// What predecessors may have left: their fences and the numbers of their commands.
    pub(super) remains: Vec<(Fence, u8)>,
    /// How far its command is.
    pub(super) command: Command,
    /// Whether its end was sent before, and no answer came.
    pub(super) resent: bool,
}

/// How far the command of a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Command {
    /// It waits: predecessors are to be cleared first.
    Uncleared,
    /// It waits to be let go.
    Ready,
    /// It was let go.
    Running,
    /// It had its effect.
    Succeeded,
    /// It ended by itself without one.
    Failed,
    /// Somebody ended it.
    Killed,
}

/// A living command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Child {
    /// Whether it was let go.
    pub(super) running: bool,
    /// The worker that owns it, unless that has died.
    pub(super) wrapper: Option<usize>,
    /// Its idempotency key.
    pub(super) operation: OperationId,
    /// The fence that it was handed.
    pub(super) fence: Fence,
}

/// What only somebody who has watched from the beginning knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct History {
    /// The highest fence that ever was.
    pub(super) highest: i64,
    /// Every operation that ever was, and how often its effect was had.
    pub(super) effects: BTreeMap<[u8; 16], u8>,
    /// The operation that nothing has ended yet, and the worker that began it.
    pub(super) open: Option<(OperationId, usize)>,
}

impl World {
    /// Where everything begins.
    pub(super) fn new(left: Budget) -> Self {
        let worker = Worker::new(0);
        Self {
            rows: Arc::default(),
            left,
            workers: [worker.clone(), worker.clone(), worker],
            children: BTreeMap::new(),
            history: History::default(),
            swept: false,
            broken: None,
        }
    }

    /// Every attempt, the oldest first.
    pub(super) fn attempts(&self) -> impl DoubleEndedIterator<Item = &Attempt> {
        self.rows.chains.values().flatten()
    }

    /// The attempt of this fence.
    pub(super) fn attempt(&self, fence: Fence) -> Option<&Attempt> {
        self.attempts().find(|attempt| attempt.fence == fence)
    }

    /// The claim of a worker, if it has one.
    pub(super) fn held(&self, worker: usize) -> Option<&Held> {
        match &self.workers[worker].place {
            Place::Holding(held) => Some(held),
            _ => None,
        }
    }

    /// Whether a claim's row is still what its owner won.
    pub(super) fn is_owners(&self, held: &Held) -> bool {
        self.attempt(held.attempt.fence)
            .is_some_and(|row| row.state == State::Running && row.token == held.attempt.token)
    }

    /// Whether the lock of this fence is held.
    pub(super) fn is_locked(&self, fence: Fence) -> bool {
        self.workers.iter().any(|worker| worker.locks.contains(&fence))
    }

    /// Ends the command of a call, as far as it lives, and tells its owner how.
    pub(super) fn end_child(&mut self, number: u8, how: Command) {
        let Some(child) = self.children.remove(&number) else { return };
        let Some(wrapper) = child.wrapper else { return };
        if let Place::Holding(held) = &mut self.workers[wrapper].place {
            // One that waits is found dead only when it is let go.
            if held.command == Command::Running {
                held.command = how;
            }
        }
    }

    /// Remembers the fences that the last step gave out.
    pub(super) fn remember_fences(&mut self) {
        let highest = self.attempts().map(|attempt| attempt.fence.0).max().unwrap_or(0);
        self.history.highest = self.history.highest.max(highest);
    }

    /// Ends the present call of a worker that is told to come back; or it waits, and looks
    /// again.
    pub(super) fn is_told_to_come_back(&mut self, worker: usize, waits: bool, holder: Fence) {
        if waits {
            let worker = &mut self.workers[worker];
            (worker.awaited, worker.place) = (Some(holder), Place::Outside);
        } else {
            self.end_call(worker);
        }
    }

    /// Ends the present call of a worker, and its process with it.
    pub(super) fn end_call(&mut self, worker: usize) {
        let calls = self.workers[worker].calls + 1;
        self.workers[worker] = Worker::new(calls);
    }
}
