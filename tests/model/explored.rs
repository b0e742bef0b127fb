//! The real rules keep every promise, in every state that a setting has.

use std::thread;

use stateright::{Checker, HasDiscoveries, Model as _};

use super::Claims;
use super::scenes;
use super::setting::{Setting, Sight};
use super::telling::told;

/// Explores a setting to its end: every promise is kept, each of these was seen to happen,
/// and there were so many states at least.
#[track_caller]
fn explore(setting: &Setting, states: usize, sights: &[Sight]) {
    let checker = Claims(setting.clone()).checker().finish_when(HasDiscoveries::AnyFailures);
    judge(&checker.spawn_bfs().join(), states);
    for sight in sights {
        assert!(setting.saw(*sight), "{sight:?} never happens, so nothing is shown about it");
    }
}

/// Explores a setting that is too large to be kept in memory in its whole breadth.
#[track_caller]
fn explore_deeply(setting: Setting, states: usize) {
    let checker = Claims(setting).checker().finish_when(HasDiscoveries::AnyFailures);
    judge(&checker.spawn_dfs().join(), states);
}

#[track_caller]
fn judge(checker: &impl Checker<Claims>, states: usize) {
    if let Some((promise, path)) = checker.discoveries().iter().next() {
        panic!("it does not hold that {promise}:\n{}", told(path));
    }
    let count = checker.unique_state_count();
    assert!(count >= states, "{count} states are fewer than {states}: is something left out?");
}

#[test]
fn whoever_runs_once_and_again_after_a_crash_keeps_every_promise() {
    let sights = [
        Sight::Replay,
        Sight::Mismatch,
        Sight::Busy,
        Sight::TakeOver,
        Sight::Claimed,
        Sight::Occupied,
    ];
    explore(&scenes::rerun(), 115_000, &sights);
}

#[test]
fn whoever_stops_after_a_crash_keeps_every_promise() {
    let sights = [Sight::Unresolved, Sight::Replay, Sight::Cleared, Sight::Late, Sight::NotRenewed];
    explore(&scenes::stop(), 43_000, &sights);
}

#[test]
fn whoever_waits_keeps_every_promise() {
    let sights = [Sight::Busy, Sight::Shared, Sight::Replay, Sight::TakeOver, Sight::Claimed];
    explore(&scenes::waiting(), 33_000, &sights);
    explore(&scenes::waiting_too_long(), 6_300, &[Sight::Shared, Sight::Replay]);
}

#[test]
fn whoever_only_has_a_lease_to_run_once_keeps_every_promise() {
    let sights = [Sight::TakeOver, Sight::Replay, Sight::Late, Sight::NotRenewed, Sight::GivenBack];
    explore(&scenes::elsewhere(), 86_000, &sights);
    explore(&scenes::far_away(), 71_000, &[Sight::TakeOver, Sight::Claimed]);
}

#[test]
fn whoever_holds_a_name_alone_keeps_every_promise() {
    let sights = [
        Sight::Busy,
        Sight::Claimed,
        Sight::Cleared,
        Sight::Late,
        Sight::NotRenewed,
        Sight::GivenBack,
    ];
    explore(&scenes::one_slot(), 138_000, &sights);
    explore(&scenes::forgotten_name(), 32_000, &[Sight::Cleared, Sight::Late]);
}

#[test]
fn whoever_shares_a_name_and_keeps_it_for_a_while_keeps_every_promise() {
    let sights = [Sight::Busy, Sight::Resting, Sight::Cleared, Sight::Late, Sight::NotRenewed];
    explore(&scenes::two_slots(), 116_000, &sights);
}

#[test]
fn whoever_is_pruned_or_forgotten_keeps_every_promise() {
    let sights = [Sight::Swept, Sight::TakeOver, Sight::Cleared, Sight::Replay, Sight::Late];
    explore(&scenes::pruned(), 130_000, &sights);
    let sights = [Sight::Swept, Sight::TakeOver, Sight::Replay, Sight::Late];
    explore(&scenes::pruned_elsewhere(), 40_000, &sights);
}

#[test]
#[ignore = "explores for minutes: cargo test -- --ignored with_more"]
fn with_more_calls_and_more_faults_every_promise_is_kept() {
    let large: [(fn() -> Setting, usize); 7] = [
        (scenes::rerun_for_long, 930_000),
        (scenes::stop_for_long, 600_000),
        (scenes::elsewhere_for_long, 1_320_000),
        (scenes::one_slot_for_long, 1_720_000),
        (scenes::two_slots_for_long, 1_300_000),
        (scenes::pruned_for_long, 450_000),
        (scenes::waiting_for_long, 678_000),
    ];
    thread::scope(|scope| {
        for half in large.chunks(4) {
            scope.spawn(move || {
                for (setting, states) in half {
                    explore_deeply(setting(), *states);
                }
            });
        }
    });
}
