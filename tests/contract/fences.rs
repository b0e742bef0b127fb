//! The fencing token: it never goes back.

use doubletap::claim::fence::Fence;
use doubletap::claim::holder::Life;
use doubletap::claim::time::Clock as _;
use doubletap::store::{Dropped, Force};

use super::stage::{DAY, MS, Stage, older_than};

/// Wins a key and says with which fence.
fn next(stage: &mut Stage, key: &str) -> Fence {
    stage.won(key).attempt().fence
}

fn fences_grow_over_claims_of_different_keys(stage: &mut Stage) {
    let fences: Vec<Fence> =
        ["b", "a", "c", "aa"].into_iter().map(|key| next(stage, key)).collect();
    assert!(fences.is_sorted_by(|one, other| one < other), "{fences:?}");
    assert_eq!(fences[0], Fence(stage.clock.now().wall.0));
}

fn fences_grow_over_the_attempts_of_one_key(stage: &mut Stage) {
    let first = stage.failed("k").fence;
    let second = stage.failed("k").fence;
    let third = stage.died("k", Life::Gone).attempt().fence;
    let fourth = next(stage, "k");
    assert!(first < second && second < third && third < fourth);
}

fn fences_grow_when_everything_was_pruned(stage: &mut Stage) {
    let first = stage.done("k").fence;
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(MS)).keys, 1);
    stage.clock.step_wall(-2 * i64::try_from(DAY.as_millis()).unwrap());
    assert!(next(stage, "k") > first);
}

fn fences_grow_over_a_forgotten_key(stage: &mut Stage) {
    let first = stage.done("k").fence;
    assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    let tombstone = stage.newest("k").fence;
    let second = next(stage, "k");
    assert!(first < tombstone && tombstone < second);
}

fn fences_grow_when_the_clock_goes_back(stage: &mut Stage) {
    let first = next(stage, "a");
    stage.clock.step_wall(-1_000_000_000);
    let second = next(stage, "b");
    stage.clock.step_wall(2_000_000_000);
    let third = next(stage, "c");
    assert!(first < second && second < third);
}

fn fences_grow_over_a_deleted_store(stage: &mut Stage) {
    let first = next(stage, "k");
    stage.delete_store();
    stage.clock.pass(MS);
    assert_eq!(stage.chain("k"), []);
    assert!(next(stage, "k") > first);
}

fn an_occupied_fence_is_skipped(stage: &mut Stage) {
    let first = Fence(stage.clock.now().wall.0);
    stage.witness.occupies(first);
    stage.witness.occupies(Fence(first.0 + 1));
    let won = next(stage, "k");
    assert_eq!(won, Fence(first.0 + 2));
    assert_eq!(stage.witness.held, [won]);
    assert_eq!(stage.chain("k").len(), 1);
    assert_eq!(next(stage, "other"), Fence(first.0 + 3));
}

every_store!(
    fences_grow_over_claims_of_different_keys,
    fences_grow_over_the_attempts_of_one_key,
    fences_grow_when_everything_was_pruned,
    fences_grow_over_a_forgotten_key,
    fences_grow_when_the_clock_goes_back,
    fences_grow_over_a_deleted_store,
    an_occupied_fence_is_skipped,
);
