//! Claims that hang on a process, on time, or on both, because no wrapper keeps them.

use std::time::Duration;

use doubletap::claim::attempt::{Attempt, Remains, State};
use doubletap::claim::decide::{Busy, BusyWhy, Decision, LeaseTerms, Request, Terms};
use doubletap::claim::held::Claim;
use doubletap::claim::holder::{Life, Tie};
use doubletap::claim::key::{Kind, Subject};
use doubletap::claim::outcome::Outcome;
use doubletap::claim::time::{Clock as _, Until};
use doubletap::store::{Completion, LostWhy, Owned, Verdict};

use super::completion::recorded;
use super::stage::{DAY, LEASE, MS, Stage, almost, subject};

/// How long an owner's write may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Another length of a lease.
const HOUR: Duration = Duration::from_secs(3600);

const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);

#[track_caller]
fn assert_busy(stage: &mut Stage, key: &str) -> Busy {
    let request = stage.request(key);
    match stage.refusal(&request) {
        Decision::Busy(busy) => busy,
        other => panic!("{key} is not busy: {other:?}"),
    }
}

/// Begins `key` without a time limit, as `--pid` alone does.
fn begun_for_a_process(stage: &mut Stage, key: &str, life: Life) -> Claim {
    let request = Request { lease: Duration::ZERO, ..stage.request(key) };
    let claim = stage.win_tied(&request, Tie::Process);
    stage.witness.says(claim.attempt().fence, life);
    claim
}

fn renewed_for(stage: &mut Stage, claim: &Claim, lease: Duration) -> Owned {
    stage.store.renew_for(&claim.ownership(), lease, LIMIT).unwrap()
}

fn what_a_claim_hangs_on_reads_back(stage: &mut Stage) {
    for tie in [Tie::Wrapper, Tie::Process, Tie::Time, Tie::Both] {
        let claim = stage.begun(tie.as_str(), tie, Life::Alive);
        assert_eq!(claim.attempt().tie, tie);
        assert_eq!(stage.newest(tie.as_str()), *claim.attempt());
    }
}

fn only_a_wrapper_takes_the_lock_that_shows_that_it_lives(stage: &mut Stage) {
    for tie in [Tie::Process, Tie::Time, Tie::Both] {
        let claim = stage.begun(tie.as_str(), tie, Life::Alive);
        assert_eq!(claim.attempt().lock_inode, None);
    }
    assert_eq!(stage.witness.held, []);
    let claim = stage.won("wrapped");
    assert_eq!(stage.witness.held, [claim.attempt().fence]);
}

fn a_claim_for_a_time_is_free_at_exactly_its_end(stage: &mut Stage) {
    let first = stage.begun("k", Tie::Time, Life::Unknown);
    stage.clock.pass(almost(LEASE));
    let busy = assert_busy(stage, "k");
    assert_eq!((busy.why, busy.retry_after), (BusyWhy::Held(Life::Unknown), Some(MS)));
    stage.clock.pass(MS);
    let next = stage.won("k");
    assert_eq!((next.attempt().number, next.attempt().operation), (2, first.attempt().operation));
    assert_eq!(next.took_over().map(|before| before.fence), Some(first.attempt().fence));
    assert_eq!(stage.chain("k")[1].state, State::Interrupted);
}

fn a_claim_for_a_time_counts_on_the_boot_clock(stage: &mut Stage) {
    let _ = stage.begun("k", Tie::Time, Life::Unknown);
    stage.clock.step_wall(100_000_000);
    assert_busy(stage, "k");
    stage.clock.step_wall(-200_000_000);
    stage.clock.pass_boot(LEASE);
    let _ = stage.won("k");
}

fn a_late_end_that_was_superseded_leaves_the_new_owners_record_alone(stage: &mut Stage) {
    let late = stage.begun("k", Tie::Time, Life::Unknown);
    stage.clock.pass(LEASE);
    let claim = stage.won("k");
    let ends = Completion { outcome: Some(Outcome::Exited(7)), ..recorded() };
    let lost = stage.store.complete(late, &recorded()).unwrap();
    assert_eq!(lost, Owned::Lost(LostWhy::Superseded));
    assert_eq!(stage.newest("k"), *claim.attempt());
    stage.complete(claim, &ends);
    assert_eq!(stage.replay("k").outcome(), Some(Outcome::Exited(7)));
}

