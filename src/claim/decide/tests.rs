//! One sentence per row of the table, and per order of two rows.

use super::super::attempt::{Attempt, Origin, State};
use super::super::fence::Fence;
use super::super::outcome::Outcome;
use super::super::period::{Calendar, Per};
use super::super::samples::{attempt, fingerprint, now, request};
use super::super::time::{Expiry, Until, WallMs};
use super::*;
use jiff::tz::{Offset, TimeZone};

fn seen(attempt: Attempt, life: Life) -> Seen {
    Seen { attempt, life }
}

fn ended(state: State) -> Seen {
    seen(attempt(1, state), Life::Gone)
}

/// The same, of whose end it is known how.
fn exited(mut attempt: Attempt) -> Attempt {
    if let Some(end) = &mut attempt.end {
        end.outcome = Some(Outcome::Exited(3));
    }
    attempt
}

fn running(life: Life) -> Seen {
    seen(attempt(1, State::Running), life)
}

fn run(decision: Decision) -> Box<Plan> {
    match decision {
        Decision::Run(plan) => plan,
        other => panic!("not a run: {other:?}"),
    }
}

#[test]
fn nothing_known_is_run_as_a_new_operation() {
    let plan = run(decide(&[], &request(9), &now(0)));
    assert_eq!((plan.generation, plan.number), (1, 1));
    assert_eq!(plan.operation, request(9).new_operation);
}

#[test]
fn the_own_token_is_answered_with_the_claim_it_has() {
    let decision = decide(&[running(Life::Alive)], &request(1), &now(0));
    assert!(matches!(decision, Decision::Claimed(_)));
}

#[test]
fn a_living_holder_is_never_superseded_whatever_its_lease_says() {
    for life in [Life::Alive, Life::Orphaned] {
        let decision = decide(&[running(life)], &request(9), &now(1_000_000));
        assert!(matches!(decision, Decision::Busy(_)), "{life:?}");
    }
}

#[test]
fn a_dead_holder_is_superseded_at_once_whatever_its_lease_says() {
    let plan = run(decide(&[running(Life::Gone)], &request(9), &now(1)));
    assert_eq!((plan.generation, plan.number), (2, 2));
    assert_eq!(plan.operation, attempt(1, State::Running).operation);
    assert!(!plan.supersedes.is_empty() && plan.takes_over.is_some());
}

#[test]
fn where_nothing_is_known_the_lease_decides_and_ends_exactly_at_its_end() {
    let chain = [running(Life::Unknown)];
    assert!(matches!(decide(&chain, &request(9), &now(59_999)), Decision::Busy(_)));
    assert!(matches!(decide(&chain, &request(9), &now(60_000)), Decision::Run(_)));
}

#[test]
fn a_mismatch_comes_before_busy_before_replay_and_before_a_take_over() {
    let mut other = request(9);
    other.fingerprint = fingerprint("b");
    for chain in [running(Life::Alive), running(Life::Gone), ended(State::Done)] {
        assert!(matches!(decide(&[chain], &other, &now(0)), Decision::Mismatch(_)));
    }
}

#[test]
fn a_record_is_replayed_until_exactly_its_end() {
    let mut done = attempt(1, State::Done);
    done.end.as_mut().unwrap().expiry = Expiry::At(WallMs(1_000_010));
    let chain = [seen(done, Life::Gone)];
    assert!(matches!(decide(&chain, &request(9), &now(9)), Decision::Replay(_)));
    let plan = run(decide(&chain, &request(9), &now(10)));
    assert_eq!(plan.operation, request(9).new_operation);
}

#[test]
fn an_expired_record_does_not_mind_another_fingerprint() {
    let mut done = attempt(1, State::Done);
    done.end.as_mut().unwrap().expiry = Expiry::At(WallMs(0));
    let mut other = request(9);
    other.fingerprint = fingerprint("b");
    run(decide(&[seen(done, Life::Gone)], &other, &now(0)));
}

#[test]
fn a_forgotten_key_starts_a_new_operation_in_the_next_generation() {
    let plan = run(decide(&[ended(State::Forgotten)], &request(9), &now(0)));
    assert_eq!((plan.generation, plan.number), (2, 1));
    assert_eq!(plan.operation, request(9).new_operation);
}

#[test]
fn a_failure_is_retried_within_its_operation() {
    let plan = run(decide(&[ended(State::Failed)], &request(9), &now(0)));
    assert_eq!(plan.operation, attempt(1, State::Failed).operation);
    assert_eq!(plan.number, 2);
    assert!(plan.takes_over.is_none());
}

#[test]
fn a_failure_with_another_fingerprint_begins_a_new_operation() {
    let mut other = request(9);
    other.fingerprint = fingerprint("b");
    other.terms = Terms::Once(OnceTerms { max_attempts: Some(1), ..OnceTerms::default() });
    let plan = run(decide(&[ended(State::Failed)], &other, &now(0)));
    assert_eq!(plan.operation, other.new_operation);
}

