//! What must hold in every state and of every step. Nothing here asks the rules: the
//! witness compares rows, locks and commands for itself.

use std::sync::Arc;

use doubletap::claim::attempt::{Attempt, Remains, State};
use doubletap::claim::decide::{Decision, OnCrash, Request, Terms};
use doubletap::claim::id::Token;
use doubletap::claim::key::Kind;
use doubletap::store::Store as _;
use doubletap::store::memory::MemoryStore;
use stateright::{Model, Property};

use super::kernel::{Kernel, Knows, Stopped, number_of};
use super::setting::{Setting, at};
use super::steps::Step;
use super::world::{Held, World};

/// A promise that a step can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Promise {
    Replayed,
    OneOwner,
    Fences,
    OnlyTheOwner,
    Immutable,
    OwnFingerprint,
    Spared,
    Somewhere,
    ExactlyOnce,
    AtMost,
    IdempotencyKey,
    Resending,
    OneCommand,
    Inert,
    MinHold,
    Shared,
}

impl Promise {
    /// The promise in a sentence.
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Self::Replayed => "no command runs while a record is in force",
            Self::OneOwner => "a live claim has one owner at the most",
            Self::Fences => "fences grow strictly over all history",
            Self::OnlyTheOwner => "only the owner's token changes a running attempt",
            Self::Immutable => "a record stays as it is until it expires, is pruned or forgotten",
            Self::OwnFingerprint => "a replay has the caller's fingerprint",
            Self::Spared => "prune spares what runs, is interrupted, held or young",
            Self::Somewhere => "in time a claim gets somewhere",
            Self::ExactlyOnce => "without faults an operation has exactly one effect",
            Self::AtMost => "with k faults an operation has 1 + k effects at the most",
            Self::IdempotencyKey => "an idempotency key is one operation's, and its only one",
            Self::Resending => "sending the same token again changes nothing",
            Self::OneCommand => "no more commands live under a name than it has slots",
            Self::Inert => "a call of a stranger changes nothing",
            Self::MinHold => "a name is kept for as long as was asked for",
            Self::Shared => {
                "who has waited for a command is given its end and does not run it again"
            }
        }
    }
}

/// Makes one property of each promise that is noted when a step breaks it.
macro_rules! unbroken {
    ($($promise:ident)*) => {
        vec![$(Property::always(Promise::$promise.sentence(), |_, world: &World| {
            world.broken != Some(Promise::$promise)
        }),)*]
    };
}

/// Every promise.
pub(super) fn properties<M>() -> Vec<Property<M>>
where
    M: Model<State = World> + AsRef<Setting>,
{
    let mut all: Vec<Property<M>> = unbroken! {
        Replayed Fences OnlyTheOwner Immutable OwnFingerprint Spared IdempotencyKey
        Resending Inert MinHold Shared
    };
    let of = |promise: Promise, holds| Property::always(promise.sentence(), holds);
    all.extend([
        of(Promise::OneOwner, |model: &M, world| owners(model.as_ref(), world)),
        of(Promise::OneCommand, |model: &M, world| commands(model.as_ref(), world)),
        of(Promise::ExactlyOnce, |model: &M, world| exactly_once(model.as_ref(), world)),
        of(Promise::AtMost, |model: &M, world| {
            let most = 1 + model.as_ref().faults(world);
            world.history.effects.values().all(|effects| *effects <= most)
        }),
        of(Promise::Somewhere, |model: &M, world| gets_somewhere(model.as_ref(), world)),
    ]);
    all
}

/// Who writes to the store.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    Claiming,
    Owner(Token),
    Clearing,
    Forgetting,
    Settling,
    Pruning,
}

/// The promise about rows that a step of a store has broken.
pub(super) fn judge(setting: &Setting, before: &World, after: &World, by: By) -> Option<Promise> {
    let new = after.attempts().filter(|row| before.attempt(row.fence) != Some(*row));
    let added = new.filter(|row| before.attempt(row.fence).is_none());
    let fences: Vec<i64> = added.map(|row| row.fence.0).collect();
    if fences.iter().any(|fence| *fence <= before.history.highest) || fences.len() > 1 {
        return Some(Promise::Fences);
    }
    before.attempts().find_map(|row| {
        let left = after.attempt(row.fence).filter(|left| left.token == row.token);
        if left == Some(row) {
            return None;
        }
        match by {
            By::Pruning => (!may_go(setting, before, row)).then_some(Promise::Spared),
            By::Claiming | By::Owner(_) | By::Clearing | By::Forgetting | By::Settling => {
                changed(setting, before, (row, left), by)
            }
        }
    })
}

