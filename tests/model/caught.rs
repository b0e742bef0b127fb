//! Each promise is worth something: break a rule, and the checker finds the steps that
//! break the promise.

use stateright::{Checker as _, HasDiscoveries, Model as _};

use super::Claims;
use super::mutants::Mutant;
use super::promises::Promise;
use super::scenes;
use super::setting::Setting;

/// Explores a setting under a broken rule until the promise is broken.
#[track_caller]
fn caught(mutant: Mutant, setting: Setting, promise: Promise) {
    let name = promise.sentence();
    let checker = Claims(Setting { mutant: Some(mutant), ..setting })
        .checker()
        .finish_when(HasDiscoveries::AnyOf([name].into()))
        .spawn_bfs()
        .join();
    let found = checker.discoveries();
    assert!(
        found.contains_key(name),
        "{mutant:?} does not show that {name}; it shows only {:?}",
        found.keys()
    );
}

/// Makes one sentence of each mutant: which promise it breaks, and where.
macro_rules! mutants {
    ($($sentence:ident: $mutant:ident in $setting:ident breaks $promise:ident;)*) => {
        $(
            #[test]
            fn $sentence() {
                caught(Mutant::$mutant, scenes::$setting(), Promise::$promise);
            }
        )*
    };
}

mutants! {
    a_look_that_is_trusted_runs_what_is_on_record:
        TrustsTheLook in kept breaks Replayed;
    a_look_that_is_trusted_runs_more_often_than_there_are_faults:
        TrustsTheLook in crashing breaks AtMost;
    a_probe_that_calls_the_living_gone_makes_two_owners:
        CallsTheLivingGone in rerun breaks OneOwner;
    a_probe_that_calls_the_dead_alive_shuts_the_key_for_ever:
        CallsTheDeadAlive in rerun breaks Somewhere;
    a_probe_that_overlooks_an_orphan_runs_beside_it:
        OverlooksOrphans in crashing breaks OneCommand;
    a_fence_that_restarts_after_a_prune_comes_twice:
        FenceRestarts in pruned breaks Fences;
    a_completion_without_its_token_ends_somebody_elses_attempt:
        CompletesForAnybody in elsewhere breaks OnlyTheOwner;
    a_completion_that_ignores_the_state_changes_a_record:
        CompletesTwice in kept breaks Immutable;
    a_completion_that_ignores_the_state_counts_twice:
        CompletesTwice in kept breaks Resending;
    a_completion_that_ignores_the_state_serves_a_stranger:
        CompletesTwice in elsewhere breaks Inert;
    a_renewal_that_ignores_the_state_serves_a_stranger:
        RenewsTheLost in one_slot breaks Inert;
    a_comparison_without_the_fingerprint_replays_something_else:
        IgnoresTheFingerprint in rerun breaks OwnFingerprint;
    a_prune_that_does_not_look_again_removes_what_runs:
        PrunesWhatItSaw in pruned breaks Spared;
    an_operation_named_by_its_generation_comes_twice:
        OperationFromGeneration in pruned breaks IdempotencyKey;
    a_take_over_under_a_new_operation_loses_the_idempotency_key:
        NewOperationAfterCrash in rerun breaks IdempotencyKey;
    a_claim_sent_again_under_its_first_operation_uses_it_twice:
        KeepsTheOperation in far_away breaks IdempotencyKey;
    a_claim_asked_for_again_as_before_uses_its_operation_twice:
        AsksAgainAsBefore in one_slot breaks IdempotencyKey;
    a_claim_sent_again_with_a_new_token_is_kept_out_by_itself:
        NewTokenAfterLoss in stop breaks Resending;
    a_command_that_does_not_wait_for_what_is_left_runs_beside_it:
        LeavesRemains in one_slot breaks OneCommand;
    a_slot_counted_without_min_hold_is_given_away_early:
        CountsNoMinHold in two_slots breaks MinHold;
    a_trim_to_the_newest_row_removes_a_living_holder:
        TrimsHolders in two_slots breaks OnlyTheOwner;
    a_success_given_back_as_a_failure_has_its_effect_again:
        ReportsFailure in rerun breaks ExactlyOnce;
    a_waiter_that_claims_like_anybody_runs_what_failed_before_its_eyes:
        ForgetsTheAwaited in waiting breaks Shared;
}
