//! A dead holder's key: when it is taken over, and what is told about it.

use std::time::Duration;

use doubletap::claim::attempt::{Attempt, Remains, State};
use doubletap::claim::decide::{BusyWhy, Decision};
use doubletap::claim::fence::Fence;
use doubletap::claim::held::Claim;
use doubletap::claim::holder::Life;
use doubletap::claim::time::Clock as _;

use super::stage::{DAY, LEASE, MS, Stage, almost};

#[track_caller]
fn assert_held(stage: &mut Stage, key: &str, life: Life, retry_after: Option<Duration>) {
    let request = stage.request(key);
    match stage.refusal(&request) {
        Decision::Busy(busy) => {
            assert_eq!((busy.why, busy.retry_after), (BusyWhy::Held(life), retry_after));
        }
        other => panic!("{key} is not held: {other:?}"),
    }
}

fn remains(claim: &Claim) -> Vec<Fence> {
    let mut fences: Vec<Fence> = claim.remains().iter().map(|attempt| attempt.fence).collect();
    fences.sort();
    fences
}

fn a_gone_holder_is_taken_over_at_once_and_its_operation_goes_on(stage: &mut Stage) {
    let dead = stage.died("k", Life::Gone);
    stage.clock.pass(MS);
    let claim = stage.won("k");
    let attempt = claim.attempt();
    assert_eq!((attempt.generation, attempt.number), (2, 2));
    assert_eq!(attempt.operation, dead.attempt().operation);
    assert_eq!(claim.took_over().map(|before| before.fence), Some(dead.attempt().fence));
    assert_eq!(claim.remains(), [], "the kernel has just said that nobody is left");
    let [newest, old] = stage.chain("k").try_into().unwrap();
    assert_eq!(newest, *attempt);
    assert_eq!((old.state, old.remains), (State::Interrupted, Remains::None));
    let end = old.end.as_ref().unwrap();
    assert_eq!(end.at, stage.clock.now().wall);
    assert_eq!((end.outcome, end.output), (None, None));
    let as_it_was = Attempt { state: State::Running, remains: Remains::Possible, end: None, ..old };
    assert_eq!(as_it_was, *dead.attempt(), "nothing else about it changed");
}

fn a_holder_seen_alive_is_never_superseded(stage: &mut Stage) {
    for (key, life) in [("alive", Life::Alive), ("orphaned", Life::Orphaned)] {
        let _ = stage.died(key, life);
        stage.clock.pass(LEASE + DAY);
        assert_held(stage, key, life, None);
        stage.clock.restart_machine();
        assert_held(stage, key, life, None);
    }
}

fn a_holder_of_whom_nothing_is_known_counts_until_exactly_its_lease_ends(stage: &mut Stage) {
    let dead = stage.died("k", Life::Unknown);
    assert_held(stage, "k", Life::Unknown, Some(LEASE));
    stage.clock.pass(almost(LEASE));
    assert_held(stage, "k", Life::Unknown, Some(MS));
    stage.clock.pass(MS);
    let claim = stage.won("k");
    assert_eq!(claim.attempt().number, 2);
    assert_eq!(remains(&claim), [dead.attempt().fence]);
    let old = &stage.chain("k")[1];
    assert_eq!((old.state, old.remains), (State::Interrupted, Remains::Possible));
}

fn who_may_be_left_is_told_until_it_is_marked_empty(stage: &mut Stage) {
    let first = stage.died("k", Life::Unknown).attempt().fence;
    stage.clock.pass(LEASE);
    let second = stage.died("k", Life::Unknown).attempt().fence;
    stage.clock.pass(LEASE);
    let third = stage.died("k", Life::Gone);
    assert_eq!(remains(&third), [first, second]);
    stage.store.mark_empty(first).unwrap();
    let fourth = stage.died("k", Life::Gone);
    assert_eq!(remains(&fourth), [second]);
    stage.store.mark_empty(second).unwrap();
    assert_eq!(remains(&stage.won("k")), []);
    let marked: Vec<_> = stage.chain("k").iter().map(|a| (a.fence, a.remains)).collect();
    assert_eq!(marked[3..], [(second, Remains::None), (first, Remains::None)]);
    assert_eq!(marked[0].1, Remains::Possible, "and nobody else");
}

fn who_may_be_left_of_another_key_is_not_told(stage: &mut Stage) {
    let _ = stage.died("a", Life::Unknown);
    stage.clock.pass(LEASE);
    assert_eq!(stage.won("a").remains().len(), 1);
    assert_eq!(stage.won("b").remains(), []);
}

fn a_start_of_the_machine_ends_a_lease(stage: &mut Stage) {
    let dead = stage.died("k", Life::Unknown);
    stage.clock.restart_machine();
    let claim = stage.won("k");
    assert_eq!(claim.attempt().number, 2);
    assert_eq!(remains(&claim), [dead.attempt().fence]);
    assert_eq!(claim.attempt().until.boot_id, stage.clock.now().boot_id);
}

fn a_step_of_the_wall_clock_does_not_end_a_lease(stage: &mut Stage) {
    let _ = stage.died("k", Life::Unknown);
    stage.clock.step_wall(1_000_000_000_000);
    assert_held(stage, "k", Life::Unknown, Some(LEASE));
    stage.clock.step_wall(-1_500_000_000_000);
    assert_held(stage, "k", Life::Unknown, Some(LEASE));
    stage.clock.pass_boot(LEASE);
    assert_eq!(stage.won("k").attempt().number, 2);
}

fn of_two_takers_one_wins(stage: &mut Stage) {
    let _ = stage.died("k", Life::Gone);
    let _ = stage.won("k");
    assert_held(stage, "k", Life::Alive, Some(LEASE));
    assert_eq!(stage.chain("k").len(), 2);
}

every_store!(
    a_gone_holder_is_taken_over_at_once_and_its_operation_goes_on,
    a_holder_seen_alive_is_never_superseded,
    a_holder_of_whom_nothing_is_known_counts_until_exactly_its_lease_ends,
    who_may_be_left_is_told_until_it_is_marked_empty,
    who_may_be_left_of_another_key_is_not_told,
    a_start_of_the_machine_ends_a_lease,
    a_step_of_the_wall_clock_does_not_end_a_lease,
    of_two_takers_one_wins,
);
