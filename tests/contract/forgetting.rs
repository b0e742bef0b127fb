//! `forget`: a key is dropped, and no zombie brings it back.

use doubletap::claim::attempt::{Remains, State};
use doubletap::claim::decide::Decision;
use doubletap::claim::holder::Life;
use doubletap::store::{Dropped, Force};

use super::completion::failed;
use super::stage::{LEASE, MS, Stage, almost};

fn a_forgotten_key_leaves_a_tombstone_and_runs_again(stage: &mut Stage) {
    let record = stage.done("k");
    stage.clock.pass(MS);
    assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    let [tombstone, old] = stage.chain("k").try_into().unwrap();
    assert_eq!((tombstone.state, tombstone.generation), (State::Forgotten, 2));
    assert_eq!(old, record, "what was is still to be seen");
    assert_ne!(tombstone.token, record.token);
    let claim = stage.won("k");
    assert_eq!((claim.attempt().generation, claim.attempt().number), (3, 1));
    assert_ne!(claim.attempt().operation, record.operation);
    assert_eq!(claim.remains(), []);
    assert_eq!(claim.took_over(), None);
}

fn failed_and_interrupted_keys_are_forgotten_too(stage: &mut Stage) {
    let failed = stage.failed("failed");
    let dead = stage.died("dead", Life::Gone);
    for (key, operation) in [("failed", failed.operation), ("dead", dead.attempt().operation)] {
        assert!(matches!(stage.forget(key, Force::No), Dropped::Yes), "{key}");
        let claim = stage.won(key);
        assert_eq!(claim.attempt().number, 1, "{key}");
        assert_ne!(claim.attempt().operation, operation, "{key}");
    }
    let old = &stage.chain("dead")[2];
    assert_eq!((old.state, old.remains), (State::Forgotten, Remains::None));
}

fn a_living_holder_is_spared_and_named(stage: &mut Stage) {
    for (key, life) in
        [("alive", Life::Alive), ("orphaned", Life::Orphaned), ("unknown", Life::Unknown)]
    {
        let claim = stage.died(key, life);
        match stage.forget(key, Force::No) {
            Dropped::Held(attempt, found) => {
                assert_eq!((&attempt, found), (claim.attempt(), life), "{key}");
            }
            other => panic!("{key} was not spared: {other:?}"),
        }
        assert_eq!(stage.chain(key), std::slice::from_ref(claim.attempt()), "{key}");
        assert!(matches!(stage.look(key), Decision::Busy(_)), "{key}");
    }
}

fn a_holder_of_whom_nothing_is_known_is_spared_until_its_lease_ends(stage: &mut Stage) {
    let _ = stage.died("k", Life::Unknown);
    stage.clock.pass(almost(LEASE));
    assert!(matches!(stage.forget("k", Force::No), Dropped::Held(..)));
    stage.clock.pass(MS);
    assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
}

fn a_living_holder_that_was_forgotten_may_be_left(stage: &mut Stage) {
    let living = stage.won("k");
    assert!(matches!(stage.forget("k", Force::Yes), Dropped::Yes));
    let claim = stage.won("k");
    assert_eq!(claim.attempt().generation, 3);
    assert_eq!(claim.remains().len(), 1);
    assert_eq!(claim.remains()[0].fence, living.attempt().fence);
    assert_eq!(claim.remains()[0].state, State::Forgotten);
}

fn a_key_that_is_not_there_is_absent(stage: &mut Stage) {
    assert!(matches!(stage.forget("k", Force::Yes), Dropped::Absent));
    assert_eq!(stage.chain("k"), []);
    stage.done("k");
    assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    assert!(matches!(stage.forget("k", Force::Yes), Dropped::Absent));
    assert_eq!(stage.chain("k").len(), 2);
}

fn only_the_named_key_is_forgotten(stage: &mut Stage) {
    stage.done("k");
    let record = stage.done("k2");
    assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    assert_eq!(stage.replay("k2"), record);
}

fn a_forgotten_record_is_not_brought_back_by_a_failed_rerun(stage: &mut Stage) {
    stage.done("k");
    let claim = stage.won_again("k");
    stage.complete(claim, &failed());
    assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    assert!(matches!(stage.look("k"), Decision::Run(_)));
    stage.failed("k");
    assert!(matches!(stage.look("k"), Decision::Run(_)));
}

every_store!(
    a_forgotten_key_leaves_a_tombstone_and_runs_again,
    failed_and_interrupted_keys_are_forgotten_too,
    a_living_holder_is_spared_and_named,
    a_holder_of_whom_nothing_is_known_is_spared_until_its_lease_ends,
    a_living_holder_that_was_forgotten_may_be_left,
    a_key_that_is_not_there_is_absent,
    only_the_named_key_is_forgotten,
    a_forgotten_record_is_not_brought_back_by_a_failed_rerun,
);
