//! Steps go with the last attempt of their operation, and not before.

use doubletap::claim::attempt::Promise;
use doubletap::claim::fence::Fence;
use doubletap::claim::key::{Kind, Subject};
use doubletap::store::{Dropped, Force, Sweep, SweepMode, Swept};

use super::completion::{failed, kept, recorded};
use super::stage::{DAY, LEASE, MS, Stage, older_than, step_of};

/// Completes an operation of `key`, with a step, whose record is good for a minute.
#[track_caller]
fn operation(stage: &mut Stage, key: &str) -> (Subject, Fence) {
    let parent = stage.won(key);
    let step = stage.stepped(&parent, "a", recorded());
    let subject = step_of(&parent, "a");
    assert_eq!(subject.kind, Kind::Step);
    stage.complete(parent, &kept(Some(LEASE), Promise::Explicit));
    stage.clock.pass(DAY);
    (subject, step.fence)
}

fn is_there(stage: &mut Stage, (subject, fence): &(Subject, Fence)) -> bool {
    let there = !stage.store.chain(subject).unwrap().is_empty();
    assert_eq!(stage.output(*fence).is_some(), there, "its output stays and goes with it");
    there
}

fn with_a_key_its_steps_go_and_those_of_others_stay(stage: &mut Stage) {
    let old = operation(stage, "old");
    let young = operation(stage, "young");
    stage.clock.pass(MS);
    let counted = stage.sweep(&Sweep { mode: SweepMode::Count, ..older_than(DAY) });
    assert!(is_there(stage, &old), "who only counts removes nothing");
    assert_eq!(stage.sweep(&older_than(DAY)), counted);
    assert_eq!(counted, Swept { keys: 2, attempts: 2 }, "steps are not counted");
    assert!(!is_there(stage, &old) && !is_there(stage, &young));

    let (old, running) = (operation(stage, "old"), stage.won("running"));
    let step = stage.stepped(&running, "a", recorded());
    let of_running = (step_of(&running, "a"), step.fence);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1);
    assert!(!is_there(stage, &old) && is_there(stage, &of_running));
}

fn with_an_older_operation_its_steps_go_and_those_of_the_current_one_stay(stage: &mut Stage) {
    let old = operation(stage, "k");
    let newer = operation(stage, "k");
    let parent = stage.won("k");
    let step = stage.stepped(&parent, "a", recorded());
    let current = (step_of(&parent, "a"), step.fence);
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept { keys: 0, attempts: 2 });
    assert!(!is_there(stage, &old) && !is_there(stage, &newer) && is_there(stage, &current));
    stage.complete(parent, &failed());
    let again = stage.won("k");
    let request = stage.step(&again, "a");
    assert!(matches!(stage.refusal(&request), doubletap::claim::decide::Decision::Replay(_)));
}

fn steps_stay_while_any_attempt_of_their_operation_is_left(stage: &mut Stage) {
    let parent = stage.won("k");
    let step = stage.stepped(&parent, "a", recorded());
    let steps = (step_of(&parent, "a"), step.fence);
    stage.complete(parent, &failed());
    stage.clock.pass(DAY);
    let parent = stage.won("k");
    stage.sweep(&older_than(LEASE));
    assert!(is_there(stage, &steps));
    stage.complete(parent, &recorded());
    stage.sweep(&older_than(LEASE));
    assert!(is_there(stage, &steps), "its record is young");
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1);
    assert!(!is_there(stage, &steps));
}

fn the_steps_of_a_forgotten_operation_go_when_it_does(stage: &mut Stage) {
    let steps = operation(stage, "k");
    assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    assert!(is_there(stage, &steps));
    stage.clock.pass(DAY);
    stage.sweep(&older_than(LEASE));
    assert!(!is_there(stage, &steps));
}

fn a_step_that_failed_goes_with_all_its_attempts(stage: &mut Stage) {
    let mut steps = None;
    for _ in 0..3 {
        let parent = stage.won("k");
        let step = stage.stepped(&parent, "a", failed());
        steps = Some((step_of(&parent, "a"), step.fence));
        stage.complete(parent, &failed());
    }
    let steps = steps.unwrap();
    assert_eq!(stage.store.chain(&steps.0).unwrap().len(), 3);
    stage.clock.pass(DAY);
    stage.sweep(&older_than(LEASE));
    assert!(!is_there(stage, &steps));
}

fn a_sweep_of_another_namespace_leaves_them_alone(stage: &mut Stage) {
    use doubletap::claim::key::Namespace;
    let steps = operation(stage, "k");
    for (namespace, stays) in [("other", true), ("default", false)] {
        let namespace = Some(Namespace::new(namespace).unwrap());
        stage.sweep(&Sweep { namespace, ..older_than(LEASE) });
        assert_eq!(is_there(stage, &steps), stays);
    }
}

every_store!(
    with_a_key_its_steps_go_and_those_of_others_stay,
    with_an_older_operation_its_steps_go_and_those_of_the_current_one_stay,
    steps_stay_while_any_attempt_of_their_operation_is_left,
    the_steps_of_a_forgotten_operation_go_when_it_does,
    a_step_that_failed_goes_with_all_its_attempts,
    a_sweep_of_another_namespace_leaves_them_alone,
);