#[test]
fn a_failure_rests_until_exactly_the_end_of_its_pause() {
    let mut failed = attempt(1, State::Failed);
    failed.rests_until = Some(Until::after(&now(0), Duration::from_millis(10)));
    let chain = [seen(failed, Life::Gone)];
    let Decision::Busy(busy) = decide(&chain, &request(9), &now(9)) else { panic!("not busy") };
    assert_eq!(busy.why, BusyWhy::Resting);
    assert_eq!(busy.retry_after, Some(Duration::from_millis(1)));
    run(decide(&chain, &request(9), &now(10)));
}

#[test]
fn who_has_waited_for_a_failure_or_an_earlier_attempt_is_given_it_instead_of_a_run() {
    let mut waiter = request(9);
    let mut ask = |failed: &Attempt, awaited, rerun| {
        waiter.terms = Terms::Once(OnceTerms { rerun, awaited, ..OnceTerms::default() });
        decide(&[seen(failed.clone(), Life::Gone)], &waiter, &now(0))
    };
    let failed = exited(attempt(2, State::Failed));
    for awaited in [failed.fence, Fence(failed.fence.0 - 1)] {
        assert!(matches!(ask(&failed, Some(awaited), Rerun::No), Decision::Replay(_)));
    }
    run(ask(&failed, None, Rerun::No));
    run(ask(&failed, Some(Fence(failed.fence.0 + 1)), Rerun::No));
    run(ask(&failed, Some(failed.fence), Rerun::Yes));
    // One of which nobody knows how it ended has nothing to share.
    let unknown = attempt(2, State::Failed);
    run(ask(&unknown, Some(unknown.fence), Rerun::No));
}

#[test]
fn who_has_waited_for_a_rerun_that_failed_is_given_it_whatever_the_record_below() {
    let failed = exited(rerun(State::Failed, Life::Gone).attempt);
    let mut waiter = request(9);
    let awaited = Some(failed.fence);
    waiter.terms = Terms::Once(OnceTerms { awaited, ..OnceTerms::default() });
    for expiry in [Expiry::Never, Expiry::At(now(0).wall)] {
        let mut record = attempt(1, State::Done);
        record.end.as_mut().unwrap().expiry = expiry;
        let chain = [seen(failed.clone(), Life::Gone), seen(record, Life::Gone)];
        let decision = decide(&chain, &waiter, &now(0));
        let Decision::Replay(given) = decision else { panic!("not a replay: {decision:?}") };
        assert_eq!(given.generation, failed.generation);
    }
}

#[test]
fn who_has_waited_for_what_has_expired_meanwhile_is_given_it_and_others_run() {
    let mut done = exited(attempt(1, State::Done));
    done.end.as_mut().unwrap().expiry = Expiry::At(now(0).wall);
    let awaited = Some(done.fence);
    let chain = [seen(done, Life::Gone)];
    let mut waiter = request(9);
    run(decide(&chain, &waiter, &now(0)));
    // Also where the next period has begun since.
    waiter.terms = Terms::Once(OnceTerms { awaited, ..hourly(&now(1000)) });
    assert!(matches!(decide(&chain, &waiter, &now(1000)), Decision::Replay(_)));
}

#[test]
fn a_failure_with_another_fingerprint_is_not_shared() {
    let mut other = request(9);
    let failed = seen(exited(attempt(1, State::Failed)), Life::Gone);
    other.fingerprint = fingerprint("b");
    let awaited = Some(failed.attempt.fence);
    other.terms = Terms::Once(OnceTerms { awaited, ..OnceTerms::default() });
    run(decide(&[failed], &other, &now(0)));
}

#[test]
fn exhausted_attempts_are_told_before_a_pause() {
    let mut failed = attempt(1, State::Failed);
    failed.rests_until = Some(Until::after(&now(0), Duration::from_secs(10)));
    let mut limited = request(9);
    limited.terms = Terms::Once(OnceTerms { max_attempts: Some(1), ..OnceTerms::default() });
    let decision = decide(&[seen(failed, Life::Gone)], &limited, &now(0));
    assert!(matches!(
        decision,
        Decision::Unresolved(Unresolved { why: UnresolvedWhy::Exhausted, .. })
    ));
}

#[test]
fn a_crash_is_left_to_a_person_where_the_caller_wants_to_stop() {
    let mut careful = request(9);
    careful.terms = Terms::Once(OnceTerms { on_crash: OnCrash::Stop, ..OnceTerms::default() });
    for chain in [running(Life::Gone), ended(State::Interrupted)] {
        assert!(matches!(
            decide(&[chain], &careful, &now(0)),
            Decision::Unresolved(Unresolved { why: UnresolvedWhy::Interrupted, .. })
        ));
    }
}

#[test]
fn crashes_count_as_attempts() {
    let mut limited = request(9);
    limited.terms = Terms::Once(OnceTerms { max_attempts: Some(1), ..OnceTerms::default() });
    assert!(matches!(
        decide(&[running(Life::Gone)], &limited, &now(0)),
        Decision::Unresolved(Unresolved { why: UnresolvedWhy::Exhausted, .. })
    ));
}