fn changed(
    setting: &Setting,
    before: &World,
    (row, left): (&Attempt, Option<&Attempt>),
    by: By,
) -> Option<Promise> {
    let becomes = left.map(|left| left.state);
    if row.state == State::Running {
        let may = match by {
            By::Owner(token) => token == row.token && becomes.is_some(),
            By::Claiming => {
                has_lost_right(setting, before, row)
                    && match becomes {
                        // Nothing is left to be ended of it, so a name keeps no row.
                        None => setting.kind() == Kind::Lease && !lives(before, row),
                        becomes => becomes == Some(State::Interrupted),
                    }
            }
            By::Forgetting => becomes == Some(State::Forgotten),
            By::Settling => has_lost_right(setting, before, row) && becomes == Some(State::Done),
            By::Clearing | By::Pruning => false,
        };
        return (!may).then_some(Promise::OnlyTheOwner);
    }
    if in_force(setting, before, row) {
        return Some(Promise::Immutable);
    }
    let looked_after = left.is_some_and(|left| {
        Attempt { remains: row.remains, ..left.clone() } == *row && left.remains == Remains::None
    });
    let over = row.state != State::Interrupted || row.remains == Remains::None;
    let trimmed = left.is_none() && setting.kind() == Kind::Lease && over;
    match by {
        By::Clearing if looked_after => None,
        By::Claiming | By::Forgetting if trimmed => None,
        // The rests of a name go with it.
        By::Forgetting if becomes == Some(row.state) => None,
        By::Settling if row.state == State::Interrupted => None,
        By::Owner(token) if token != row.token => Some(Promise::OnlyTheOwner),
        _ => Some(Promise::Inert),
    }
}

/// Whether the wrapper of an attempt lives, or its command.
fn lives(world: &World, row: &Attempt) -> bool {
    world.is_locked(row.fence) || world.children.contains_key(&number_of(row))
}

/// Whether nobody has a right to the key through a running attempt any more.
fn has_lost_right(setting: &Setting, world: &World, row: &Attempt) -> bool {
    let lives = lives(world, row);
    let over = row.until.at.0 <= setting.boot(world);
    match (setting.knows, setting.kind()) {
        (Knows::Nothing, _) => over,
        (Knows::Lives, Kind::Lease) => over || !lives,
        (Knows::Lives, Kind::Once | Kind::Step) => !lives,
    }
}

/// Whether an attempt is a record that is replayed.
pub(super) fn in_force(setting: &Setting, world: &World, row: &Attempt) -> bool {
    let expired = row.end.as_ref().is_none_or(|end| end.expiry.has_come(&setting.now(world)));
    let forgotten =
        world.attempts().any(|later| later.is_tombstone() && later.generation > row.generation);
    row.state == State::Done && !expired && !forgotten
}

/// Whether prune may take an attempt: one that ended long enough ago, and is neither what
/// the key's state hangs on nor a part of what goes on.
fn may_go(setting: &Setting, world: &World, row: &Attempt) -> bool {
    let horizon = setting.now(world).wall.0 - i64::from(setting.lease);
    let old = row.end.as_ref().is_some_and(|end| end.at.0 < horizon);
    let unlooked = row.remains == Remains::Possible
        && setting.knows == Knows::Lives
        && matches!(row.state, State::Interrupted | State::Forgotten);
    let newest = world.attempts().next_back();
    let goes_on = newest.is_some_and(|newest| {
        newest.operation == row.operation
            && matches!(newest.state, State::Running | State::Interrupted)
    });
    row.state != State::Running && old && !unlooked && !goes_on
}

/// What letting a command go, or its effect, has broken.
pub(super) fn of_commands(setting: &Setting, before: &World, step: Step) -> Option<Promise> {
    let fence = match step {
        Step::LetGo(worker) => before.held(worker).map(|held| held.attempt.fence)?,
        Step::Act(number) => before.children.get(&number)?.fence,
        _ => return None,
    };
    // A person who settles a key answers for what he had forgotten by force before.
    let by_itself = |row: &Attempt| row.end.as_ref().is_some_and(|end| end.reason.is_none());
    let is_record = |row: &Attempt| in_force(setting, before, row) && by_itself(row);
    let replayed = before.attempts().any(|row| row.fence != fence && is_record(row));
    // Nobody can end what runs elsewhere: the fence is the protection there.
    (replayed && setting.knows == Knows::Lives && is_waiting_or_runs(before, step))
        .then_some(Promise::Replayed)
}

