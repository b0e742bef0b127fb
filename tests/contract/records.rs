//! Records: how long they are replayed, their output, and how they are listed.

use std::time::Duration;

use doubletap::claim::attempt::{Extent, OutputSummary, Promise, State};
use doubletap::claim::decide::{Decision, Request};
use doubletap::claim::fence::Fence;
use doubletap::claim::key::Namespace;
use doubletap::store::{Completion, Dropped, Force, Frames, Output};

use super::completion::{failed, kept, recorded, with_output, with_spooled};
use super::stage::{DAY, LEASE, MS, Stage, almost, subject, subject_in};

fn a_record_expires_at_exactly_its_instant(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.clock.pass(LEASE);
    stage.complete(claim, &kept(Some(DAY), Promise::Explicit));
    let record = stage.newest("k");
    stage.clock.pass(almost(DAY));
    assert_eq!(stage.replay("k"), record);
    stage.clock.pass(MS);
    let claim = stage.won("k");
    assert_eq!((claim.attempt().generation, claim.attempt().number), (2, 1));
    assert_ne!(claim.attempt().operation, record.operation, "a new operation");
    assert_eq!(claim.took_over(), None);
}

fn a_record_expires_by_the_wall_clock(stage: &mut Stage) {
    let claim = stage.won("k");
    stage.complete(claim, &kept(Some(DAY), Promise::Explicit));
    stage.clock.pass_boot(DAY * 2);
    stage.clock.restart_machine();
    stage.replay("k");
    stage.clock.step_wall(-1_000_000_000);
    stage.replay("k");
}

fn a_record_for_ever_is_replayed_after_a_thousand_years(stage: &mut Stage) {
    let record = stage.done("k");
    stage.clock.pass(DAY * 365 * 1000);
    assert_eq!(stage.replay("k"), record);
    let request = stage.request("k");
    assert!(matches!(stage.refusal(&request), Decision::Replay(_)));
    assert_eq!(stage.chain("k").len(), 1);
}

fn an_output_comes_back_byte_for_byte(stage: &mut Stage) {
    let frames: Vec<u8> = (0..=255).cycle().take(100_003).collect();
    let claim = stage.won("k");
    stage.complete(claim, &with_output(&frames, recorded()));
    let record = stage.replay("k");
    assert_eq!(stage.output(record.fence), Some(frames));
    let whole = OutputSummary { bytes: 100_003, extent: Extent::Whole };
    assert_eq!(record.end.unwrap().output, Some(whole));
}

fn a_spooled_output_comes_back_byte_for_byte_whatever_its_size(stage: &mut Stage) {
    for size in [1, 70_000, 1 << 20, (1 << 20) + 1, 3_000_017] {
        let frames: Vec<u8> = (0..251).cycle().take(size).collect();
        let claim = stage.won("k");
        let spool = stage.store.spool(&claim.ownership());
        stage.complete(claim, &with_spooled(&spool, &frames, recorded()));
        let record = stage.replay("k");
        assert!(stage.output(record.fence) == Some(frames), "{size} bytes");
        assert!(matches!(stage.forget("k", Force::No), Dropped::Yes));
    }
}

fn the_spooled_output_of_a_failed_attempt_is_kept_too(stage: &mut Stage) {
    for size in [1 << 20, (1 << 20) + 1] {
        let claim = stage.won("k");
        let spool = stage.store.spool(&claim.ownership());
        stage.complete(claim, &with_spooled(&spool, &vec![7; size], failed()));
        let fence = stage.newest("k").fence;
        assert!(stage.output(fence) == Some(vec![7; size]));
    }
}

fn no_output_is_not_the_same_as_an_empty_one(stage: &mut Stage) {
    let claim = stage.won("empty");
    stage.complete(claim, &with_output(b"", recorded()));
    let empty = stage.newest("empty");
    let none = stage.done("none");
    assert_eq!(stage.output(empty.fence), Some(Vec::new()));
    assert_eq!(stage.output(none.fence), None);
    assert_eq!(stage.output(Fence(1)), None, "no such attempt");
    assert!(empty.end.unwrap().output.is_some());
    assert!(none.end.unwrap().output.is_none());
}