fn rerun(state: State, life: Life) -> Seen {
    let mut attempt = attempt(2, state);
    attempt.origin = Origin::Rerun;
    seen(attempt, life)
}

#[test]
fn a_rerun_sets_a_record_aside_as_a_new_operation() {
    let mut again = request(9);
    again.terms = Terms::Once(OnceTerms { rerun: Rerun::Yes, ..OnceTerms::default() });
    let plan = run(decide(&[ended(State::Done)], &again, &now(0)));
    assert_eq!((plan.origin, plan.number), (Origin::Rerun, 1));
    assert_eq!(plan.operation, again.new_operation);
}

#[test]
fn a_rerun_that_came_to_nothing_leaves_the_record() {
    for over in [
        rerun(State::Failed, Life::Gone),
        rerun(State::Interrupted, Life::Gone),
        rerun(State::Running, Life::Gone),
    ] {
        let decision = decide(&[over, ended(State::Done)], &request(9), &now(0));
        let Decision::Replay(record) = decision else { panic!("not a replay: {decision:?}") };
        assert_eq!(record.generation, 1);
    }
}

#[test]
fn a_living_rerun_is_busy() {
    let chain = [rerun(State::Running, Life::Alive), ended(State::Done)];
    assert!(matches!(decide(&chain, &request(9), &now(0)), Decision::Busy(_)));
}

#[test]
fn a_new_rerun_marks_the_dead_one_before_it_as_interrupted() {
    let mut again = request(9);
    again.terms = Terms::Once(OnceTerms { rerun: Rerun::Yes, ..OnceTerms::default() });
    let chain = [rerun(State::Running, Life::Gone), ended(State::Done)];
    let plan = run(decide(&chain, &again, &now(0)));
    assert_eq!(plan.generation, 3);
    assert_eq!(plan.supersedes.iter().map(|seen| seen.attempt.generation).collect::<Vec<_>>(), [2]);
    assert!(plan.takes_over.is_none());
}

#[test]
fn a_rerun_without_a_record_is_an_ordinary_run() {
    let mut again = request(9);
    again.terms = Terms::Once(OnceTerms { rerun: Rerun::Yes, ..OnceTerms::default() });
    let plan = run(decide(&[ended(State::Failed)], &again, &now(0)));
    assert_eq!(plan.origin, Origin::Ordinary);
}

/// Once per hour, where one begins at that time.
fn hourly(from: &Now) -> OnceTerms {
    let seconds = i32::try_from(from.wall.0 / 1000).unwrap();
    let zone = TimeZone::fixed(Offset::from_seconds(-seconds).unwrap());
    OnceTerms { calendar: Some(Calendar { per: Per::Hour, zone }), ..OnceTerms::default() }
}

#[test]
fn what_an_earlier_period_left_behind_counts_as_absent() {
    let mut today = request(9);
    today.terms = Terms::Once(hourly(&now(1000)));
    today.fingerprint = fingerprint("b");
    for chain in
        [ended(State::Done), ended(State::Failed), ended(State::Interrupted), running(Life::Gone)]
    {
        let plan = run(decide(&[chain], &today, &now(1000)));
        assert_eq!((plan.generation, plan.number), (2, 1));
        assert_eq!(plan.operation, today.new_operation);
        assert!(plan.takes_over.is_none());
    }
}

#[test]
fn the_period_is_the_one_in_which_it_is_decided() {
    let mut today = request(9);
    today.terms = Terms::Once(hourly(&now(1000)));
    let chain = [ended(State::Failed)];
    assert_eq!(run(decide(&chain, &today, &now(999))).number, 2);
    assert_eq!(run(decide(&chain, &today, &now(1000))).number, 1);
}

#[test]
fn a_run_that_crosses_into_the_next_period_keeps_its_key() {
    let mut today = request(9);
    today.terms = Terms::Once(hourly(&now(1000)));
    assert!(matches!(decide(&[running(Life::Alive)], &today, &now(1000)), Decision::Busy(_)));
}

#[test]
fn what_the_same_period_has_on_record_is_replayed() {
    let mut today = request(9);
    today.terms = Terms::Once(hourly(&now(0)));
    assert!(matches!(decide(&[ended(State::Done)], &today, &now(5)), Decision::Replay(_)));
}

#[test]
fn the_end_of_a_run_is_given_to_who_waits_for_it_in_its_own_period() {
    let chain = [running(Life::Alive)];
    for (from, gives) in [(now(0), true), (now(1000), false)] {
        let mut waiter = request(9);
        waiter.terms = Terms::Once(hourly(&from));
        let Decision::Busy(busy) = decide(&chain, &waiter, &now(1000)) else { panic!("not busy") };
        let attempt = &chain[0].attempt;
        assert_eq!(busy.gives, gives.then_some((attempt.fence, attempt.token)));
    }
}
