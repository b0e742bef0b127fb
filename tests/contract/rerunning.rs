//! `--rerun`: the old record stays in force unless the rerun succeeds.

use doubletap::claim::attempt::{Origin, Promise, State};
use doubletap::claim::decide::Decision;
use doubletap::claim::holder::Life;

use super::completion::{failed, kept, recorded};
use super::stage::{DAY, Stage};

fn a_rerun_is_a_new_operation(stage: &mut Stage) {
    let record = stage.done("k");
    let claim = stage.won_again("k");
    let attempt = claim.attempt();
    assert_eq!((attempt.generation, attempt.number), (2, 1));
    assert_eq!(attempt.origin, Origin::Rerun);
    assert_ne!(attempt.operation, record.operation);
    assert_eq!(stage.chain("k"), [attempt.clone(), record]);
}

fn a_rerun_without_a_record_is_an_ordinary_attempt(stage: &mut Stage) {
    assert_eq!(stage.won_again("k").attempt().origin, Origin::Ordinary);
}

fn a_running_rerun_keeps_the_key_busy(stage: &mut Stage) {
    stage.done("k");
    let claim = stage.won_again("k");
    assert!(matches!(stage.look("k"), Decision::Busy(_)));
    stage.complete(claim, &recorded());
}

fn a_failed_rerun_leaves_the_record(stage: &mut Stage) {
    let record = stage.done("k");
    for _ in 0..3 {
        let claim = stage.won_again("k");
        stage.complete(claim, &failed());
    }
    assert_eq!(stage.replay("k"), record);
    let states: Vec<State> = stage.chain("k").iter().map(|attempt| attempt.state).collect();
    assert_eq!(states, [State::Failed, State::Failed, State::Failed, State::Done]);
}

fn a_rerun_whose_holder_is_gone_leaves_the_record(stage: &mut Stage) {
    let record = stage.done("k");
    let claim = stage.won_again("k");
    stage.witness.says(claim.attempt().fence, Life::Gone);
    assert_eq!(stage.replay("k"), record);
    let next = stage.won_again("k");
    assert_eq!(next.attempt().generation, 3);
    assert_eq!(stage.chain("k")[1].state, State::Interrupted);
    stage.complete(next, &failed());
    assert_eq!(stage.replay("k"), record);
}

fn a_rerun_that_succeeds_takes_the_place_of_the_record(stage: &mut Stage) {
    stage.done("k");
    let claim = stage.won_again("k");
    let fence = claim.attempt().fence;
    stage.complete(claim, &recorded());
    assert_eq!(stage.replay("k").fence, fence);
}

fn a_record_under_a_failed_rerun_still_expires(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.complete(claim, &kept(Some(DAY), Promise::Explicit));
    let claim = stage.won_again("k");
    stage.complete(claim, &failed());
    stage.clock.pass(DAY);
    let claim = stage.won("k");
    assert_eq!(claim.attempt().origin, Origin::Ordinary);
    assert_eq!((claim.attempt().generation, claim.attempt().number), (3, 1));
}

every_store!(
    a_rerun_is_a_new_operation,
    a_rerun_without_a_record_is_an_ordinary_attempt,
    a_running_rerun_keeps_the_key_busy,
    a_failed_rerun_leaves_the_record,
    a_rerun_whose_holder_is_gone_leaves_the_record,
    a_rerun_that_succeeds_takes_the_place_of_the_record,
    a_record_under_a_failed_rerun_still_expires,
);
