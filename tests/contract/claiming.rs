//! Who may run: the claiming step, and looking without it.

use std::time::Duration;

use doubletap::claim::attempt::{Remains, State};
use doubletap::claim::decide::{
    Busy, BusyWhy, Decision, OnCrash, OnceTerms, Request, Terms, UnresolvedWhy,
};
use doubletap::claim::holder::Life;
use doubletap::store::Trouble;

use super::completion::{recorded, rested};
use super::people::INODE;
use super::stage::{LEASE, MS, Stage, almost, claimant, fingerprint, subject, subject_in};

#[track_caller]
fn busy(decision: Decision) -> Busy {
    match decision {
        Decision::Busy(busy) => busy,
        other => panic!("it is not busy: {other:?}"),
    }
}

fn the_first_claim_wins_and_the_second_is_busy(stage: &mut Stage) {
    let first = stage.won("k");
    let second = stage.request("k");
    stage.clock.pass(MS);
    let found = busy(stage.refusal(&second));
    assert_eq!(found.attempt, *first.attempt());
    assert_eq!(found.why, BusyWhy::Held(Life::Alive));
    assert_eq!(found.retry_after, Some(almost(LEASE)));
    assert_eq!(stage.chain("k").len(), 1);
}

fn the_row_of_a_claim_reads_back_as_it_was_won(stage: &mut Stage) {
    let request = Request { lease: Duration::from_millis(12_345), ..stage.request("k") };
    let claim = stage.win(&request);
    let attempt = claim.attempt();
    assert_eq!(stage.chain("k"), std::slice::from_ref(attempt));
    assert_eq!((attempt.generation, attempt.number), (1, 1));
    assert_eq!((attempt.token, attempt.operation), (request.token, request.new_operation));
    assert_eq!(attempt.fingerprint, request.fingerprint);
    assert_eq!(attempt.command, request.command);
    assert_eq!(attempt.holder, claimant(&stage.clock).holder);
    assert_eq!((attempt.lease, attempt.lock_inode), (request.lease, Some(INODE)));
    assert_eq!(*claim.subject(), subject("k"));
}

fn a_lost_reply_is_answered_with_the_same_claim(stage: &mut Stage) {
    let request = stage.request("k");
    let first = stage.win(&request);
    stage.clock.pass(MS);
    let again = stage.win(&request);
    assert_eq!(again.attempt(), first.attempt());
    assert_eq!(stage.chain("k").len(), 1);
    assert_eq!(stage.witness.held, [first.attempt().fence]);
    assert_eq!(stage.witness.let_go, []);
}

fn a_lost_reply_does_not_lose_who_may_be_left(stage: &mut Stage) {
    let dead = stage.died("k", Life::Unknown);
    stage.clock.pass(LEASE);
    let request = stage.request("k");
    let first = stage.win(&request);
    let again = stage.win(&request);
    assert_eq!(first.remains().len(), 1);
    assert_eq!(first.remains()[0].fence, dead.attempt().fence);
    assert_eq!(again.remains(), first.remains());
}

fn a_refused_claim_takes_no_lock(stage: &mut Stage) {
    let first = stage.won("k");
    let second = stage.request("k");
    stage.refusal(&second);
    assert_eq!(stage.witness.held, [first.attempt().fence]);
}

fn a_look_says_what_a_claim_would_and_changes_nothing(stage: &mut Stage) {
    assert!(matches!(stage.look("k"), Decision::Run(_)));
    assert_eq!(stage.chain("k"), []);
    let claim = stage.died("k", Life::Gone);
    assert!(matches!(stage.look("k"), Decision::Run(_)));
    assert_eq!(stage.chain("k"), std::slice::from_ref(claim.attempt()));
    stage.witness.says(claim.attempt().fence, Life::Alive);
    busy(stage.look("k"));
    assert_eq!(stage.witness.held, [claim.attempt().fence]);
}

fn a_claim_that_fails_half_way_changes_nothing(stage: &mut Stage) {
    let dead = stage.died("k", Life::Gone);
    let request = stage.request("k");
    stage.witness.broken = true;
    let claimant = claimant(&stage.clock);
    let error = stage.store.claim(&request, &claimant, &mut stage.witness).unwrap_err();
    assert_eq!(error.trouble(), Trouble::Other);
    assert_eq!(error.to_string(), "the lock file is out of order");
    assert_eq!(stage.chain("k"), std::slice::from_ref(dead.attempt()));
    stage.witness.broken = false;
    let _ = stage.win(&request);
    assert_eq!(stage.chain("k")[1].state, State::Interrupted);
}

fn equal_keys_of_two_namespaces_are_two_keys(stage: &mut Stage) {
    let first = stage.won("k");
    let other = Request { subject: subject_in("other", "k"), ..stage.request("k") };
    let second = stage.win(&other);
    assert_eq!(second.attempt().generation, 1);
    assert_eq!(stage.chain("k"), std::slice::from_ref(first.attempt()));
}

fn a_namespace_and_a_key_are_never_joined(stage: &mut Stage) {
    for (namespace, key) in [("a", "b/c"), ("a/b", "c"), ("a", "b:c"), ("a:b", "c"), ("ab", "c")] {
        let request = Request { subject: subject_in(namespace, key), ..stage.request("k") };
        assert_eq!(stage.win(&request).attempt().generation, 1, "{namespace} {key}");
    }
}

