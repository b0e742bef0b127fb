//! How a worker asks: a look without the lock, and the claiming step, sent, lost, sent
//! again, won.

use std::sync::Arc;

use doubletap::claim::attempt::{Attempt, State};
use doubletap::claim::decide::{BusyWhy, Decision, Request};
use doubletap::claim::fence::Fence;
use doubletap::claim::held::Claim;
use doubletap::claim::id::OperationId;
use doubletap::claim::key::Kind;
use doubletap::store::memory::picture::Picture;
use doubletap::store::{Answer, Store as _};

use super::kernel::number_of;
use super::mutants::Mutant;
use super::promises::{By, Promise, in_force, is_crowded, is_shared, judge};
use super::setting::{Setting, Sight, claimant};
use super::steps::Delivery;
use super::world::{Child, Command, Held, Place, Sent, World};

/// Looks without the lock.
pub(super) fn look(setting: &Setting, next: &mut World, worker: usize) {
    let mut request = setting.request(next, worker);
    if let Some(mutant) = setting.mutant {
        mutant.asks(&mut request, next);
    }
    let mut store = setting.store(next);
    let decision = store.look(&request, &mut setting.kernel(Some(worker), next)).unwrap();
    hear(setting, next, worker, &decision);
    let saw = store.into_picture();
    if saw != *next.rows {
        next.broken = Some(Promise::Inert);
    }
    match decision {
        Decision::Busy(busy) => {
            next.is_told_to_come_back(worker, setting.waits, busy.attempt.fence);
        }
        Decision::Replay(_) | Decision::Mismatch(_) => next.end_call(worker),
        _ => {
            let kept = setting.mutant == Some(Mutant::TrustsTheLook);
            next.workers[worker].place = Place::Looked(kept.then(|| Arc::new(saw)));
        }
    }
}

/// What a worker is told: a replay must be what it asked for.
fn hear(setting: &Setting, next: &mut World, worker: usize, told: &Decision) {
    match told {
        Decision::Replay(attempt) => {
            let shared = is_shared(setting, next, worker, attempt);
            setting.sees(if shared { Sight::Shared } else { Sight::Replay });
            let asked = setting.fingerprint(worker);
            let due = shared || in_force(setting, next, attempt);
            if attempt.fingerprint != *asked || !due {
                next.broken = next.broken.or(Some(Promise::OwnFingerprint));
            }
        }
        Decision::Mismatch(_) => setting.sees(Sight::Mismatch),
        Decision::Unresolved(_) => setting.sees(Sight::Unresolved),
        Decision::Busy(busy) if busy.why == BusyWhy::Resting => setting.sees(Sight::Resting),
        Decision::Busy(_) => setting.sees(Sight::Busy),
        _ => {}
    }
}

