//! Steps: they belong to an operation, and are had only while the attempt that runs them
//! is its owner's.

use doubletap::claim::attempt::State;
use doubletap::claim::decide::{BusyWhy, Decision};
use doubletap::claim::holder::{Life, Tie};
use doubletap::store::{Dropped, Force};

use super::completion::{failed, recorded};
use super::stage::{DAY, LEASE, Stage, fingerprint, step_of};
use super::surveying::{surveyed, told_by_chains};

#[track_caller]
fn assert_parent_lost(stage: &mut Stage, request: &doubletap::claim::decide::Request) {
    let looked = stage.store.look(request, &mut stage.witness).unwrap();
    assert!(
        !matches!(looked, Decision::Busy(_) | Decision::Mismatch(_)),
        "it may be acted upon: {looked:?}"
    );
    let refused = stage.refusal(request);
    assert!(matches!(refused, Decision::ParentLost), "{refused:?}");
}

fn a_step_that_succeeded_is_replayed_when_the_operation_is_tried_again(stage: &mut Stage) {
    let parent = stage.won("k");
    let first = stage.stepped(&parent, "a", recorded());
    assert_eq!(first.parent, Some(parent.attempt().fence));
    stage.complete(parent, &failed());
    let parent = stage.won("k");
    let request = stage.step(&parent, "a");
    match stage.refusal(&request) {
        Decision::Replay(record) => assert_eq!(record, first),
        other => panic!("it is not replayed: {other:?}"),
    }
    assert_eq!(stage.output(first.fence), Some(b"a".to_vec()));
}

fn a_step_that_failed_goes_on_under_its_own_idempotency_key(stage: &mut Stage) {
    let parent = stage.won("k");
    let first = stage.stepped(&parent, "a", failed());
    let other = stage.stepped(&parent, "b", failed());
    assert_ne!(first.operation, other.operation);
    assert_ne!(first.operation, parent.attempt().operation);
    stage.complete(parent, &failed());
    let parent = stage.won("k");
    let again = stage.stepped(&parent, "a", recorded());
    assert_eq!((again.number, again.operation), (2, first.operation));
    assert_eq!(again.parent, Some(parent.attempt().fence));
}

fn a_step_that_was_used_for_something_else_is_a_mismatch(stage: &mut Stage) {
    let parent = stage.won("k");
    stage.stepped(&parent, "a", recorded());
    let mut request = stage.step(&parent, "a");
    request.fingerprint = fingerprint(2);
    assert!(matches!(stage.refusal(&request), Decision::Mismatch(_)));
}

fn a_new_operation_has_steps_of_its_own(stage: &mut Stage) {
    let parent = stage.won("k");
    stage.stepped(&parent, "a", recorded());
    stage.complete(parent, &recorded());
    let again = stage.won_again("k");
    let rerun = stage.stepped(&again, "a", recorded());
    assert_eq!((rerun.generation, rerun.number), (1, 1));
    stage.complete(again, &recorded());
    assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    let parent = stage.won("k");
    assert_eq!(stage.stepped(&parent, "a", recorded()).generation, 1);
    let other = stage.won("other");
    assert_eq!(stage.stepped(&other, "a", recorded()).generation, 1);
}

fn a_step_belongs_to_a_claim_that_was_begun_by_hand_too(stage: &mut Stage) {
    for tie in [Tie::Process, Tie::Time, Tie::Both] {
        let parent = stage.begun(tie.as_str(), tie, Life::Alive);
        let step = stage.stepped(&parent, "a", recorded());
        assert_eq!(step.parent, Some(parent.attempt().fence));
    }
}

fn a_step_is_had_only_while_its_parent_is_its_owners(stage: &mut Stage) {
    let ended = stage.won("ended");
    let of_ended = stage.step(&ended, "a");
    stage.complete(ended, &recorded());
    assert_parent_lost(stage, &of_ended);

    let forgotten = stage.won("forgotten");
    let of_forgotten = stage.step(&forgotten, "a");
    assert!(matches!(stage.forget("forgotten", Force::Yes), Dropped::Yes));
    assert_parent_lost(stage, &of_forgotten);

    let superseded = stage.died("superseded", Life::Gone);
    let of_superseded = stage.step(&superseded, "a");
    let next = stage.won("superseded");
    assert_parent_lost(stage, &of_superseded);
    let of_next = stage.step(&next, "a");
    let _ = stage.win(&of_next);

    let mut of_nobody = of_next;
    of_nobody.parent.as_mut().unwrap().token.0 = [9; 16];
    assert_parent_lost(stage, &of_nobody);
}

