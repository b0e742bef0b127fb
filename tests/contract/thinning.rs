//! `prune` of a key that goes on living: attempts that a later one replaced go,
//! or a hot key would keep every output.

use doubletap::claim::attempt::{Promise, State};
use doubletap::claim::fence::Fence;
use doubletap::claim::holder::Life;
use doubletap::claim::key::Namespace;
use doubletap::store::{Dropped, Force, Sweep, SweepMode, Swept, Unlooked};

use super::completion::{failed, kept, recorded, with_output};
use super::stage::{DAY, LEASE, MS, Stage, older_than};

/// A record that is good for a minute, with an output; time passes after it.
fn short_record(stage: &mut Stage, key: &str) -> Fence {
    let claim = stage.won(key);
    let fence = claim.attempt().fence;
    let completion = kept(Some(LEASE), Promise::Explicit);
    stage.complete(claim, &with_output(b"output", completion));
    stage.clock.pass(DAY);
    fence
}

/// What is left of a key: generations and states, newest first.
fn left(stage: &mut Stage, key: &str) -> Vec<(i64, State)> {
    stage.chain(key).iter().map(|attempt| (attempt.generation, attempt.state)).collect()
}

fn replaced_attempts_of_a_living_key_go_and_its_record_stays(stage: &mut Stage) {
    let old: Vec<Fence> = (0..3).map(|_| short_record(stage, "k")).collect();
    let claim = stage.won("k");
    stage.complete(claim, &with_output(b"newest", recorded()));
    stage.clock.pass(MS);
    let counted = stage.sweep(&Sweep { mode: SweepMode::Count, ..older_than(LEASE) });
    assert_eq!(counted, Swept { keys: 0, attempts: 3 });
    assert_eq!(stage.sweep(&older_than(LEASE)), counted);
    assert_eq!(left(stage, "k"), [(4, State::Done)]);
    for fence in old {
        assert_eq!(stage.output(fence), None);
    }
    let record = stage.replay("k").fence;
    assert_eq!(stage.output(record), Some(b"newest".to_vec()));
}

fn replaced_attempts_of_a_running_key_go(stage: &mut Stage) {
    short_record(stage, "k");
    let _ = stage.won("k");
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept { keys: 0, attempts: 1 });
    assert_eq!(left(stage, "k"), [(2, State::Running)]);
}

fn replaced_attempts_that_ended_lately_stay(stage: &mut Stage) {
    short_record(stage, "k");
    let _ = stage.won("k");
    assert_eq!(stage.sweep(&older_than(DAY)), Swept::default());
    stage.clock.pass(MS);
    assert_eq!(stage.sweep(&older_than(DAY)).attempts, 1);
}

fn a_record_under_a_failed_rerun_stays(stage: &mut Stage) {
    let record = stage.done("k");
    stage.clock.pass(DAY);
    let claim = stage.won_again("k");
    stage.complete(claim, &failed());
    stage.clock.pass(MS);
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept::default());
    assert_eq!(stage.replay("k"), record);
}

fn a_record_under_a_running_rerun_stays(stage: &mut Stage) {
    let record = stage.done("k");
    stage.clock.pass(DAY);
    let claim = stage.won_again("k");
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept::default());
    stage.complete(claim, &failed());
    assert_eq!(stage.replay("k"), record);
}

fn a_record_under_an_interrupted_rerun_stays(stage: &mut Stage) {
    let record = stage.done("k");
    stage.clock.pass(DAY);
    let claim = stage.won_again("k");
    stage.witness.says(claim.attempt().fence, Life::Gone);
    let claim = stage.won_again("k");
    stage.witness.says(claim.attempt().fence, Life::Gone);
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept { keys: 0, attempts: 1 });
    assert_eq!(left(stage, "k"), [(3, State::Running), (1, State::Done)]);
    assert_eq!(stage.replay("k"), record);
}

fn a_record_that_a_rerun_replaced_goes(stage: &mut Stage) {
    stage.done("k");
    stage.clock.pass(DAY);
    let claim = stage.won_again("k");
    stage.complete(claim, &recorded());
    let claim = stage.won_again("k");
    stage.complete(claim, &failed());
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept { keys: 0, attempts: 1 });
    assert_eq!(left(stage, "k"), [(3, State::Failed), (2, State::Done)]);
    assert_eq!(stage.replay("k").generation, 2);
}

