//! Leases: how many may hold a name, for how long, and what is left of them.

use std::time::Duration;

use doubletap::claim::attempt::{Attempt, State};
use doubletap::claim::decide::{Busy, BusyWhy, Decision, LeaseTerms, Request, Terms};
use doubletap::claim::held::Claim;
use doubletap::claim::holder::Life;
use doubletap::claim::key::{Kind, Subject};
use doubletap::claim::time::Clock as _;
use doubletap::store::{Answer, Completion, Dropped, Force, LostWhy, Owned, Verdict};

use super::completion::recorded;
use super::stage::{DAY, LEASE, MS, Stage, almost, older_than, subject};

const HOLD: Duration = Duration::from_secs(300);

/// What is left of that when the lease is over.
const REST: Duration = Duration::from_secs(240);

fn name() -> Subject {
    Subject { kind: Kind::Lease, ..subject("name") }
}

fn asked(stage: &mut Stage, slots: u32, min_hold: Duration) -> Request {
    let terms = Terms::Lease(LeaseTerms { slots, min_hold });
    Request { subject: name(), terms, ..stage.request("name") }
}

/// Asks for one of so many slots.
fn acquire(stage: &mut Stage, slots: u32) -> Answer {
    let request = asked(stage, slots, Duration::ZERO);
    stage.claim(&request)
}

#[track_caller]
fn acquired(stage: &mut Stage, slots: u32) -> Claim {
    let request = asked(stage, slots, Duration::ZERO);
    stage.win(&request)
}

#[track_caller]
fn busy(answer: Answer) -> Busy {
    match answer {
        Answer::Not(decision) => match *decision {
            Decision::Busy(busy) => busy,
            other => panic!("it is not busy: {other:?}"),
        },
        Answer::Won(claim) => panic!("it was won: {claim:?}"),
    }
}

fn released() -> Completion {
    Completion { verdict: Verdict::Released, ..recorded() }
}

fn rows(stage: &mut Stage) -> Vec<Attempt> {
    stage.store.chain(&name()).unwrap()
}

fn a_name_is_held_until_it_is_released(stage: &mut Stage) {
    let claim = acquired(stage, 1);
    let refused = busy(acquire(stage, 1));
    assert_eq!(refused.why, BusyWhy::Held(Life::Alive));
    assert_eq!(refused.holders[0].attempt.fence, claim.attempt().fence);
    assert_eq!(refused.retry_after, Some(LEASE));
    stage.complete(claim, &released());
    assert_eq!(rows(stage)[0].state, State::Released);
    let _ = acquired(stage, 1);
}

fn a_name_and_a_key_never_meet(stage: &mut Stage) {
    let _ = stage.won("name");
    let _ = acquired(stage, 1);
    assert_eq!((stage.chain("name").len(), rows(stage).len()), (1, 1));
    assert_eq!(stage.store.chains(None).unwrap().len(), 2);
}

fn the_time_limit_ends_the_right_of_a_living_holder(stage: &mut Stage) {
    let stalled = acquired(stage, 1);
    stage.clock.pass(almost(LEASE));
    busy(acquire(stage, 1));
    stage.clock.pass(MS);
    let next = acquired(stage, 1);
    assert_eq!(next.remains().len(), 1, "what it left behind is to be cleared first");
    let owner = stalled.ownership();
    assert_eq!(stage.store.renew(&owner, LEASE).unwrap(), Owned::Lost(LostWhy::Superseded));
    let late = stage.store.complete(stalled, &released()).unwrap();
    assert_eq!(late, Owned::Lost(LostWhy::Superseded));
    assert_eq!(rows(stage)[0].state, State::Running, "its successor is untouched");
}

fn a_renewed_lease_goes_on_and_one_that_nobody_took_may_still_be_renewed(stage: &mut Stage) {
    let claim = acquired(stage, 1);
    stage.clock.pass(almost(LEASE));
    assert_eq!(stage.store.renew(&claim.ownership(), LEASE).unwrap(), Owned::Yes);
    stage.clock.pass(almost(LEASE));
    busy(acquire(stage, 1));
    stage.clock.pass(DAY);
    assert_eq!(stage.store.renew(&claim.ownership(), LEASE).unwrap(), Owned::Yes);
    busy(acquire(stage, 1));
}

