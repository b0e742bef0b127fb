//! What a worker does with a claim: clears, lets its command go, renews, gives back,
//! completes, or dies with it.

use std::mem;
use std::sync::Arc;

use doubletap::claim::attempt::Attempt;
use doubletap::store::memory::MemoryStore;
use doubletap::store::memory::picture::Picture;
use doubletap::store::{Completion, LostWhy, Owned, Resumed, Store as _};

use super::kernel::{Knows, Stopped, number_of};
use super::mutants::Mutant;
use super::promises::{By, Promise, judge};
use super::setting::{Setting, Sight, at};
use super::steps::Delivery;
use super::world::{Command, Place, World};

/// Ends what predecessors left, as far as that can be done from here.
pub(super) fn clear(setting: &Setting, world: &World, next: &mut World, worker: usize) {
    let Place::Holding(held) = &mut next.workers[worker].place else { return };
    held.command = Command::Ready;
    let remains = mem::take(&mut held.remains);
    let elsewhere = setting.knows == Knows::Nothing;
    if elsewhere || setting.mutant == Some(Mutant::LeavesRemains) {
        return;
    }
    let mut store = setting.store(world);
    for (fence, number) in remains {
        if next.children.get(&number).is_some_and(|child| child.running) {
            setting.sees(Sight::Cleared);
        }
        next.end_child(number, Command::Killed);
        store.mark_empty(fence).unwrap();
    }
    next.rows = Arc::new(store.into_picture());
    next.broken = next.broken.or(judge(setting, world, next, By::Clearing));
}

/// Lets the command go, unless somebody has ended it while it waited.
pub(super) fn let_go(next: &mut World, worker: usize) {
    let Place::Holding(held) = &mut next.workers[worker].place else { return };
    let number = number_of(&held.attempt);
    let newborn = next.children.get_mut(&number);
    held.command = if newborn.is_some() { Command::Running } else { Command::Killed };
    if let Some(child) = newborn {
        child.running = true;
        child.operation = held.attempt.operation;
        child.fence = held.attempt.fence;
    }
}

/// The store's answer to an owner, by its token: a claim is resumed from the attempt as
/// it was won, as a script does it from call to call, because a state must be copied and
/// a claim cannot be.
fn spend(
    setting: &Setting,
    (store, attempt): (&mut MemoryStore, &Attempt),
    completion: &Completion,
) -> Owned {
    let subject = setting.subject();
    let mut won = Picture::default();
    won.chains.insert(subject.clone(), vec![attempt.clone()]);
    let mut hand = MemoryStore::from_picture(won, Arc::new(Stopped(at(0))));
    let Resumed::Claim(claim) = hand.resume(subject, attempt.token).unwrap() else {
        unreachable!("an attempt as it was won is running");
    };
    store.complete(claim, completion).unwrap()
}

/// Gives back a claim that was won too late; the next is asked for like a first one.
pub(super) fn give_back(setting: &Setting, world: &World, next: &mut World, worker: usize) {
    let Some(held) = world.held(worker) else { return };
    setting.sees(Sight::GivenBack);
    let mut store = setting.store(world);
    let completion = setting.completion(None);
    let _lost_or_not = spend(setting, (&mut store, &held.attempt), &completion);
    next.children.remove(&number_of(&held.attempt));
    next.rows = Arc::new(store.into_picture());
    let worker = &mut next.workers[worker];
    worker.place = Place::Outside;
    worker.locks.clear();
    if setting.mutant != Some(Mutant::AsksAgainAsBefore) {
        worker.drawn = worker.sent;
    }
    next.broken = next.broken.or(judge(setting, world, next, By::Owner(held.attempt.token)));
}

/// Renews, and ends its command if it is told that it has lost.
pub(super) fn renew(setting: &Setting, world: &World, next: &mut World, worker: usize) {
    let Some(held) = world.held(worker) else { return };
    let owner = held.attempt.ownership(setting.subject());
    let mut store = setting.store(world);
    if let Some(mutant) = setting.mutant {
        store = mutant.renews(setting, world, held, store);
    }
    let answer = store.renew(&owner, setting.length()).unwrap();
    next.rows = Arc::new(store.into_picture());
    next.broken = next.broken.or(judge(setting, world, next, By::Owner(owner.token)));
    let owners = world.is_owners(held);
    if owners != (answer == Owned::Yes) {
        next.broken = next.broken.or(Some(Promise::Inert));
    }
    if answer == Owned::Yes {
        let now = setting.boot(world);
        if let Place::Holding(held) = &mut next.workers[worker].place {
            held.since = now;
        }
    } else {
        setting.sees(Sight::NotRenewed);
        next.end_child(number_of(&held.attempt), Command::Killed);
    }
}

/// Spends the claim on how its command ended.
pub(super) fn complete(
    setting: &Setting,
    world: &World,
    next: &mut World,
    (worker, delivery): (usize, Delivery),
) {
    let Some(held) = world.held(worker) else { return };
    let mut store = setting.store(world);
    let mut attempt = (*held.attempt).clone();
    let mut end = held.command;
    if let Some(mutant) = setting.mutant {
        store = mutant.completes(setting, world, (&mut attempt, &mut end), store);
    }
    let owned = spend(setting, (&mut store, &attempt), &setting.completion(Some(end)));
    next.rows = Arc::new(store.into_picture());
    let by = By::Owner(held.attempt.token);
    next.broken = next.broken.or(judge(setting, world, next, by));
    if world.is_owners(held) != (owned == Owned::Yes) {
        let promise = if held.resent { Promise::Resending } else { Promise::Inert };
        next.broken = next.broken.or(Some(promise));
    }
    if owned == Owned::Yes && end == Command::Succeeded {
        next.history.open = None;
    }
    if delivery == Delivery::ReplyLost {
        next.left.losses -= 1;
        if let Place::Holding(held) = &mut next.workers[worker].place {
            held.resent = true;
        }
        return;
    }
    if let Owned::Lost(why) = owned {
        if why == LostWhy::Superseded {
            setting.sees(Sight::Late);
        }
        let mut store = setting.store(next);
        store.mark_empty(held.attempt.fence).unwrap();
        next.rows = Arc::new(store.into_picture());
    }
    next.end_call(worker);
}

/// Dies: what waited dies too, what runs is left.
pub(super) fn crash(next: &mut World, worker: usize) {
    next.left.crashes -= 1;
    next.children.retain(|_, child| child.running || child.wrapper != Some(worker));
    for child in next.children.values_mut().filter(|child| child.wrapper == Some(worker)) {
        child.wrapper = None;
    }
    next.end_call(worker);
}
