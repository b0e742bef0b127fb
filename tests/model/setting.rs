//! What is explored: who calls for what, what can be known, and how much may
//! happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use doubletap::claim::attempt::{CommandSummary, Promise};
use doubletap::claim::decide::{Request, Terms};
use doubletap::claim::fingerprint::{Field, Fingerprint};
use doubletap::claim::holder::{Claimant, Group, Holder, PidNamespace, Reach, StartTime, Tie};
use doubletap::claim::id::{OperationId, Token};
use doubletap::claim::key::{Key, Kind, Namespace, Subject};
use doubletap::claim::outcome::Outcome;
use doubletap::claim::time::{BootId, BootMs, Now, WallMs};
use doubletap::store::memory::MemoryStore;
use doubletap::store::memory::picture::Picture;
use doubletap::store::{
    Completion, Keep, KeepUntil, Promised, Sweep, SweepMode, Unlooked, Verdict,
};

use super::kernel::{Kernel, Knows, Stopped};
use super::mutants::Mutant;
use super::world::{Budget, Command, Worker, World};

/// Everything that stays the same from state to state.
#[derive(Clone)]
pub(super) struct Setting {
    /// On which terms the workers call; all call for one key.
    pub(super) terms: Terms,
    /// What can be known of holders.
    pub(super) knows: Knows,
    /// How often each worker calls. The first two ask for one thing, the third for
    /// another.
    pub(super) calls: [u8; 3],
    /// How often what may happen.
    pub(super) budget: Budget,
    /// The length of a lease, in steps of the clock.
    pub(super) lease: u8,
    /// Whether who comes to a held key waits.
    pub(super) waits: bool,
    /// For how long a record is replayed, in steps of the clock; for ever otherwise.
    pub(super) keep: Option<u8>,
    /// The rule that is broken, if one is.
    pub(super) mutant: Option<Mutant>,
    /// What is asked for, made once: by the first two workers, and by the third.
    pub(super) asked: [Request; 2],
    /// What was seen to happen at all.
    pub(super) seen: Arc<AtomicU32>,
}

/// What must happen somewhere, or a promise is kept for want of an occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// A record is replayed.
    Replay,
    /// Somebody is told that the key was used for something else.
    Mismatch,
    /// Somebody is told to come back.
    Busy,
    /// The operation of a dead worker goes on.
    TakeOver,
    /// A person must decide.
    Unresolved,
    /// A lost reply is answered with the claim that was won.
    Claimed,
    /// A fence is passed over because its byte is held.
    Occupied,
    /// Somebody ends what a predecessor left running.
    Cleared,
    /// A holder that was superseded learns so when it is done.
    Late,
    /// A holder that was superseded learns so when it renews.
    NotRenewed,
    /// A claim is won too late to be used.
    GivenBack,
    /// A name rests though nobody holds it.
    Resting,
    /// A sweep removes something.
    Swept,
    /// An end is shared with who has waited for it.
    Shared,
}

impl Setting {
    /// Workers that call so often on these terms, under the real rules; a record is
    /// replayed for ever.
    pub(super) fn new(
        terms: Terms,
        knows: Knows,
        lease: u8,
        calls: [u8; 3],
        budget: Budget,
    ) -> Self {
        let (asked, seen) = (asked(&terms, lease), Arc::default());
        let (waits, keep, mutant) = (false, None, None);
        Self { terms, knows, calls, budget, lease, waits, keep, mutant, asked, seen }
    }

    /// Notes that something was seen to happen.
    pub(super) fn sees(&self, sight: Sight) {
        self.seen.fetch_or(1 << sight as u32, Ordering::Relaxed);
    }

    /// Whether it was.
    pub(super) fn saw(&self, sight: Sight) -> bool {
        self.seen.load(Ordering::Relaxed) & (1 << sight as u32) != 0
    }

    /// The chain that all is about.
    pub(super) fn subject(&self) -> &Subject {
        &self.asked[0].subject
    }

    /// What the workers call for.
    pub(super) fn kind(&self) -> Kind {
        match self.terms {
            Terms::Once(_) => Kind::Once,
            Terms::Lease(_) => Kind::Lease,
        }
    }

    /// How many may hold it at once.
    pub(super) fn slots(&self) -> usize {
        match self.terms {
            Terms::Once(_) => 1,
            Terms::Lease(terms) => usize::try_from(terms.slots).unwrap(),
        }
    }

    /// Whether the lease ends the right of a living holder.
    pub(super) fn lease_decides(&self) -> bool {
        self.kind() == Kind::Lease || self.knows == Knows::Nothing
    }

    /// How many faults there have been.
    pub(super) fn faults(&self, world: &World) -> u8 {
        self.budget.faults() - world.left.faults()
    }

    /// The present instant of the boot clock.
    pub(super) fn boot(&self, world: &World) -> i64 {
        i64::from(self.budget.ticks - world.left.ticks)
    }

