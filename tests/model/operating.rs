//! What operators do: forget, settle, prune.

use std::sync::Arc;

use doubletap::claim::id::Token;
use doubletap::claim::outcome::Outcome;
use doubletap::store::{Dropped, Force, Store as _, SweepMode};

use super::promises::{By, judge};
use super::setting::{Setting, Sight};
use super::world::World;

/// Forgets the key, whoever holds it.
pub(super) fn forget(setting: &Setting, world: &World, next: &mut World) {
    let mut store = setting.store(world);
    let dropped =
        store.forget(setting.subject(), Force::Yes, &mut setting.kernel(None, world)).unwrap();
    if !matches!(dropped, Dropped::Yes) {
        return;
    }
    let mut rows = store.into_picture();
    for tombstone in rows.chains.values_mut().flatten().filter(|a| a.is_tombstone()) {
        // Drawn from the kernel, which no state could be told by.
        tombstone.token = Token([255; 16]);
        tombstone.operation.0 = [255; 16];
        tombstone.command.word.clear();
    }
    next.rows = Arc::new(rows);
    next.left.forgets -= 1;
    next.history.open = None;
    next.broken = next.broken.or(judge(setting, world, next, By::Forgetting));
    next.remember_fences();
}

/// Settles the key, if its holder died.
pub(super) fn settle(setting: &Setting, world: &World, next: &mut World) {
    let mut store = setting.store(world);
    let mut kernel = setting.kernel(None, world);
    let dropped = store.settle(setting.subject(), Outcome::Exited(0), &mut kernel).unwrap();
    if !matches!(dropped, Dropped::Yes) {
        return;
    }
    next.rows = Arc::new(store.into_picture());
    next.left.settles -= 1;
    next.history.open = None;
    next.broken = next.broken.or(judge(setting, world, next, By::Settling));
}

/// Sweeps what ended long enough ago.
pub(super) fn prune(setting: &Setting, world: &World, next: &mut World) {
    let mut store = setting.store(world);
    store.sweep(&setting.sweep(SweepMode::Remove), &mut |_| ()).unwrap();
    let mut rows = store.into_picture();
    if let Some(mutant) = setting.mutant {
        mutant.prunes(world, &mut rows);
    }
    if rows == *world.rows {
        return;
    }
    setting.sees(Sight::Swept);
    if rows.chains.is_empty() {
        next.history.open = None;
    }
    next.rows = Arc::new(rows);
    next.swept = false;
    next.left.prunes -= 1;
    next.broken = next.broken.or(judge(setting, world, next, By::Pruning));
}