fn reruns_that_failed_go_when_another_has_failed(stage: &mut Stage) {
    let record = stage.done("k");
    for _ in 0..3 {
        let claim = stage.won_again("k");
        stage.complete(claim, &failed());
        stage.clock.pass(DAY);
    }
    assert_eq!(stage.sweep(&older_than(DAY)), Swept { keys: 0, attempts: 2 });
    assert_eq!(left(stage, "k"), [(4, State::Failed), (1, State::Done)]);
    assert_eq!(stage.replay("k"), record);
}

fn attempts_of_the_current_operation_stay(stage: &mut Stage) {
    stage.failed("k");
    stage.clock.pass(DAY);
    let _ = stage.died("k", Life::Gone);
    stage.failed("k");
    stage.clock.pass(DAY);
    let _ = stage.won("k");
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept::default());
    let all =
        [(4, State::Running), (3, State::Failed), (2, State::Interrupted), (1, State::Failed)];
    assert_eq!(left(stage, "k"), all);
}

fn attempts_of_which_somebody_may_be_left_stay_until_marked_empty(stage: &mut Stage) {
    let living = stage.won("k");
    assert!(matches!(stage.forget("k", Force::Yes), Dropped::Yes));
    stage.clock.pass(DAY);
    let _ = stage.won("k");
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept { keys: 0, attempts: 1 });
    assert_eq!(left(stage, "k"), [(3, State::Running), (1, State::Forgotten)]);
    stage.store.mark_empty(living.attempt().fence).unwrap();
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept { keys: 0, attempts: 1 });
    assert_eq!(left(stage, "k"), [(3, State::Running)]);
}

fn attempts_that_nobody_would_look_for_go_at_their_age(stage: &mut Stage) {
    let _ = stage.won("k");
    assert!(matches!(stage.forget("k", Force::Yes), Dropped::Yes));
    let _ = stage.won("k");
    let sweep = Sweep { unlooked: Unlooked::Included, ..older_than(LEASE) };
    stage.clock.pass(LEASE);
    assert_eq!(stage.sweep(&sweep), Swept::default());
    stage.clock.pass(MS);
    assert_eq!(stage.sweep(&sweep), Swept { keys: 0, attempts: 2 });
    assert_eq!(left(stage, "k"), [(3, State::Running)]);
}

fn only_the_named_namespace_is_thinned(stage: &mut Stage) {
    short_record(stage, "k");
    let _ = stage.won("k");
    let other = Sweep { namespace: Some(Namespace::new("other").unwrap()), ..older_than(LEASE) };
    assert_eq!(stage.sweep(&other), Swept::default());
    let own = Sweep { namespace: Some(Namespace::new("default").unwrap()), ..other };
    assert_eq!(stage.sweep(&own), Swept { keys: 0, attempts: 1 });
}

fn more_than_one_batch_of_replaced_attempts_goes_whole(stage: &mut Stage) {
    for _ in 0..1201 {
        let claim = stage.won("k");
        stage.complete(claim, &kept(Some(MS), Promise::Default));
        stage.clock.pass(MS);
    }
    stage.clock.pass(DAY);
    stage.done("k");
    let all = Swept { keys: 0, attempts: 1201 };
    let sweep = older_than(LEASE);
    assert_eq!(stage.sweep(&Sweep { mode: SweepMode::Count, ..sweep.clone() }), all);
    assert_eq!(stage.sweep(&sweep), all);
    assert_eq!(left(stage, "k"), [(1202, State::Done)]);
}

every_store!(
    replaced_attempts_of_a_living_key_go_and_its_record_stays,
    replaced_attempts_of_a_running_key_go,
    replaced_attempts_that_ended_lately_stay,
    a_record_under_a_failed_rerun_stays,
    a_record_under_a_running_rerun_stays,
    a_record_under_an_interrupted_rerun_stays,
    a_record_that_a_rerun_replaced_goes,
    reruns_that_failed_go_when_another_has_failed,
    attempts_of_the_current_operation_stay,
    attempts_of_which_somebody_may_be_left_stay_until_marked_empty,
    attempts_that_nobody_would_look_for_go_at_their_age,
    only_the_named_namespace_is_thinned,
    more_than_one_batch_of_replaced_attempts_goes_whole,
);