fn a_dead_holder_is_superseded_at_once_and_an_orphaned_one_at_its_end(stage: &mut Stage) {
    let dead = acquired(stage, 1);
    stage.witness.says(dead.attempt().fence, Life::Gone);
    let orphaned = acquired(stage, 1);
    assert!(orphaned.remains().is_empty(), "the kernel said that nobody is left");
    stage.witness.says(orphaned.attempt().fence, Life::Orphaned);
    let refused = busy(acquire(stage, 1));
    assert_eq!((refused.why, refused.holders.len()), (BusyWhy::Held(Life::Orphaned), 1));
    stage.clock.pass(LEASE);
    let next = acquired(stage, 1);
    assert_eq!(next.remains()[0].fence, orphaned.attempt().fence);
}

fn as_many_as_there_are_slots_hold_it_at_once(stage: &mut Stage) {
    let first = acquired(stage, 3);
    let _second = acquired(stage, 3);
    let third = acquired(stage, 3);
    assert_eq!(busy(acquire(stage, 3)).holders.len(), 3);
    busy(acquire(stage, 1));
    stage.complete(first, &released());
    stage.witness.says(third.attempt().fence, Life::Gone);
    let _ = acquired(stage, 3);
    let _ = acquired(stage, 3);
    busy(acquire(stage, 3));
}

fn nobody_who_holds_it_is_trimmed_however_often_others_come_and_go(stage: &mut Stage) {
    let holder = acquired(stage, 2);
    for _ in 0..20 {
        let claim = acquired(stage, 2);
        stage.complete(claim, &released());
    }
    assert_eq!(stage.store.renew(&holder.ownership(), LEASE).unwrap(), Owned::Yes);
    assert!(rows(stage).len() <= 3, "what is over does not pile up");
}

fn what_nobody_has_looked_for_is_not_trimmed(stage: &mut Stage) {
    let stalled = acquired(stage, 1);
    stage.clock.pass(LEASE);
    for _ in 0..3 {
        let claim = acquired(stage, 1);
        assert_eq!(claim.remains()[0].fence, stalled.attempt().fence);
        stage.complete(claim, &released());
    }
    stage.store.mark_empty(stalled.attempt().fence).unwrap();
    assert!(acquired(stage, 1).remains().is_empty());
    assert!(rows(stage).iter().all(|row| row.fence != stalled.attempt().fence));
}

fn what_only_others_could_look_for_does_not_pile_up_and_what_is_here_stays(stage: &mut Stage) {
    let stall = |stage: &mut Stage, times: usize| {
        for _ in 0..times {
            let _ = acquired(stage, 1);
            stage.clock.pass(LEASE);
        }
    };
    for _ in 0..40 {
        stall(stage, 1);
        stage.clock.restart_machine();
    }
    stall(stage, 30);
    let boots = rows(stage).into_iter().map(|row| row.holder.boot_id);
    let here = stage.clock.now().boot_id;
    let (ours, others): (Vec<_>, Vec<_>) = boots.partition(|boot_id| *boot_id == here);
    assert_eq!((ours.len(), others.len()), (30, 16));
    let newest: Vec<_> = others.windows(2).map(|two| two[0].0.len() - two[1].0.len()).collect();
    assert_eq!(newest, [1; 15], "the newest are kept");
    stage.clock.restart_machine();
    let _ = acquired(stage, 1);
    assert_eq!(rows(stage).len(), 17);
}

fn a_name_that_is_to_be_kept_outlives_its_holder(stage: &mut Stage) {
    let request = asked(stage, 1, HOLD);
    let claim = stage.win(&request);
    stage.clock.pass(LEASE);
    stage.complete(claim, &released());
    let refused = busy(acquire(stage, 1));
    assert_eq!((refused.why, refused.holders.len()), (BusyWhy::Resting, 0));
    assert_eq!(refused.retry_after, Some(REST));
    stage.clock.pass(almost(REST));
    busy(acquire(stage, 1));
    stage.clock.pass(MS);
    let _ = acquired(stage, 1);
}

fn a_name_is_kept_for_a_dead_holder_too_and_takes_a_slot(stage: &mut Stage) {
    let request = asked(stage, 2, HOLD);
    let dead = stage.win(&request);
    stage.witness.says(dead.attempt().fence, Life::Gone);
    let second = acquired(stage, 2);
    busy(acquire(stage, 2));
    stage.complete(second, &released());
    let _ = acquired(stage, 2);
    busy(acquire(stage, 2));
    stage.clock.pass_boot(HOLD);
    let _ = acquired(stage, 2);
}