fn a_record_is_not_replayed_to_whoever_has_lost_the_parent(stage: &mut Stage) {
    let zombie = stage.died("k", Life::Unknown);
    stage.stepped(&zombie, "a", recorded());
    let request = stage.step(&zombie, "a");
    stage.clock.pass(LEASE + DAY);
    let _ = stage.won("k");
    assert_parent_lost(stage, &request);
}

fn what_a_step_came_to_counts_though_its_parent_was_superseded(stage: &mut Stage) {
    let zombie = stage.died("k", Life::Unknown);
    let request = stage.step(&zombie, "a");
    let step = stage.win(&request);
    stage.clock.pass(LEASE);
    let next = stage.won("k");
    stage.complete(step, &recorded());
    let request = stage.step(&next, "a");
    assert!(matches!(stage.refusal(&request), Decision::Replay(_)));
}

fn what_a_step_came_to_is_none_of_another_operation(stage: &mut Stage) {
    let forgotten = stage.won("forgotten");
    let request = stage.step(&forgotten, "a");
    let step = stage.win(&request);
    assert!(matches!(stage.forget("forgotten", Force::Yes), Dropped::Yes));
    stage.complete(step, &recorded());
    let next = stage.won("forgotten");
    let request = stage.step(&next, "a");
    let _ = stage.win(&request);

    let failing = stage.won("failing");
    let request = stage.step(&failing, "a");
    let step = stage.win(&request);
    stage.complete(failing, &failed());
    stage.complete(step, &recorded());
    let next = stage.won("failing");
    let request = stage.step(&next, "a");
    assert!(matches!(stage.refusal(&request), Decision::Replay(_)), "it is the same operation");
}

fn a_step_that_lives_is_busy_for_whoever_took_its_operation(stage: &mut Stage) {
    for life in [Life::Alive, Life::Orphaned, Life::Gone] {
        let key = format!("{life:?}");
        let zombie = stage.died(&key, Life::Unknown);
        let request = stage.step(&zombie, "a");
        let step = stage.win(&request);
        stage.witness.says(step.attempt().fence, life);
        stage.clock.pass(LEASE);
        let next = stage.won(&key);
        let request = stage.step(&next, "a");
        if life != Life::Gone {
            assert!(matches!(stage.refusal(&request), Decision::Busy(_)), "{life:?}");
            continue;
        }
        let taken = stage.win(&request);
        assert_eq!((taken.attempt().number, taken.attempt().operation), {
            (2, step.attempt().operation)
        });
        let chain = stage.store.chain(&step_of(&next, "a")).unwrap();
        assert_eq!(chain[1].state, State::Interrupted);
    }
}

fn a_step_that_runs_is_busy_for_another_call_of_the_same_attempt(stage: &mut Stage) {
    let parent = stage.won("k");
    let request = stage.step(&parent, "a");
    let _step = stage.win(&request);
    let other = stage.step(&parent, "a");
    match stage.refusal(&other) {
        Decision::Busy(busy) => assert_eq!(busy.why, BusyWhy::Held(Life::Alive)),
        other => panic!("it is not busy: {other:?}"),
    }
    stage.clock.pass(LEASE + DAY);
    assert!(matches!(stage.refusal(&other), Decision::Busy(_)));
}

fn steps_are_no_keys(stage: &mut Stage) {
    let parent = stage.won("k");
    stage.stepped(&parent, "done", recorded());
    stage.stepped(&parent, "failed", failed());
    let request = stage.step(&parent, "running");
    let _step = stage.win(&request);
    assert_eq!(stage.keys(), ["k"]);
    let unended = stage.store.unended().unwrap();
    assert_eq!(unended.len(), 1, "{unended:?}");
    let survey = surveyed(stage);
    assert_eq!(survey.keys, told_by_chains(stage));
    assert_eq!((survey.attempts, survey.output_bytes), (1, 0));
    let groups: Vec<_> = survey.namespaces.groups.iter().map(|(group, _)| &group.kind).collect();
    assert_eq!(groups.len(), 1, "{groups:?}");
}

every_store!(
    a_step_that_succeeded_is_replayed_when_the_operation_is_tried_again,
    a_step_that_failed_goes_on_under_its_own_idempotency_key,
    a_step_that_was_used_for_something_else_is_a_mismatch,
    a_new_operation_has_steps_of_its_own,
    a_step_belongs_to_a_claim_that_was_begun_by_hand_too,
    a_step_is_had_only_while_its_parent_is_its_owners,
    a_record_is_not_replayed_to_whoever_has_lost_the_parent,
    what_a_step_came_to_counts_though_its_parent_was_superseded,
    what_a_step_came_to_is_none_of_another_operation,
    a_step_that_lives_is_busy_for_whoever_took_its_operation,
    a_step_that_runs_is_busy_for_another_call_of_the_same_attempt,
    steps_are_no_keys,
);
