//! `complete --unresolved`: a person says how an interrupted attempt ended.

use doubletap::claim::attempt::{Attempt, State};
use doubletap::claim::decide::{Decision, OnCrash, OnceTerms};
use doubletap::claim::holder::Life;
use doubletap::claim::outcome::Outcome;
use doubletap::store::{Dropped, Force, LostWhy, Owned};

use super::completion::recorded;
use super::stage::{DAY, LEASE, MS, Stage, almost};

#[track_caller]
fn assert_resolved(stage: &mut Stage, key: &str) {
    let before: Vec<Attempt> = stage.chain(key);
    match stage.settle(key, 0) {
        Dropped::Resolved(attempt) => assert_eq!(attempt, before[0]),
        other => panic!("{key} was not resolved: {other:?}"),
    }
    assert_eq!(stage.chain(key), before);
}

fn a_dead_holders_attempt_can_be_settled(stage: &mut Stage) {
    let dead = stage.died("k", Life::Gone);
    stage.clock.pass(MS);
    assert!(matches!(stage.settle("k", 7), Dropped::Yes));
    let record = stage.replay("k");
    assert_eq!(record.fence, dead.attempt().fence);
    assert_eq!((record.state, record.outcome()), (State::Done, Some(Outcome::Exited(7))));
    let end = record.end.unwrap();
    assert!(end.reason.is_some(), "it shows that it was settled by hand");
    assert_eq!((end.run, end.output), (None, None));
    stage.clock.pass(DAY * 365);
    stage.replay("k");
}

fn an_attempt_that_was_marked_interrupted_can_be_settled(stage: &mut Stage) {
    stage.done("k");
    let _ = stage.died("other", Life::Gone);
    let claim = stage.won("other");
    stage.witness.says(claim.attempt().fence, Life::Gone);
    let request =
        stage.request_with("other", OnceTerms { on_crash: OnCrash::Stop, ..OnceTerms::default() });
    assert!(matches!(stage.refusal(&request), Decision::Unresolved(_)));
    assert!(matches!(stage.settle("other", 0), Dropped::Yes));
    assert!(matches!(stage.refusal(&request), Decision::Replay(_)));
    assert_eq!(stage.chain("other")[1].state, State::Interrupted, "only the newest");
}

fn a_holder_of_whom_nothing_is_known_can_be_settled_after_its_lease(stage: &mut Stage) {
    let _ = stage.died("k", Life::Unknown);
    stage.clock.pass(almost(LEASE));
    assert!(matches!(stage.settle("k", 0), Dropped::Held(_, Life::Unknown)));
    stage.clock.pass(MS);
    assert!(matches!(stage.settle("k", 0), Dropped::Yes));
}

fn a_living_holders_attempt_cannot_be_settled(stage: &mut Stage) {
    for (key, life) in [("alive", Life::Alive), ("orphaned", Life::Orphaned)] {
        let claim = stage.died(key, life);
        stage.clock.pass(LEASE);
        match stage.settle(key, 0) {
            Dropped::Held(attempt, found) => {
                assert_eq!((&attempt, found), (claim.attempt(), life), "{key}");
            }
            other => panic!("{key} was not held: {other:?}"),
        }
        assert_eq!(stage.chain(key), std::slice::from_ref(claim.attempt()), "{key}");
    }
}

fn what_ended_otherwise_cannot_be_settled(stage: &mut Stage) {
    stage.done("done");
    assert_resolved(stage, "done");
    stage.failed("failed");
    assert_resolved(stage, "failed");
    let _ = stage.died("forgotten", Life::Gone);
    assert!(matches!(stage.forget("forgotten", Force::No), Dropped::Yes));
    assert_resolved(stage, "forgotten");
    let _ = stage.died("settled", Life::Gone);
    assert!(matches!(stage.settle("settled", 0), Dropped::Yes));
    assert_resolved(stage, "settled");
    assert!(matches!(stage.settle("absent", 0), Dropped::Absent));
    assert_eq!(stage.chain("absent"), []);
}

fn a_zombie_cannot_write_to_what_was_settled(stage: &mut Stage) {
    let zombie = stage.died("k", Life::Gone);
    assert!(matches!(stage.settle("k", 7), Dropped::Yes));
    let before = stage.chain("k");
    let lost = stage.store.complete(zombie, &recorded()).unwrap();
    assert_eq!(lost, Owned::Lost(LostWhy::AlreadyDone));
    assert_eq!(stage.chain("k"), before);
}

every_store!(
    a_dead_holders_attempt_can_be_settled,
    an_attempt_that_was_marked_interrupted_can_be_settled,
    a_holder_of_whom_nothing_is_known_can_be_settled_after_its_lease,
    a_living_holders_attempt_cannot_be_settled,
    what_ended_otherwise_cannot_be_settled,
    a_zombie_cannot_write_to_what_was_settled,
);