fn a_late_end_that_nobody_superseded_is_recorded(stage: &mut Stage) {
    for tie in [Tie::Time, Tie::Process, Tie::Both] {
        let late = stage.begun(tie.as_str(), tie, Life::Gone);
        stage.clock.pass(LEASE + DAY);
        stage.complete(late, &recorded());
        assert_eq!(stage.replay(tie.as_str()).generation, 1);
    }
}

fn a_claim_for_a_process_alone_lasts_as_long_as_the_process(stage: &mut Stage) {
    let claim = begun_for_a_process(stage, "k", Life::Alive);
    stage.clock.pass(YEAR);
    assert_eq!(assert_busy(stage, "k").retry_after, None, "nobody knows when it ends");
    stage.witness.says(claim.attempt().fence, Life::Gone);
    assert_eq!(stage.won("k").attempt().number, 2);
}

fn a_claim_for_a_process_of_which_nothing_is_known_counts_for_ever(stage: &mut Stage) {
    let _ = begun_for_a_process(stage, "k", Life::Unknown);
    stage.clock.pass(YEAR);
    assert_eq!(assert_busy(stage, "k").why, BusyWhy::Held(Life::Unknown));
}

fn with_a_time_limit_the_lease_decides_about_a_process_that_cannot_be_seen(stage: &mut Stage) {
    let _ = stage.begun("k", Tie::Both, Life::Unknown);
    stage.clock.pass(almost(LEASE));
    assert_busy(stage, "k");
    stage.clock.pass(MS);
    let _ = stage.won("k");
}

fn with_a_time_limit_a_process_that_is_seen_decides_all_the_same(stage: &mut Stage) {
    let _ = stage.begun("alive", Tie::Both, Life::Alive);
    let _ = stage.begun("gone", Tie::Both, Life::Gone);
    let _ = stage.won("gone");
    stage.clock.pass(LEASE + DAY);
    assert_busy(stage, "alive");
}

fn nobody_who_begins_leaves_processes_that_the_kernel_says_are_gone(stage: &mut Stage) {
    let _ = stage.begun("gone", Tie::Process, Life::Gone);
    assert_eq!(stage.won("gone").remains(), []);
    assert_eq!(stage.chain("gone")[1].remains, Remains::None);
}

fn a_renewal_goes_on_for_the_length_that_it_is_given(stage: &mut Stage) {
    let claim = stage.begun("k", Tie::Time, Life::Unknown);
    stage.clock.pass(almost(LEASE));
    assert_eq!(renewed_for(stage, &claim, HOUR), Owned::Yes);
    let renewed = stage.newest("k");
    let until = Until::after(&stage.clock.now(), HOUR);
    assert_eq!((renewed.lease, renewed.tie, &renewed.until), (HOUR, Tie::Time, &until));
    assert_eq!(Attempt { lease: LEASE, until: claim.attempt().until.clone(), ..renewed }, {
        claim.attempt().clone()
    });
    stage.clock.pass(almost(HOUR));
    assert_busy(stage, "k");
    assert_eq!(stage.store.renew(&claim.ownership(), LIMIT).unwrap(), Owned::Yes);
    stage.clock.pass(almost(HOUR));
    assert_busy(stage, "k");
    stage.clock.pass(MS);
    let _ = stage.won("k");
}

fn a_renewal_that_names_a_length_limits_what_hung_on_a_process_alone(stage: &mut Stage) {
    let claim = begun_for_a_process(stage, "k", Life::Unknown);
    assert_eq!(stage.store.renew(&claim.ownership(), LIMIT).unwrap(), Owned::Yes);
    assert_eq!(stage.newest("k").tie, Tie::Process, "without a length it stays what it was");
    assert_eq!(renewed_for(stage, &claim, HOUR), Owned::Yes);
    assert_eq!(stage.newest("k").tie, Tie::Both);
    stage.clock.pass(almost(HOUR));
    assert_busy(stage, "k");
    stage.clock.pass(MS);
    let _ = stage.won("k");
}

