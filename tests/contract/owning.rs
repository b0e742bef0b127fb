//! What an owner may write, and what becomes of one that lost its claim.

use std::time::Duration;

use doubletap::claim::attempt::{Ownership, Promise, State};
use doubletap::claim::decide::Decision;
use doubletap::claim::held::Claim;
use doubletap::claim::holder::{Group, Life, PidNamespace, Reach, StartTime};
use doubletap::claim::id::Token;
use doubletap::claim::outcome::Outcome;
use doubletap::claim::time::{BootMs, Clock as _, Expiry, Until};
use doubletap::store::{Completion, Dropped, Force, LostWhy, Owned};

use super::completion::{failed, kept, recorded, with_output};
use super::stage::{DAY, LEASE, MS, Stage, almost, older_than, subject, subject_in};

/// How long an owner's write may take.
const LIMIT: Duration = Duration::from_secs(10);

const GROUP: Group = Group {
    reach: Reach::Group,
    id: 4711,
    start: StartTime(u64::MAX - 2),
    session: 4000,
    pid_namespace: PidNamespace(4_026_531_836),
};

/// Every write that the owner of `claim` can try is lost, and changes nothing.
#[track_caller]
fn assert_lost(stage: &mut Stage, claim: Claim, why: LostWhy) {
    let before = stage.chain("k");
    let owner = claim.ownership();
    assert_eq!(stage.store.renew(&owner, LIMIT).unwrap(), Owned::Lost(why));
    let completion = with_output(b"too late", recorded());
    assert_eq!(stage.store.complete(claim, &completion).unwrap(), Owned::Lost(why));
    assert_eq!(stage.chain("k"), before);
    assert_eq!(stage.output(owner.fence), None);
}

fn a_superseded_owner_learns_so_and_changes_nothing(stage: &mut Stage) {
    let zombie = stage.died("k", Life::Gone);
    let claim = stage.won("k");
    assert_lost(stage, zombie, LostWhy::Superseded);
    stage.complete(claim, &recorded());
}

fn an_owner_is_superseded_even_when_its_successor_is_done(stage: &mut Stage) {
    let zombie = stage.died("k", Life::Gone);
    stage.done("k");
    assert_lost(stage, zombie, LostWhy::Superseded);
}

fn a_pruned_owner_finds_its_claim_missing(stage: &mut Stage) {
    let zombie = stage.died("k", Life::Gone);
    stage.done("k");
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).attempts, 2);
    assert_lost(stage, zombie, LostWhy::Missing);
    assert_eq!(stage.chain("k"), []);
}

fn an_owner_in_another_store_finds_its_claim_missing(stage: &mut Stage) {
    let zombie = stage.won("k");
    stage.delete_store();
    assert_lost(stage, zombie, LostWhy::Missing);
}

fn an_outcome_is_recorded_once(stage: &mut Stage) {
    for completion in [recorded(), failed()] {
        let request = stage.request("k");
        let first = stage.win(&request);
        let second = stage.win(&request);
        stage.complete(first, &completion);
        assert_lost(stage, second, LostWhy::AlreadyDone);
        assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    }
}

fn a_forgotten_owner_is_superseded_by_the_tombstone(stage: &mut Stage) {
    let zombie = stage.won("k");
    assert!(matches!(stage.forget("k", Force::Yes), Dropped::Yes));
    assert_lost(stage, zombie, LostWhy::Superseded);
    assert_eq!(stage.newest("k").state, State::Forgotten);
}

fn another_token_owns_nothing(stage: &mut Stage) {
    let claim = stage.won("k");
    let thief = Ownership { token: Token([9; 16]), ..claim.ownership() };
    stage.clock.pass(MS);
    assert_eq!(stage.store.renew(&thief, LIMIT).unwrap(), Owned::Lost(LostWhy::Missing));
    assert_eq!(stage.newest("k"), *claim.attempt());
}

fn a_token_owns_nothing_of_another_key(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.clock.pass(MS);
    let owner = Ownership { subject: subject("other"), ..claim.ownership() };
    assert!(matches!(stage.store.renew(&owner, LIMIT).unwrap(), Owned::Lost(_)));
    assert_eq!(stage.newest("k"), *claim.attempt());
}

fn a_token_owns_nothing_of_another_namespace(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.clock.pass(MS);
    let owner = Ownership { subject: subject_in("other", "k"), ..claim.ownership() };
    assert!(matches!(stage.store.renew(&owner, LIMIT).unwrap(), Owned::Lost(_)));
    assert_eq!(stage.newest("k"), *claim.attempt());
}

fn a_late_completion_that_nobody_superseded_is_recorded(stage: &mut Stage) {
    let claim = stage.died("k", Life::Unknown);
    stage.clock.pass(LEASE + DAY);
    stage.complete(claim, &recorded());
    assert_eq!(stage.replay("k").outcome(), Some(Outcome::Exited(0)));
}

