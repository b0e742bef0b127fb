//! `prune`: finished keys go, and nothing that is still needed.

use doubletap::claim::attempt::Promise;
use doubletap::claim::decide::Request;
use doubletap::claim::holder::Life;
use doubletap::claim::key::Namespace;
use doubletap::store::{Dropped, Force, Promised, Sweep, SweepMode, Swept, Unlooked};

use super::completion::{failed, kept, recorded, rested, with_output};
use super::stage::{DAY, LEASE, MS, Stage, almost, older_than, subject_in};

fn finished_keys_go_with_all_they_have(stage: &mut Stage) {
    stage.failed("failed");
    stage.failed("failed");
    stage.done("forgotten");
    assert!(matches!(stage.forget("forgotten", Force::No), Dropped::Yes));
    let claim = stage.won("done");
    stage.complete(claim, &with_output(b"output", recorded()));
    let fence = stage.newest("done").fence;
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept { keys: 3, attempts: 5 });
    assert_eq!(stage.keys(), Vec::<String>::new());
    assert_eq!(stage.output(fence), None);
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept::default());
}

fn a_pruned_key_runs_again_as_a_new_operation(stage: &mut Stage) {
    let failed = stage.failed("k");
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1);
    let claim = stage.won("k");
    assert_eq!((claim.attempt().generation, claim.attempt().number), (1, 1));
    assert_ne!(claim.attempt().operation, failed.operation);
}

fn a_key_goes_when_it_ended_longer_ago_than_named(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.clock.pass(DAY);
    stage.complete(claim, &recorded());
    stage.clock.pass(LEASE);
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept::default(), "not longer ago");
    stage.clock.pass(MS);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1);
}

fn a_young_end_spares_the_older_attempts_of_its_operation(stage: &mut Stage) {
    stage.failed("k");
    stage.clock.pass(DAY);
    stage.done("k");
    stage.clock.pass(MS);
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept::default());
    assert_eq!(stage.chain("k").len(), 2);
}

fn running_and_interrupted_keys_stay(stage: &mut Stage) {
    let _ = stage.won("running");
    let _ = stage.died("gone", Life::Gone);
    let _ = stage.died("orphaned", Life::Orphaned);
    stage.done("interrupted");
    let claim = stage.won_again("interrupted");
    stage.witness.says(claim.attempt().fence, Life::Gone);
    let _ = stage.died("taken over", Life::Gone);
    let _ = stage.won("taken over");
    let before = stage.keys();
    stage.clock.pass(DAY * 365);
    let (promised, unlooked) = (Promised::Included, Unlooked::Included);
    let everything = Sweep { promised, unlooked, ..older_than(MS) };
    assert_eq!(stage.sweep(&everything), Swept::default());
    assert_eq!(stage.keys(), before);
}

fn a_key_that_was_taken_over_goes_at_its_age_where_nobody_would_look_for_what_is_left(
    stage: &mut Stage,
) {
    let _ = stage.died("k", Life::Unknown);
    stage.clock.pass(LEASE);
    stage.done("k");
    let sweep = older_than(LEASE);
    let alone = Sweep { unlooked: Unlooked::Included, ..sweep.clone() };
    assert_eq!(stage.sweep(&alone), Swept::default(), "it is young");
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&sweep), Swept::default(), "somebody would");
    let all = Swept { keys: 1, attempts: 2 };
    assert_eq!(stage.sweep(&Sweep { mode: SweepMode::Count, ..alone.clone() }), all);
    assert_eq!(stage.sweep(&alone), all);
    assert_eq!(stage.keys(), Vec::<String>::new());
}

fn records_that_somebody_asked_for_stay_as_long_as_they_last(stage: &mut Stage) {
    for (key, span, promise) in [
        ("for a year", Some(DAY * 365), Promise::Explicit),
        ("for ever", None, Promise::Explicit),
        ("for a day", Some(DAY), Promise::Explicit),
        ("by default", None, Promise::Default),
        ("for a year by default", Some(DAY * 365), Promise::Default),
    ] {
        let claim = stage.won(key);
        stage.complete(claim, &kept(span, promise));
    }
    stage.clock.pass(almost(DAY));
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 2);
    assert_eq!(stage.keys(), ["for a day", "for ever", "for a year"]);
    stage.clock.pass(MS);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1, "its promise is over");
    assert_eq!(stage.keys(), ["for ever", "for a year"]);
    let forced = Sweep { promised: Promised::Included, ..older_than(LEASE) };
    assert_eq!(stage.sweep(&forced).keys, 2);
    assert_eq!(stage.keys(), Vec::<String>::new());
}

fn a_promised_record_under_a_failed_rerun_stays(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.complete(claim, &kept(Some(DAY * 365), Promise::Explicit));
    let record = stage.newest("k");
    let claim = stage.won_again("k");
    stage.complete(claim, &failed());
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 0);
    assert_eq!(stage.replay("k"), record);
}

fn a_promise_that_was_replaced_spares_nothing(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.complete(claim, &kept(Some(DAY * 365), Promise::Explicit));
    let claim = stage.won_again("k");
    stage.complete(claim, &recorded());
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1);
    assert_eq!(stage.keys(), Vec::<String>::new());
}