fn a_renewal_that_names_a_length_never_resurrects_and_never_takes_back(stage: &mut Stage) {
    let done = stage.begun("done", Tie::Time, Life::Unknown);
    let request = stage.request("done");
    let owner = done.ownership();
    stage.complete(done, &recorded());
    let lost = stage.store.renew_for(&owner, HOUR, LIMIT).unwrap();
    assert_eq!(lost, Owned::Lost(LostWhy::AlreadyDone));
    assert!(matches!(stage.refusal(&request), Decision::Replay(_)));

    let late = stage.begun("taken", Tie::Time, Life::Unknown);
    stage.clock.pass(LEASE);
    let claim = stage.won("taken");
    assert_eq!(renewed_for(stage, &late, HOUR), Owned::Lost(LostWhy::Superseded));
    assert_eq!(stage.newest("taken"), *claim.attempt());
}

fn a_claim_that_is_over_is_renewed_if_nobody_took_it(stage: &mut Stage) {
    let claim = stage.begun("k", Tie::Time, Life::Unknown);
    stage.clock.pass(LEASE + DAY);
    assert_eq!(renewed_for(stage, &claim, HOUR), Owned::Yes);
    assert_busy(stage, "k");
}

fn the_time_of_a_name_ends_the_right_of_a_process_that_lives(stage: &mut Stage) {
    let name = Subject { kind: Kind::Lease, ..subject("name") };
    let asked = |stage: &mut Stage| {
        let terms = Terms::Lease(LeaseTerms { slots: 1, min_hold: Duration::ZERO });
        Request { subject: name.clone(), terms, ..stage.request("name") }
    };
    let (request, other) = (asked(stage), asked(stage));
    let claim = stage.win_tied(&request, Tie::Both);
    stage.clock.pass(almost(LEASE));
    assert!(matches!(stage.refusal(&other), Decision::Busy(_)));
    stage.clock.pass(MS);
    let next = stage.win_tied(&other, Tie::Both);
    let released = Completion { verdict: Verdict::Released, ..recorded() };
    let late = stage.store.complete(claim, &released).unwrap();
    assert!(matches!(late, Owned::Lost(_)), "nothing of it need be left: {late:?}");
    assert_eq!(stage.store.chain(&name).unwrap()[0], *next.attempt());
    stage.witness.says(next.attempt().fence, Life::Gone);
    let third = asked(stage);
    let _ = stage.win_tied(&third, Tie::Both);
}

fn a_record_for_ever_is_there_after_a_year_and_one_for_a_while_is_not(stage: &mut Stage) {
    use doubletap::claim::attempt::Promise;
    let claim = stage.begun("ever", Tie::Time, Life::Unknown);
    stage.complete(claim, &super::completion::kept(None, Promise::Explicit));
    let claim = stage.begun("while", Tie::Time, Life::Unknown);
    stage.complete(claim, &super::completion::kept(Some(HOUR), Promise::Explicit));
    stage.clock.pass(almost(HOUR));
    stage.replay("while");
    stage.clock.pass(MS);
    assert!(matches!(stage.look("while"), Decision::Run(_)));
    stage.clock.pass(YEAR);
    stage.replay("ever");
}

every_store!(
    what_a_claim_hangs_on_reads_back,
    only_a_wrapper_takes_the_lock_that_shows_that_it_lives,
    a_claim_for_a_time_is_free_at_exactly_its_end,
    a_claim_for_a_time_counts_on_the_boot_clock,
    a_late_end_that_was_superseded_leaves_the_new_owners_record_alone,
    a_late_end_that_nobody_superseded_is_recorded,
    a_claim_for_a_process_alone_lasts_as_long_as_the_process,
    a_claim_for_a_process_of_which_nothing_is_known_counts_for_ever,
    with_a_time_limit_the_lease_decides_about_a_process_that_cannot_be_seen,
    with_a_time_limit_a_process_that_is_seen_decides_all_the_same,
    nobody_who_begins_leaves_processes_that_the_kernel_says_are_gone,
    a_renewal_goes_on_for_the_length_that_it_is_given,
    a_renewal_that_names_a_length_limits_what_hung_on_a_process_alone,
    a_renewal_that_names_a_length_never_resurrects_and_never_takes_back,
    a_claim_that_is_over_is_renewed_if_nobody_took_it,
    the_time_of_a_name_ends_the_right_of_a_process_that_lives,
    a_record_for_ever_is_there_after_a_year_and_one_for_a_while_is_not,
);
