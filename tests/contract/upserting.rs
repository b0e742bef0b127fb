//! Claims of keys of which nothing is known (`--upsert-missing`), and of no others.

use doubletap::claim::attempt::Promise;
use doubletap::claim::decide::{Decision, Of, OnceTerms, Request};
use doubletap::claim::holder::{Life, Tie};
use doubletap::claim::outcome::Outcome;
use doubletap::store::{Answer, Completion, Dropped, Force, LostWhy, Owned};

use super::completion::{kept, recorded};
use super::stage::{DAY, LEASE, Stage, older_than};

/// A request for `key` if nothing is known of it.
fn missing(stage: &mut Stage, key: &str) -> Request {
    stage.request_with(key, OnceTerms { of: Of::Missing, ..OnceTerms::default() })
}

/// Asks for `key` if nothing is known of it, which must not be so.
#[track_caller]
fn assert_known(stage: &mut Stage, key: &str) {
    let before = stage.chain(key);
    let request = missing(stage, key);
    match stage.refusal(&request) {
        Decision::Known(newest) => assert_eq!(newest, before[0]),
        other => panic!("{key} is not known: {other:?}"),
    }
    assert_eq!(stage.chain(key), before);
}

fn a_key_of_which_nothing_is_known_is_had(stage: &mut Stage) {
    let request = missing(stage, "k");
    let claim = stage.win(&request);
    stage.complete(claim, &recorded());
    assert_eq!(stage.replay("k").outcome(), Some(Outcome::Exited(0)));
}

fn a_key_that_was_pruned_is_had(stage: &mut Stage) {
    stage.done("k");
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1);
    let request = missing(stage, "k");
    let _ = stage.win(&request);
}

fn a_key_that_somebody_holds_is_known_whether_he_lives_or_not(stage: &mut Stage) {
    for life in [Life::Alive, Life::Orphaned, Life::Unknown, Life::Gone] {
        let key = format!("{life:?}");
        let _ = stage.begun(&key, Tie::Time, life);
        stage.clock.pass(LEASE + DAY);
        assert_known(stage, &key);
    }
}

fn a_record_is_known_and_one_that_has_expired_is_too(stage: &mut Stage) {
    stage.done("done");
    stage.failed("failed");
    let claim = stage.won("expired");
    stage.complete(claim, &kept(Some(LEASE), Promise::Explicit));
    stage.clock.pass(LEASE);
    assert!(matches!(stage.look("expired"), Decision::Run(_)), "any other call has it");
    for key in ["done", "failed", "expired"] {
        assert_known(stage, key);
    }
}

fn a_forgotten_key_is_known_so_that_zombies_lose(stage: &mut Stage) {
    stage.done("k");
    assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    assert_known(stage, "k");
}

fn of_two_at_once_one_records_and_the_other_finds_what_it_did(stage: &mut Stage) {
    let (one, other) = (missing(stage, "k"), missing(stage, "k"));
    let claim = stage.win(&one);
    assert!(matches!(stage.refusal(&other), Decision::Known(first) if first.token == one.token));
    stage.complete(claim, &recorded());
    assert!(matches!(stage.refusal(&other), Decision::Known(first) if first.token == one.token));
    assert_eq!(stage.chain("k").len(), 1);
}

fn of_two_with_one_token_both_have_the_claim_and_one_records(stage: &mut Stage) {
    let request = missing(stage, "k");
    let (one, other) = (stage.win(&request), stage.win(&request));
    assert_eq!(one.attempt(), other.attempt());
    stage.complete(one, &recorded());
    let ends = Completion { outcome: Some(Outcome::Exited(7)), ..recorded() };
    let late = stage.store.complete(other, &ends).unwrap();
    assert_eq!(late, Owned::Lost(LostWhy::AlreadyDone));
    assert_eq!(stage.replay("k").outcome(), Some(Outcome::Exited(0)));
    assert!(matches!(stage.claim(&request), Answer::Not(decision)
        if matches!(*decision, Decision::Known(_))));
}

every_store!(
    a_key_of_which_nothing_is_known_is_had,
    a_key_that_was_pruned_is_had,
    a_key_that_somebody_holds_is_known_whether_he_lives_or_not,
    a_record_is_known_and_one_that_has_expired_is_too,
    a_forgotten_key_is_known_so_that_zombies_lose,
    of_two_at_once_one_records_and_the_other_finds_what_it_did,
    of_two_with_one_token_both_have_the_claim_and_one_records,
);