/// Whether the command of a step is there at all: one that waits may have been ended.
fn is_waiting_or_runs(world: &World, step: Step) -> bool {
    match step {
        Step::LetGo(worker) => world
            .held(worker)
            .is_some_and(|held| world.children.contains_key(&number_of(&held.attempt))),
        _ => true,
    }
}

fn owners(setting: &Setting, world: &World) -> bool {
    let is_live = |held: &&Held| {
        let row = world.attempt(held.attempt.fence);
        if setting.lease_decides() {
            return row.is_some_and(|row| {
                row.state == State::Running && row.until.at.0 > setting.boot(world)
            });
        }
        row.is_some_and(|row| matches!(row.state, State::Running | State::Interrupted))
    };
    let held = (0..world.workers.len()).filter_map(|worker| world.held(worker));
    held.filter(is_live).count() <= setting.slots()
}

fn commands(setting: &Setting, world: &World) -> bool {
    let running = world.children.values().filter(|child| child.running).count();
    running <= setting.slots() || setting.knows == Knows::Nothing
}

fn exactly_once(setting: &Setting, world: &World) -> bool {
    let had = |row: &Attempt| world.history.effects.get(&row.operation.0).copied();
    let done = |row: &&Attempt| row.state == State::Done;
    setting.faults(world) > 0
        || (world.history.effects.values().all(|effects| *effects <= 1)
            && world.attempts().filter(done).all(|row| had(row) == Some(1)))
}

/// Whether a caller gets somewhere once everybody else is gone and time has passed:
/// nobody is kept out for ever, and whoever asks for what was asked for runs it or is
/// told its end, unless a person must decide.
fn gets_somewhere(setting: &Setting, world: &World) -> bool {
    let later = setting.boot(world) + i64::from(setting.lease) * 4;
    let clock = Arc::new(Stopped(at(later)));
    let mut store = MemoryStore::from_picture((*world.rows).clone(), clock);
    let mut stranger = setting.request(world, 0);
    (stranger.token, stranger.terms) = (Token([254; 16]), setting.terms.clone());
    let mut answers = [0, 2].map(|worker| {
        let request =
            Request { fingerprint: setting.fingerprint(worker).clone(), ..stranger.clone() };
        let mut kernel = Kernel::deserted(setting.knows, setting.mutant);
        store.look(&request, &mut kernel).unwrap()
    });
    let stops = matches!(&setting.terms, Terms::Once(terms) if terms.on_crash == OnCrash::Stop);
    let open = |answer: &Decision| match answer {
        Decision::Run(_) | Decision::Replay(_) => true,
        Decision::Unresolved(_) => stops,
        _ => false,
    };
    let shut = |answer: &Decision| matches!(answer, Decision::Busy(_));
    answers.iter_mut().any(|answer| open(answer)) && !answers.iter().any(shut)
}

/// Whether an attempt is the end of what a worker has waited for, or a newer one.
pub(super) fn is_shared(setting: &Setting, world: &World, worker: usize, row: &Attempt) -> bool {
    let awaited = world.workers[worker].awaited.is_some_and(|awaited| row.fence >= awaited);
    let same = row.fingerprint == *setting.fingerprint(worker);
    let ended = matches!(row.state, State::Done | State::Failed);
    awaited && same && ended && row.outcome().is_some()
}

/// Whether a name was had though all its slots were held or resting.
pub(super) fn is_crowded(setting: &Setting, before: &World, request: &Request) -> bool {
    let Terms::Lease(terms) = &request.terms else { return false };
    let now = setting.now(before);
    let keeps = |row: &&Attempt| {
        let rests = row.rests_until.as_ref().is_some_and(|until| until.left(&now).is_some());
        let held = row.state == State::Running && !has_lost_right(setting, before, row);
        rests || held
    };
    before.attempts().filter(keeps).count() >= usize::try_from(terms.slots).unwrap()
}