    /// The time.
    pub(super) fn now(&self, world: &World) -> Now {
        at(self.boot(world))
    }

    /// The store at this moment.
    pub(super) fn store(&self, world: &World) -> MemoryStore {
        self.store_of((*world.rows).clone(), world)
    }

    /// A store with other rows at this moment.
    pub(super) fn store_of(&self, rows: Picture, world: &World) -> MemoryStore {
        MemoryStore::from_picture(rows, Arc::new(Stopped(self.now(world))))
    }

    /// What a worker, or an operator, can know.
    pub(super) fn kernel(&self, worker: Option<usize>, world: &World) -> Kernel {
        Kernel::seen_by(worker, world, (self.knows, self.mutant))
    }

    /// The length of a lease.
    pub(super) fn length(&self) -> Duration {
        ticks(self.lease)
    }

    /// The number of the claim that a worker sends next: no other has it.
    pub(super) fn number(world: &World, worker: usize) -> u8 {
        let Worker { calls, sent, .. } = &world.workers[worker];
        u8::try_from(worker).unwrap() * 64 + calls * 8 + sent + 1
    }

    /// What a worker asks for. The token is drawn for each claim that is to be won, and
    /// the operation that may begin for each that is sent: the answer to one that was lost
    /// may have been an operation that others have ended since.
    pub(super) fn request(&self, world: &World, worker: usize) -> Request {
        let number = Self::number(world, worker);
        let Worker { sent, drawn, awaited, .. } = world.workers[worker];
        let mut request = Request {
            token: Token([number - sent + drawn; 16]),
            new_operation: OperationId([number; 16]),
            ..self.asked[worker / 2].clone()
        };
        if let Terms::Once(terms) = &mut request.terms {
            terms.awaited = awaited;
        }
        request
    }

    /// What a worker asks for, digested.
    pub(super) fn fingerprint(&self, worker: usize) -> &Fingerprint {
        &self.asked[worker / 2].fingerprint
    }

    /// How a claim ends whose command ended like this.
    pub(super) fn completion(&self, end: Option<Command>) -> Completion {
        let success = end == Some(Command::Succeeded);
        let until = self.keep.map_or(KeepUntil::Pruned, |keep| KeepUntil::For(ticks(keep)));
        let verdict = match self.kind() {
            Kind::Lease => Verdict::Released,
            _ if success => Verdict::Recorded { keep: Keep { until, promise: Promise::Default } },
            _ => Verdict::Failed { rest: None },
        };
        Completion {
            verdict,
            outcome: end.map(|_| Outcome::Exited(u8::from(!success))),
            reason: None,
            run: end.map(|_| Duration::ZERO),
            output: None,
        }
    }

    /// The sweep that operators call for: no younger than the longest lease.
    pub(super) fn sweep(&self, mode: SweepMode) -> Sweep {
        let unlooked = match self.knows {
            Knows::Lives => Unlooked::Spared,
            Knows::Nothing => Unlooked::Included,
        };
        let promised = Promised::Spared;
        Sweep { namespace: None, older_than: self.length(), promised, unlooked, mode }
    }
}

/// The time at an instant of the boot clock. The wall clock is far in the past, so that
/// fences count claims, and worlds that differ only in the hour are one.
pub(super) fn at(boot: i64) -> Now {
    Now { wall: WallMs(boot - 1000), boot: BootMs(boot), boot_id: BootId("b".into()) }
}

/// So many steps of the clock.
pub(super) fn ticks(count: u8) -> Duration {
    Duration::from_millis(u64::from(count))
}

/// Who claims, with the command of this number.
pub(super) fn claimant(number: u8) -> Claimant {
    let pid_namespace = PidNamespace(1);
    let holder = Holder {
        host: String::new(),
        boot_id: BootId("b".into()),
        pid: 1,
        start: StartTime(1),
        pid_namespace,
    };
    let id = i32::from(number);
    let group = Group { reach: Reach::Group, id, start: StartTime(1), session: id, pid_namespace };
    Claimant { holder, tie: Tie::Wrapper, group: Some(group) }
}

/// What is asked for on these terms: one thing, and another. A name is had by whoever
/// asks for it.
fn asked(terms: &Terms, lease: u8) -> [Request; 2] {
    let (kind, fields) = match terms {
        Terms::Once(_) => (Kind::Once, vec![Field { name: String::new(), digest: [1; 32] }]),
        Terms::Lease(_) => (Kind::Lease, Vec::new()),
    };
    let (namespace, key) = (Namespace::new("n").unwrap(), Key::new("k").unwrap());
    [Vec::new(), fields].map(|fields| Request {
        subject: Subject { kind, namespace: namespace.clone(), key: key.clone() },
        token: Token([0; 16]),
        new_operation: OperationId([0; 16]),
        fingerprint: Fingerprint::of(fields),
        command: CommandSummary { word: String::new(), words: 0 },
        lease: ticks(lease),
        parent: None,
        terms: terms.clone(),
    })
}