fn a_failed_key_stays_as_long_as_it_rests(stage: &mut Stage) {
    for (key, rest) in [("for two days", Some(DAY * 2)), ("not at all", None)] {
        let claim = stage.won(key);
        stage.complete(claim, &rested(rest));
    }
    let sweep = older_than(LEASE);
    let counted =
        |stage: &mut Stage| stage.sweep(&Sweep { mode: SweepMode::Count, ..sweep.clone() }).keys;
    stage.clock.pass(almost(DAY * 2));
    assert_eq!(counted(stage), 1);
    assert_eq!(stage.sweep(&sweep).keys, 1);
    assert_eq!(stage.keys(), ["for two days"]);
    let forced = Sweep { promised: Promised::Included, mode: SweepMode::Count, ..sweep.clone() };
    assert_eq!(stage.sweep(&forced).keys, 1);
    stage.clock.pass(MS);
    assert_eq!(stage.sweep(&sweep).keys, 1, "it rests no longer");
    assert_eq!(stage.keys(), Vec::<String>::new());
}

fn no_key_rests_after_the_machine_has_started_again(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.complete(claim, &rested(Some(DAY * 365)));
    stage.clock.pass(DAY);
    stage.clock.restart_machine();
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1);
}

fn a_rerun_that_failed_rests_no_key(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.complete(claim, &kept(Some(LEASE), Promise::Default));
    let claim = stage.won_again("k");
    stage.complete(claim, &rested(Some(DAY * 365)));
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)), Swept { keys: 1, attempts: 2 });
}

fn only_the_named_namespace_is_swept(stage: &mut Stage) {
    for namespace in ["default", "other", "Other", "other "] {
        let request = Request { subject: subject_in(namespace, "k"), ..stage.request("k") };
        let claim = stage.win(&request);
        stage.complete(claim, &recorded());
    }
    stage.clock.pass(DAY);
    let named = Sweep { namespace: Some(Namespace::new("other").unwrap()), ..older_than(LEASE) };
    assert_eq!(stage.sweep(&named), Swept { keys: 1, attempts: 1 });
    let left: Vec<String> = stage
        .store
        .chains(None)
        .unwrap()
        .iter()
        .map(|chain| chain.subject.namespace.to_string())
        .collect();
    assert_eq!(left, ["other ", "Other", "default"]);
}

fn a_count_counts_what_would_go_and_removes_nothing(stage: &mut Stage) {
    stage.done("a");
    stage.failed("b");
    stage.failed("b");
    let _ = stage.won("running");
    stage.clock.pass(DAY);
    let sweep = older_than(LEASE);
    let counted = stage.sweep(&Sweep { mode: SweepMode::Count, ..sweep.clone() });
    assert_eq!(counted, Swept { keys: 2, attempts: 3 });
    assert_eq!(stage.keys(), ["running", "b", "a"]);
    assert_eq!(stage.sweep(&sweep), counted);
}

fn a_count_counts_replaced_attempts_of_a_key_that_goes_once(stage: &mut Stage) {
    for _ in 0..3 {
        let claim = stage.won("k");
        stage.complete(claim, &kept(Some(LEASE), Promise::Default));
        stage.clock.pass(DAY);
    }
    let sweep = older_than(LEASE);
    let counted = stage.sweep(&Sweep { mode: SweepMode::Count, ..sweep.clone() });
    assert_eq!(counted, Swept { keys: 1, attempts: 3 });
    assert_eq!(stage.sweep(&sweep), counted);
}

fn more_than_one_batch_of_keys_goes_whole(stage: &mut Stage) {
    for number in 0..1200 {
        stage.done(&format!("key {number}"));
    }
    stage.clock.pass(DAY);
    stage.done("young");
    let sweep = older_than(LEASE);
    let all = Swept { keys: 1200, attempts: 1200 };
    assert_eq!(stage.sweep(&Sweep { mode: SweepMode::Count, ..sweep.clone() }), all);
    assert_eq!(stage.sweep(&sweep), all);
    assert_eq!(stage.keys(), ["young"]);
}

every_store!(
    finished_keys_go_with_all_they_have,
    a_pruned_key_runs_again_as_a_new_operation,
    a_key_goes_when_it_ended_longer_ago_than_named,
    a_young_end_spares_the_older_attempts_of_its_operation,
    running_and_interrupted_keys_stay,
    a_key_that_was_taken_over_goes_at_its_age_where_nobody_would_look_for_what_is_left,
    records_that_somebody_asked_for_stay_as_long_as_they_last,
    a_promised_record_under_a_failed_rerun_stays,
    a_promise_that_was_replaced_spares_nothing,
    a_failed_key_stays_as_long_as_it_rests,
    no_key_rests_after_the_machine_has_started_again,
    a_rerun_that_failed_rests_no_key,
    only_the_named_namespace_is_swept,
    a_count_counts_what_would_go_and_removes_nothing,
    a_count_counts_replaced_attempts_of_a_key_that_goes_once,
    more_than_one_batch_of_keys_goes_whole,
);