fn keys_are_data_and_their_bytes_are_compared(stage: &mut Stage) {
    let long = "é".repeat(512);
    let almost = format!("{}x", "é".repeat(511));
    let keys = [
        "a",
        "A",
        "a ",
        " a",
        "a'b",
        "a''b",
        "a\"b",
        "%",
        "100%",
        "_",
        "a_b",
        "a%b",
        "axb",
        "?",
        "a\\b",
        "é",
        "e\u{301}",
        "../x",
        ".",
        "日本語",
        "🦀",
        ":x",
        "$HOME",
        "*",
        &long,
        &almost,
    ];
    for key in keys {
        let row = stage.done(key);
        assert_eq!(row.generation, 1, "{key}");
    }
    let mut listed = stage.keys();
    listed.reverse();
    assert_eq!(listed, keys);
    for key in keys {
        assert_eq!(stage.replay(key).state, State::Done);
        assert_eq!(stage.chain(key).len(), 1, "{key}");
    }
}

fn another_fingerprint_is_a_mismatch_and_never_a_run(stage: &mut Stage) {
    let other = Request { fingerprint: fingerprint(2), ..stage.request("k") };
    let claim = stage.won("k");
    let Decision::Mismatch(of) = stage.refusal(&other) else { panic!("no mismatch") };
    assert_eq!(of, *claim.attempt());
    assert_eq!(of.fingerprint.differing_fields(&other.fingerprint), ["argv"]);
    stage.witness.says(claim.attempt().fence, Life::Gone);
    assert!(matches!(stage.refusal(&other), Decision::Mismatch(_)));
    stage.complete(claim, &recorded());
    assert!(matches!(stage.refusal(&other), Decision::Mismatch(_)));
    assert_eq!(stage.chain("k").len(), 1);
}

fn a_failure_is_followed_by_the_next_attempt_of_the_same_operation(stage: &mut Stage) {
    let first = stage.failed("k");
    let second = stage.won("k");
    assert_eq!((second.attempt().generation, second.attempt().number), (2, 2));
    assert_eq!(second.attempt().operation, first.operation);
    assert_eq!(second.took_over(), None);
    assert_eq!(second.remains(), []);
}

fn another_fingerprint_after_a_failure_begins_a_new_operation(stage: &mut Stage) {
    let first = stage.failed("k");
    let request = Request { fingerprint: fingerprint(2), ..stage.request("k") };
    let second = stage.win(&request);
    assert_eq!((second.attempt().generation, second.attempt().number), (2, 1));
    assert_ne!(second.attempt().operation, first.operation);
}

fn a_failed_key_rests_until_exactly_its_time(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.complete(claim, &rested(Some(LEASE)));
    stage.clock.step_wall(-1_000_000);
    stage.clock.pass_boot(almost(LEASE));
    let request = stage.request("k");
    let found = busy(stage.refusal(&request));
    assert_eq!((found.why, found.retry_after), (BusyWhy::Resting, Some(MS)));
    stage.clock.pass_boot(MS);
    let _ = stage.win(&request);
}

fn a_start_of_the_machine_ends_the_rest_of_a_failed_key(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.complete(claim, &rested(Some(LEASE)));
    stage.clock.restart_machine();
    assert_eq!(stage.won("k").attempt().number, 2);
}

fn a_stop_refuses_a_dead_holder_and_leaves_it_to_a_person(stage: &mut Stage) {
    let dead = stage.died("k", Life::Gone);
    let request =
        stage.request_with("k", OnceTerms { on_crash: OnCrash::Stop, ..OnceTerms::default() });
    let Decision::Unresolved(found) = stage.refusal(&request) else { panic!("not unresolved") };
    assert_eq!(found.why, UnresolvedWhy::Interrupted);
    assert_eq!(stage.chain("k"), std::slice::from_ref(dead.attempt()));
    assert_eq!(dead.attempt().remains, Remains::Possible);
}

fn the_attempts_of_an_operation_can_be_exhausted(stage: &mut Stage) {
    stage.failed("k");
    stage.failed("k");
    let request =
        stage.request_with("k", OnceTerms { max_attempts: Some(2), ..OnceTerms::default() });
    let Decision::Unresolved(found) = stage.refusal(&request) else { panic!("not unresolved") };
    assert_eq!(found.why, UnresolvedWhy::Exhausted);
    let request = Request {
        terms: Terms::Once(OnceTerms { max_attempts: Some(3), ..OnceTerms::default() }),
        ..request
    };
    assert_eq!(stage.win(&request).attempt().number, 3);
}

every_store!(
    the_first_claim_wins_and_the_second_is_busy,
    the_row_of_a_claim_reads_back_as_it_was_won,
    a_lost_reply_is_answered_with_the_same_claim,
    a_lost_reply_does_not_lose_who_may_be_left,
    a_refused_claim_takes_no_lock,
    a_look_says_what_a_claim_would_and_changes_nothing,
    a_claim_that_fails_half_way_changes_nothing,
    equal_keys_of_two_namespaces_are_two_keys,
    a_namespace_and_a_key_are_never_joined,
    keys_are_data_and_their_bytes_are_compared,
    another_fingerprint_is_a_mismatch_and_never_a_run,
    a_failure_is_followed_by_the_next_attempt_of_the_same_operation,
    another_fingerprint_after_a_failure_begins_a_new_operation,
    a_failed_key_rests_until_exactly_its_time,
    a_start_of_the_machine_ends_the_rest_of_a_failed_key,
    a_stop_refuses_a_dead_holder_and_leaves_it_to_a_person,
    the_attempts_of_an_operation_can_be_exhausted,
);
