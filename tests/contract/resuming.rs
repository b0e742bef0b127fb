//! What a token is good for in a later call: `resume` by key and token, `find` by the
//! token alone.

use doubletap::claim::attempt::{Attempt, State};
use doubletap::claim::decide::{LeaseTerms, Request, Terms};
use doubletap::claim::fence::Fence;
use doubletap::claim::held::Claim;
use doubletap::claim::holder::{Life, Tie};
use doubletap::claim::id::Token;
use doubletap::claim::key::{Kind, Subject};
use doubletap::store::{Dropped, Force, LostWhy, Owned, Resumed};

use super::completion::{failed, recorded};
use super::stage::{DAY, LEASE, Stage, older_than, subject, subject_in};

/// A token that nobody drew.
const STRANGE: Token = Token([9; 16]);

fn resume(stage: &mut Stage, key: &str, token: Token) -> Resumed {
    stage.store.resume(&subject(key), token).unwrap()
}

#[track_caller]
fn resumed(stage: &mut Stage, key: &str, token: Token) -> Claim {
    match resume(stage, key, token) {
        Resumed::Claim(claim) => claim,
        other => panic!("it is not to be had: {other:?}"),
    }
}

#[track_caller]
fn lost(stage: &mut Stage, key: &str, token: Token) -> LostWhy {
    match resume(stage, key, token) {
        Resumed::Lost(why) => why,
        other => panic!("it is not lost: {other:?}"),
    }
}

#[track_caller]
fn ended(stage: &mut Stage, key: &str, token: Token) -> Attempt {
    match resume(stage, key, token) {
        Resumed::Ended(attempt) => *attempt,
        other => panic!("it has not ended: {other:?}"),
    }
}

fn whoever_has_the_token_has_the_claim_and_can_spend_it(stage: &mut Stage) {
    let first = stage.begun("k", Tie::Time, Life::Unknown);
    let claim = resumed(stage, "k", first.attempt().token);
    assert_eq!((claim.subject(), claim.attempt()), (&subject("k"), first.attempt()));
    stage.complete(claim, &recorded());
    stage.replay("k");
}

fn reading_it_changes_nothing_and_an_end_is_recorded_once(stage: &mut Stage) {
    let token = stage.begun("k", Tie::Time, Life::Unknown).attempt().token;
    let before = stage.chain("k");
    let (one, other) = (resumed(stage, "k", token), resumed(stage, "k", token));
    assert_eq!(stage.chain("k"), before);
    stage.complete(one, &recorded());
    let late = stage.store.complete(other, &failed()).unwrap();
    assert_eq!(late, Owned::Lost(LostWhy::AlreadyDone));
    assert_eq!(stage.newest("k").state, State::Done);
}

fn a_claim_whose_time_is_over_is_had_until_somebody_takes_it(stage: &mut Stage) {
    let token = stage.begun("k", Tie::Time, Life::Unknown).attempt().token;
    stage.clock.pass(LEASE + DAY);
    let _ = resumed(stage, "k", token);
    let _ = stage.won("k");
    assert_eq!(lost(stage, "k", token), LostWhy::Superseded);
}

fn what_has_ended_is_given_as_it_ended(stage: &mut Stage) {
    for (key, completion) in [("done", recorded()), ("failed", failed())] {
        let claim = stage.begun(key, Tie::Time, Life::Unknown);
        let token = claim.attempt().token;
        stage.complete(claim, &completion);
        let own = ended(stage, key, token);
        assert_eq!(own, stage.newest(key));
    }
    let token = stage.newest("failed").token;
    stage.done("failed");
    assert_eq!(ended(stage, "failed", token).state, State::Failed, "though it was tried again");
}

fn nothing_is_known_of_a_key_that_nobody_claimed_or_that_was_pruned(stage: &mut Stage) {
    assert_eq!(lost(stage, "k", STRANGE), LostWhy::Missing);
    let token = stage.done("k").token;
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1);
    assert_eq!(lost(stage, "k", token), LostWhy::Missing);
}

fn another_token_is_superseded_while_anything_is_known_of_the_key(stage: &mut Stage) {
    stage.done("done");
    let _ = stage.won("running");
    for key in ["done", "running"] {
        assert_eq!(lost(stage, key, STRANGE), LostWhy::Superseded);
    }
}

fn a_forgotten_claim_is_superseded(stage: &mut Stage) {
    let token = stage.begun("k", Tie::Time, Life::Unknown).attempt().token;
    assert!(matches!(stage.forget("k", Force::Yes), Dropped::Yes));
    assert_eq!(lost(stage, "k", token), LostWhy::Superseded);
}