fn a_name_under_which_nothing_ran_is_kept_for_nobody(stage: &mut Stage) {
    let request = asked(stage, 1, HOLD);
    let claim = stage.win(&request);
    stage.complete(claim, &Completion { run: None, ..released() });
    let _ = acquired(stage, 1);
}

fn a_lease_that_is_over_is_no_obstacle_to_a_sweep(stage: &mut Stage) {
    let claim = acquired(stage, 1);
    assert_eq!(stage.store.longest_lease().unwrap(), LEASE);
    stage.complete(claim, &released());
    assert_eq!(stage.store.longest_lease().unwrap(), Duration::ZERO);
}

fn fences_grow_over_release_prune_forget_and_a_new_store(stage: &mut Stage) {
    let mut last = 0;
    let mut grown = |claim: &Claim| {
        assert!(claim.attempt().fence.0 > last);
        last = claim.attempt().fence.0;
    };
    let claim = acquired(stage, 1);
    grown(&claim);
    stage.complete(claim, &released());
    stage.clock.pass(DAY);
    stage.sweep(&older_than(Duration::ZERO));
    assert_eq!(rows(stage).len(), 1, "prune spares the newest row");
    let claim = acquired(stage, 1);
    grown(&claim);
    stage.store.forget(&name(), Force::Yes, &mut stage.witness).map(drop).unwrap();
    let claim = acquired(stage, 1);
    grown(&claim);
    stage.clock.pass(Duration::from_secs(1));
    stage.delete_store();
    let claim = acquired(stage, 1);
    grown(&claim);
}

fn a_held_name_is_forgotten_only_by_force_and_rests_no_longer_then(stage: &mut Stage) {
    let request = asked(stage, 2, HOLD);
    let holders = [stage.win(&request), acquired(stage, 2)];
    let spared = stage.store.forget(&name(), Force::No, &mut stage.witness).unwrap();
    assert!(matches!(spared, Dropped::Held(..)));
    let dropped = stage.store.forget(&name(), Force::Yes, &mut stage.witness).unwrap();
    assert!(matches!(dropped, Dropped::Yes));
    for holder in &holders {
        let renewed = stage.store.renew(&holder.ownership(), LEASE).unwrap();
        assert_eq!(renewed, Owned::Lost(LostWhy::Superseded));
    }
    let next = acquired(stage, 1);
    assert_eq!(next.remains().len(), 2, "what they left behind is to be cleared first");
}

fn a_released_name_can_be_forgotten_and_an_unknown_one_is_absent(stage: &mut Stage) {
    let absent = stage.store.forget(&name(), Force::No, &mut stage.witness).unwrap();
    assert!(matches!(absent, Dropped::Absent));
    let claim = acquired(stage, 1);
    stage.complete(claim, &released());
    let dropped = stage.store.forget(&name(), Force::No, &mut stage.witness).unwrap();
    assert!(matches!(dropped, Dropped::Yes));
}

fn a_lost_reply_is_answered_with_the_lease_that_was_won(stage: &mut Stage) {
    let request = asked(stage, 2, Duration::ZERO);
    let first = stage.win(&request);
    let _ = acquired(stage, 2);
    let again = stage.win(&request);
    assert_eq!(first.attempt(), again.attempt());
}

every_store!(
    a_name_is_held_until_it_is_released,
    a_name_and_a_key_never_meet,
    the_time_limit_ends_the_right_of_a_living_holder,
    a_renewed_lease_goes_on_and_one_that_nobody_took_may_still_be_renewed,
    a_dead_holder_is_superseded_at_once_and_an_orphaned_one_at_its_end,
    as_many_as_there_are_slots_hold_it_at_once,
    nobody_who_holds_it_is_trimmed_however_often_others_come_and_go,
    what_nobody_has_looked_for_is_not_trimmed,
    what_only_others_could_look_for_does_not_pile_up_and_what_is_here_stays,
    a_name_that_is_to_be_kept_outlives_its_holder,
    a_name_is_kept_for_a_dead_holder_too_and_takes_a_slot,
    a_name_under_which_nothing_ran_is_kept_for_nobody,
    a_lease_that_is_over_is_no_obstacle_to_a_sweep,
    fences_grow_over_release_prune_forget_and_a_new_store,
    a_held_name_is_forgotten_only_by_force_and_rests_no_longer_then,
    a_released_name_can_be_forgotten_and_an_unknown_one_is_absent,
    a_lost_reply_is_answered_with_the_lease_that_was_won,
);
