//! What may happen next, and what it comes to: one step of one worker, of a command,
//! of an operator or of the clock. Each step of a store is the real one, and atomic,
//! as its lock makes it; a look without the lock is a step of its own.

use super::kernel::number_of;
use super::mutants::Mutant;
use super::promises::of_commands;
use super::setting::Setting;
use super::world::{Command, Held, Place, World};
use super::{claiming, operating, owning};

/// One step. Workers are named by their place in the row, commands by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A worker looks, without the lock.
    Look(usize),
    /// A worker sends its claim.
    Claim(usize, Delivery),
    /// A worker ends what predecessors left.
    Clear(usize),
    /// A worker lets its command go.
    LetGo(usize),
    /// A worker gives back a claim that it won too late, and asks again.
    GiveBack(usize),
    /// A worker renews.
    Renew(usize),
    /// A worker ends its own command before its lease ends.
    Stop(usize),
    /// A worker spends its claim.
    Complete(usize, Delivery),
    /// A worker dies.
    Crash(usize),
    /// A command has its effect and ends.
    Act(u8),
    /// A command ends without an effect.
    Fail(u8),
    /// A command whose worker is dead dies too.
    Die(u8),
    /// Time passes.
    Tick,
    /// A person forgets the key, whoever holds it.
    Forget,
    /// A person settles the key.
    Settle,
    /// A mutant's sweep looks for what is to be removed.
    Survey,
    /// Somebody sweeps.
    Prune,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It is answered.
    Whole,
    /// It comes to nothing; only a lock may have been taken for it.
    RequestLost,
    /// It is done, and the answer is lost.
    ReplyLost,
}

/// Lists what may happen next.
pub(super) fn possible(setting: &Setting, world: &World, steps: &mut Vec<Step>) {
    let left = world.left;
    let lossy = |steps: &mut Vec<Step>, step: fn(usize, Delivery) -> Step, worker, asked: bool| {
        steps.push(step(worker, Delivery::Whole));
        if left.losses > 0 {
            steps.push(step(worker, Delivery::ReplyLost));
            if asked {
                steps.push(step(worker, Delivery::RequestLost));
            }
        }
    };
    for (index, worker) in world.workers.iter().enumerate() {
        match &worker.place {
            Place::Outside => {
                if worker.calls < setting.calls[index] && !comes_later(setting, world, index) {
                    steps.push(Step::Look(index));
                }
            }
            Place::Looked(_) => lossy(steps, Step::Claim, index, true),
            Place::Unsure(_) => steps.push(Step::Claim(index, Delivery::Whole)),
            Place::Holding(held) => {
                let age = setting.boot(world) - held.since;
                let late = setting.lease_decides() && age >= i64::from(setting.lease);
                match held.command {
                    Command::Uncleared => steps.push(Step::Clear(index)),
                    Command::Ready => {
                        // It may sleep between the two.
                        steps.push(Step::LetGo(index));
                        if late {
                            steps.push(Step::GiveBack(index));
                        }
                    }
                    Command::Running => {
                        if age > 0 || !world.is_owners(held) {
                            steps.push(Step::Renew(index));
                        }
                        if age > 0 && setting.lease_decides() {
                            steps.push(Step::Stop(index));
                        }
                    }
                    _ if held.resent => steps.push(Step::Complete(index, Delivery::Whole)),
                    _ => lossy(steps, Step::Complete, index, false),
                }
            }
        }
        if left.crashes > 0 && matches!(worker.place, Place::Unsure(_) | Place::Holding(_)) {
            steps.push(Step::Crash(index));
        }
    }
    for (number, child) in world.children.iter().filter(|(_, child)| child.running) {
        steps.push(Step::Act(*number));
        if left.failures > 0 {
            steps.push(Step::Fail(*number));
        }
        if child.wrapper.is_none() {
            steps.push(Step::Die(*number));
        }
    }
    if left.ticks > 0 && asleep(setting, world) <= left.stalls {
        steps.push(Step::Tick);
    }
    if left.forgets > 0 {
        steps.push(Step::Forget);
    }
    if left.settles > 0 {
        steps.push(Step::Settle);
    }
    if left.prunes > 0 {
        let looks = setting.mutant == Some(Mutant::PrunesWhatItSaw) && !world.swept;
        steps.push(if looks { Step::Survey } else { Step::Prune });
    }
}

/// Whether a worker is one like another that has not looked yet: whoever of the two looks
/// first may as well be that one.
fn comes_later(setting: &Setting, world: &World, index: usize) -> bool {
    let is_new = |index: usize| {
        let worker = &world.workers[index];
        (worker.calls, worker.sent, worker.awaited) == (0, 0, None)
            && worker.place == Place::Outside
    };
    index.checked_sub(1).is_some_and(|before| {
        let alike = setting.calls[before] == setting.calls[index]
            && setting.fingerprint(before) == setting.fingerprint(index);
        alike && is_new(before) && is_new(index)
    })
}

/// How many sleep through the end of their lease if time passes now.
fn asleep(setting: &Setting, world: &World) -> u8 {
    if !setting.lease_decides() {
        return 0;
    }
    let next = setting.boot(world) + 1;
    let ends = |held: &&Held| held.since + i64::from(setting.lease) == next;
    let holding = (0..world.workers.len()).filter_map(|worker| world.held(worker));
    u8::try_from(holding.filter(ends).count()).unwrap()
}

/// Takes a step; nothing if it changes nothing.
pub(super) fn take(setting: &Setting, world: &World, step: Step) -> Option<World> {
    let mut next = World { broken: None, ..world.clone() };
    match step {
        Step::Look(worker) => claiming::look(setting, &mut next, worker),
        Step::Claim(worker, delivery) => {
            claiming::claim(setting, world, &mut next, (worker, delivery));
        }
        Step::Clear(worker) => owning::clear(setting, world, &mut next, worker),
        Step::LetGo(worker) => owning::let_go(&mut next, worker),
        Step::GiveBack(worker) => owning::give_back(setting, world, &mut next, worker),
        Step::Renew(worker) => owning::renew(setting, world, &mut next, worker),
        Step::Stop(worker) => {
            let number = number_of(&world.held(worker)?.attempt);
            next.end_child(number, Command::Killed);
        }
        Step::Complete(worker, delivery) => {
            owning::complete(setting, world, &mut next, (worker, delivery));
        }
        Step::Crash(worker) => owning::crash(&mut next, worker),
        Step::Act(number) => {
            let child = world.children.get(&number)?;
            *next.history.effects.entry(child.operation.0).or_default() += 1;
            next.end_child(number, Command::Succeeded);
        }
        Step::Fail(number) => {
            next.left.failures -= 1;
            next.end_child(number, Command::Failed);
        }
        Step::Die(number) => next.end_child(number, Command::Killed),
        Step::Tick => {
            next.left.stalls -= asleep(setting, world);
            next.left.ticks -= 1;
        }
        Step::Forget => operating::forget(setting, world, &mut next),
        Step::Settle => operating::settle(setting, world, &mut next),
        Step::Survey => next.swept = setting.mutant.is_some_and(|m| m.would_sweep(setting, world)),
        Step::Prune => operating::prune(setting, world, &mut next),
    }
    next.broken = next.broken.or_else(|| of_commands(setting, world, step));
    (next != *world).then_some(next)
}