fn an_output_that_was_cut_short_says_so(stage: &mut Stage) {
    let claim = stage.won("k");
    let summary = OutputSummary { bytes: 1, extent: Extent::Truncated };
    let output = Some(Output { frames: Frames::Bytes(b"ab".to_vec()), summary, draft: None });
    stage.complete(claim, &Completion { output, ..recorded() });
    assert_eq!(stage.replay("k").end.unwrap().output, Some(summary));
}

fn the_output_of_failed_attempts_is_kept(stage: &mut Stage) {
    let fences: Vec<Fence> = [&b"first"[..], b"second"]
        .into_iter()
        .map(|frames| {
            let claim = stage.won("k");
            stage.complete(claim, &with_output(frames, failed()));
            stage.newest("k").fence
        })
        .collect();
    assert_eq!(stage.output(fences[0]), Some(b"first".to_vec()));
    assert_eq!(stage.output(fences[1]), Some(b"second".to_vec()));
}

fn a_key_that_keeps_failing_keeps_the_last_two_outputs(stage: &mut Stage) {
    let fences: Vec<Fence> = (0..5)
        .map(|number| {
            let claim = stage.won("k");
            let spool = stage.store.spool(&claim.ownership());
            let size = if number % 2 == 0 { 10 } else { (1 << 20) + 1 };
            stage.complete(claim, &with_spooled(&spool, &vec![7; size], failed()));
            stage.newest("k").fence
        })
        .collect();
    let kept: Vec<bool> = fences.iter().map(|fence| stage.output(*fence).is_some()).collect();
    assert_eq!(kept, [false, false, false, true, true]);
    let chain = stage.chain("k");
    let told: Vec<u64> = chain.iter().map(|row| row.output().unwrap().bytes).collect();
    assert_eq!(told[2..], [0, 0, 0]);
}

fn chains_are_listed_newest_first(stage: &mut Stage) {
    stage.failed("b");
    stage.done("c");
    stage.done("a");
    stage.done("b");
    assert_eq!(stage.keys(), ["b", "a", "c"]);
    let chains = stage.store.chains(None).unwrap();
    let states: Vec<State> = chains[0].attempts.iter().map(|attempt| attempt.state).collect();
    assert_eq!(states, [State::Done, State::Failed]);
    assert_eq!(chains[0].attempts, stage.chain("b"));
}

fn chains_of_one_namespace_are_listed_alone(stage: &mut Stage) {
    stage.done("k");
    let request = Request { subject: subject_in("other", "k"), ..stage.request("k") };
    let claim = stage.win(&request);
    let listed = |stage: &mut Stage, namespace: &str| {
        let namespace = Namespace::new(namespace).unwrap();
        let chains = stage.store.chains(Some(&namespace)).unwrap();
        chains.into_iter().map(|chain| (chain.subject, chain.attempts.len())).collect::<Vec<_>>()
    };
    assert_eq!(listed(stage, "other"), [(claim.subject().clone(), 1)]);
    assert_eq!(listed(stage, "default"), [(subject("k"), 1)]);
    assert_eq!(listed(stage, "defaul_"), []);
}

fn an_empty_store_lists_nothing(stage: &mut Stage) {
    assert_eq!(stage.keys(), Vec::<String>::new());
    assert_eq!(stage.chain("k"), []);
}

fn the_longest_lease_is_that_of_any_attempt(stage: &mut Stage) {
    assert_eq!(stage.store.longest_lease().unwrap(), Duration::ZERO);
    let _ = stage.won("short");
    let request = Request { lease: DAY, ..stage.request("long") };
    let claim = stage.win(&request);
    stage.complete(claim, &failed());
    let _ = stage.won("long");
    assert_eq!(stage.store.longest_lease().unwrap(), DAY);
}

every_store!(
    a_record_expires_at_exactly_its_instant,
    a_record_expires_by_the_wall_clock,
    a_record_for_ever_is_replayed_after_a_thousand_years,
    an_output_comes_back_byte_for_byte,
    a_spooled_output_comes_back_byte_for_byte_whatever_its_size,
    the_spooled_output_of_a_failed_attempt_is_kept_too,
    no_output_is_not_the_same_as_an_empty_one,
    an_output_that_was_cut_short_says_so,
    the_output_of_failed_attempts_is_kept,
    a_key_that_keeps_failing_keeps_the_last_two_outputs,
    chains_are_listed_newest_first,
    chains_of_one_namespace_are_listed_alone,
    an_empty_store_lists_nothing,
    the_longest_lease_is_that_of_any_attempt,
);