fn a_token_is_good_for_its_own_key_in_its_own_namespace(stage: &mut Stage) {
    let token = stage.begun("k", Tie::Time, Life::Unknown).attempt().token;
    let _ = stage.begun("other", Tie::Time, Life::Unknown);
    assert_eq!(lost(stage, "other", token), LostWhy::Superseded);
    for elsewhere in [subject_in("other", "k"), Subject { kind: Kind::Lease, ..subject("k") }] {
        let found = stage.store.resume(&elsewhere, token).unwrap();
        assert!(matches!(found, Resumed::Lost(LostWhy::Missing)), "{found:?}");
    }
    let _ = resumed(stage, "k", token);
}

/// What is found by a token and, perhaps, a fence.
fn find(stage: &mut Stage, token: Token, fence: Option<Fence>) -> Option<(Subject, Attempt)> {
    stage.store.find(token, fence).unwrap()
}

fn a_token_alone_finds_its_attempt_whatever_that_hangs_on(stage: &mut Stage) {
    for tie in [Tie::Wrapper, Tie::Process, Tie::Time, Tie::Both] {
        let claim = stage.begun(tie.as_str(), tie, Life::Alive);
        let attempt = claim.attempt();
        for fence in [None, Some(attempt.fence)] {
            let found = find(stage, attempt.token, fence);
            assert_eq!(found, Some((subject(tie.as_str()), attempt.clone())), "{tie:?} {fence:?}");
        }
    }
}

fn a_token_finds_a_name_and_a_key_of_another_namespace(stage: &mut Stage) {
    let name = Subject { kind: Kind::Lease, ..subject_in("other", "name") };
    let terms = Terms::Lease(LeaseTerms { slots: 1, min_hold: LEASE });
    let request = Request { subject: name.clone(), terms, ..stage.request("name") };
    let claim = stage.win_tied(&request, Tie::Time);
    let found = find(stage, claim.attempt().token, None);
    assert_eq!(found, Some((name, claim.attempt().clone())));
}

fn a_token_finds_what_has_ended(stage: &mut Stage) {
    let done = stage.done("done");
    let claim = stage.begun("k", Tie::Time, Life::Unknown);
    let (token, fence) = (claim.attempt().token, claim.attempt().fence);
    stage.complete(claim, &failed());
    stage.done("k");
    let it_is = |found: Option<(Subject, Attempt)>| found.map(|(_, attempt)| attempt.state);
    assert_eq!(it_is(find(stage, token, None)), Some(State::Failed));
    assert_eq!(it_is(find(stage, token, Some(fence))), Some(State::Failed));
    assert_eq!(it_is(find(stage, done.token, None)), Some(State::Done));
}

fn a_token_that_nobody_drew_finds_nothing_and_a_fence_proves_nothing(stage: &mut Stage) {
    let claim = stage.begun("k", Tie::Time, Life::Unknown);
    assert_eq!(find(stage, STRANGE, None), None);
    assert_eq!(find(stage, STRANGE, Some(claim.attempt().fence)), None);
}

fn a_token_with_the_fence_of_another_attempt_finds_its_own(stage: &mut Stage) {
    let own = stage.begun("own", Tie::Time, Life::Unknown);
    let other = stage.begun("other", Tie::Time, Life::Unknown);
    let found = find(stage, own.attempt().token, Some(other.attempt().fence));
    assert!(found.is_none_or(|(key, _)| key == subject("own")));
}

every_store!(
    whoever_has_the_token_has_the_claim_and_can_spend_it,
    reading_it_changes_nothing_and_an_end_is_recorded_once,
    a_claim_whose_time_is_over_is_had_until_somebody_takes_it,
    what_has_ended_is_given_as_it_ended,
    nothing_is_known_of_a_key_that_nobody_claimed_or_that_was_pruned,
    another_token_is_superseded_while_anything_is_known_of_the_key,
    a_forgotten_claim_is_superseded,
    a_token_is_good_for_its_own_key_in_its_own_namespace,
    a_token_alone_finds_its_attempt_whatever_that_hangs_on,
    a_token_finds_a_name_and_a_key_of_another_namespace,
    a_token_finds_what_has_ended,
    a_token_that_nobody_drew_finds_nothing_and_a_fence_proves_nothing,
    a_token_with_the_fence_of_another_attempt_finds_its_own,
);