/// Sends the claim of a worker.
pub(super) fn claim(
    setting: &Setting,
    world: &World,
    next: &mut World,
    (worker, delivery): (usize, Delivery),
) {
    let fresh = Sent { at: setting.boot(world), number: Setting::number(world, worker) };
    let (sent, first) = match &world.workers[worker].place {
        Place::Unsure(sent) => (*sent, false),
        _ => (fresh, true),
    };
    if first {
        // The command waits until its key is claimed.
        let newborn = Child {
            running: false,
            wrapper: Some(worker),
            operation: OperationId([0; 16]),
            fence: Fence(0),
        };
        next.children.insert(sent.number, newborn);
    }
    let mut request = setting.request(world, worker);
    let (answer, rows, locks) = answered(setting, next, (worker, sent.number), &mut request);
    next.workers[worker].sent += 1;
    if delivery == Delivery::RequestLost {
        next.left.losses -= 1;
        next.workers[worker].locks = locks;
        next.workers[worker].place = Place::Unsure(sent);
        return;
    }
    let own = world.attempts().find(|row| {
        row.state == State::Running && row.token == setting.request(world, worker).token
    });
    next.rows = Arc::new(rows);
    next.broken = next.broken.or(judge(setting, world, next, By::Claiming));
    if own.is_some_and(|own| {
        next.rows != world.rows
            || !matches!(&answer, Answer::Won(claim) if claim.attempt().fence == own.fence)
    }) {
        next.broken = next.broken.or(Some(Promise::Resending));
    }
    if let (Answer::Won(claim), None) = (&answer, own) {
        won(setting, world, next, (worker, claim, &request));
    }
    next.remember_fences();
    if delivery == Delivery::ReplyLost {
        next.left.losses -= 1;
        next.workers[worker].locks = locks;
        next.workers[worker].place = Place::Unsure(sent);
        return;
    }
    match answer {
        Answer::Won(claim) => {
            if own.is_some() {
                setting.sees(Sight::Claimed);
            }
            next.workers[worker].locks = locks;
            next.workers[worker].locks.retain(|fence| *fence == claim.attempt().fence);
            next.workers[worker].place = Place::Holding(Box::new(held(&claim, sent)));
        }
        Answer::Not(decision) => {
            hear(setting, next, worker, &decision);
            next.children.remove(&sent.number);
            match *decision {
                Decision::Busy(busy) => {
                    next.workers[worker].locks = locks;
                    next.is_told_to_come_back(worker, setting.waits, busy.attempt.fence);
                }
                _ => next.end_call(worker),
            }
        }
    }
}

/// The store's answer, the rows after it, and the locks that the worker holds then.
fn answered(
    setting: &Setting,
    world: &World,
    (worker, number): (usize, u8),
    request: &mut Request,
) -> (Answer, Picture, Vec<Fence>) {
    let mut kernel = setting.kernel(Some(worker), world);
    let claimant = claimant(number);
    if let Some(mutant) = setting.mutant {
        mutant.asks(request, world);
        mutant.claims(request, (world, worker));
    }
    let rows = match setting.mutant {
        Some(mutant) => mutant.finds(world, worker),
        None => (*world.rows).clone(),
    };
    let mut store = setting.store_of(rows, world);
    let answer = store.claim(request, &claimant, &mut kernel).unwrap();
    let mut rows = store.into_picture();
    if rows.fence > world.rows.fence + 1 {
        setting.sees(Sight::Occupied);
    }
    let answer = match setting.mutant {
        Some(mutant) => mutant.claimed(setting, world, (answer, &mut rows, request)),
        None => answer,
    };
    (answer, rows, kernel.own)
}

/// What the witness notes of a claim that was won.
fn won(
    setting: &Setting,
    world: &World,
    next: &mut World,
    (worker, claim, request): (usize, &Claim, &Request),
) {
    if claim.took_over().is_some() {
        setting.sees(Sight::TakeOver);
    }
    let operation = claim.attempt().operation;
    let goes_on = match world.history.open {
        Some((open, by)) if setting.kind() == Kind::Once => {
            (setting.fingerprint(by) == setting.fingerprint(worker)).then_some(open)
        }
        _ => None,
    };
    let as_it_must_be = match goes_on {
        Some(open) => open == operation,
        None => !world.history.effects.contains_key(&operation.0),
    };
    if !as_it_must_be {
        next.broken = next.broken.or(Some(Promise::IdempotencyKey));
    }
    let newest = world.attempts().next_back();
    if newest.is_some_and(|newest| is_shared(setting, world, worker, newest)) {
        next.broken = next.broken.or(Some(Promise::Shared));
    }
    if is_crowded(setting, world, request) {
        next.broken = next.broken.or(Some(Promise::MinHold));
    }
    next.history.effects.entry(operation.0).or_default();
    next.history.open = Some((operation, worker));
}

fn held(claim: &Claim, sent: Sent) -> Held {
    let remains: Vec<(Fence, u8)> =
        claim.remains().iter().map(|before: &Attempt| (before.fence, number_of(before))).collect();
    let command = if remains.is_empty() { Command::Ready } else { Command::Uncleared };
    let attempt = Arc::new(claim.attempt().clone());
    Held { attempt, since: sent.at, remains, command, resent: false }
}