fn a_renewal_extends_the_lease_from_now_by_its_own_length(stage: &mut Stage) {
    let claim = stage.died("k", Life::Unknown);
    let request = stage.request("k");
    stage.clock.pass(almost(LEASE));
    assert_eq!(stage.store.renew(&claim.ownership(), LIMIT).unwrap(), Owned::Yes);
    assert_eq!(stage.newest("k").until, Until::after(&stage.clock.now(), LEASE));
    stage.clock.pass(almost(LEASE));
    assert!(matches!(stage.refusal(&request), Decision::Busy(_)));
    stage.clock.pass(MS);
    assert_eq!(stage.win(&request).attempt().number, 2);
}

fn a_renewal_counts_on_the_boot_clock(stage: &mut Stage) {
    let claim = stage.died("k", Life::Unknown);
    stage.clock.step_wall(-100_000_000);
    stage.clock.pass_boot(MS);
    assert_eq!(stage.store.renew(&claim.ownership(), LIMIT).unwrap(), Owned::Yes);
    let BootMs(at) = stage.newest("k").until.at;
    assert_eq!(at, claim.attempt().until.at.0 + 1);
}

fn a_renewal_after_the_lease_goes_on_if_nobody_took_the_key(stage: &mut Stage) {
    let claim = stage.died("k", Life::Unknown);
    stage.clock.pass(LEASE + DAY);
    assert_eq!(stage.store.renew(&claim.ownership(), LIMIT).unwrap(), Owned::Yes);
    assert!(matches!(stage.look("k"), Decision::Busy(_)));
}

fn a_renewal_never_takes_back_what_a_successor_let_go(stage: &mut Stage) {
    let zombie = stage.died("k", Life::Gone);
    stage.failed("k");
    assert_lost(stage, zombie, LostWhy::Superseded);
    assert!(matches!(stage.look("k"), Decision::Run(_)));
}

fn what_the_command_is_reads_back(stage: &mut Stage) {
    let alone = Group { reach: Reach::Process, ..GROUP };
    let _ = stage.won_with("group", GROUP);
    let _ = stage.won_with("process", alone);
    assert_eq!(stage.newest("group").group, Some(GROUP));
    assert_eq!(stage.newest("process").group, Some(alone));
}

fn what_an_owner_says_of_the_end_reads_back(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.clock.pass(MS);
    let completion = Completion {
        outcome: Some(Outcome::Signaled(9)),
        reason: Some("it's \"late\"; 100 %".to_owned()),
        run: Some(Duration::from_millis(86_400_001)),
        ..kept(Some(DAY), Promise::Explicit)
    };
    stage.complete(claim, &completion);
    let attempt = stage.newest("k");
    assert_eq!(attempt.state, State::Done);
    let end = attempt.end.unwrap();
    let now = stage.clock.now().wall;
    assert_eq!(end.at, now);
    assert_eq!((end.outcome, end.reason), (completion.outcome, completion.reason));
    assert_eq!((end.run, end.output), (completion.run, None));
    assert_eq!((end.expiry, end.promise), (Expiry::At(now.plus(DAY)), Promise::Explicit));
    assert_eq!(stage.newest("k").rests_until, None);
}

fn an_end_of_which_nothing_is_known_reads_back(stage: &mut Stage) {
    let claim = stage.won("k");
    let completion = Completion { outcome: None, run: None, ..failed() };
    stage.complete(claim, &completion);
    let attempt = stage.newest("k");
    let end = attempt.end.unwrap();
    assert_eq!(attempt.state, State::Failed);
    assert_eq!((end.outcome, end.reason, end.run, end.output), (None, None, None, None));
}

every_store!(
    a_superseded_owner_learns_so_and_changes_nothing,
    an_owner_is_superseded_even_when_its_successor_is_done,
    a_pruned_owner_finds_its_claim_missing,
    an_owner_in_another_store_finds_its_claim_missing,
    an_outcome_is_recorded_once,
    a_forgotten_owner_is_superseded_by_the_tombstone,
    another_token_owns_nothing,
    a_token_owns_nothing_of_another_key,
    a_token_owns_nothing_of_another_namespace,
    a_late_completion_that_nobody_superseded_is_recorded,
    a_renewal_extends_the_lease_from_now_by_its_own_length,
    a_renewal_counts_on_the_boot_clock,
    a_renewal_after_the_lease_goes_on_if_nobody_took_the_key,
    a_renewal_never_takes_back_what_a_successor_let_go,
    what_the_command_is_reads_back,
    what_an_owner_says_of_the_end_reads_back,
    an_end_of_which_nothing_is_known_reads_back,
);
