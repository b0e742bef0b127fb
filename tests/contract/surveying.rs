//! `stats`: what a store comes to, and that it agrees with its chains.

use std::collections::BTreeMap;
use std::time::Duration;

use doubletap::claim::attempt::Promise;
use doubletap::claim::decide::{LeaseTerms, Request, Terms};
use doubletap::claim::held::Claim;
use doubletap::claim::holder::Life;
use doubletap::claim::key::{Kind, Namespace, Subject};
use doubletap::claim::run_times::RunTimes;
use doubletap::claim::standing::Standing;
use doubletap::claim::survey::{Group, Survey};
use doubletap::claim::time::Clock as _;
use doubletap::store::{Completion, Force, Verdict, with_lives};

use super::completion::{failed, kept, recorded, with_output};
use super::stage::{DAY, LEASE, MS, Stage, subject, subject_in};

/// What the whole store comes to.
pub(super) fn surveyed(stage: &mut Stage) -> Survey {
    stage.store.survey(None, &mut stage.witness).unwrap()
}

/// How many keys are in which state, as their chains have it.
pub(super) fn told_by_chains(stage: &mut Stage) -> BTreeMap<(Kind, Standing), u64> {
    let mut keys = BTreeMap::new();
    for chain in stage.store.chains(None).unwrap() {
        let seen = with_lives(chain.attempts, &mut stage.witness).unwrap();
        let standing = Standing::of_key(&seen, chain.subject.kind, &stage.clock.now());
        *keys.entry((chain.subject.kind, standing)).or_default() += 1;
    }
    keys
}

/// Wins one of so many slots of a name.
fn acquired(stage: &mut Stage, name: &str, terms: LeaseTerms) -> Claim {
    let subject = Subject { kind: Kind::Lease, ..subject(name) };
    let request = Request { subject, terms: Terms::Lease(terms), ..stage.request(name) };
    stage.win(&request)
}

fn alone(min_hold: Duration) -> LeaseTerms {
    LeaseTerms { slots: 1, min_hold }
}

fn released() -> Completion {
    Completion { verdict: Verdict::Released, ..recorded() }
}

/// The same end, of a command that ran so long.
fn ran(ms: u64, completion: Completion) -> Completion {
    Completion { run: Some(Duration::from_millis(ms)), ..completion }
}

/// Wins `key` in `namespace` and records a success of a command that ran so long.
fn done_in(stage: &mut Stage, namespace: &str, key: &str, ms: u64) {
    let request = Request { subject: subject_in(namespace, key), ..stage.request(key) };
    let claim = stage.win(&request);
    stage.complete(claim, &ran(ms, recorded()));
}

/// A key or a name in every state, some with attempts that say otherwise.
fn fill(stage: &mut Stage) {
    stage.failed("done");
    stage.done("done");
    let claim = stage.won("expired");
    stage.complete(claim, &kept(Some(LEASE), Promise::Explicit));
    let name = acquired(stage, "expired", alone(Duration::ZERO));
    stage.witness.says(name.attempt().fence, Life::Unknown);
    stage.clock.pass(LEASE);
    let _ = acquired(stage, "held", alone(Duration::ZERO));
    let first = acquired(stage, "shared", LeaseTerms { slots: 2, min_hold: Duration::ZERO });
    let second = acquired(stage, "shared", LeaseTerms { slots: 2, min_hold: Duration::ZERO });
    stage.complete(second, &released());
    drop(first);
    let name = acquired(stage, "released", alone(Duration::ZERO));
    stage.complete(name, &released());
    let name = acquired(stage, "resting", alone(DAY));
    stage.complete(name, &released());
    let name = acquired(stage, "interrupted", alone(Duration::ZERO));
    stage.witness.says(name.attempt().fence, Life::Gone);
    let name = acquired(stage, "orphaned", alone(Duration::ZERO));
    stage.witness.says(name.attempt().fence, Life::Orphaned);
    let _ = stage.won("running");
    let _ = stage.died("orphaned", Life::Orphaned);
    let _ = stage.died("interrupted", Life::Gone);
    let _ = stage.died("taken over", Life::Gone);
    let _ = stage.won("taken over");
    stage.failed("failed");
    stage.done("forgotten");
    assert!(matches!(stage.forget("forgotten", Force::No), doubletap::store::Dropped::Yes));
    stage.done("rerun in vain");
    let claim = stage.won_again("rerun in vain");
    stage.complete(claim, &failed());
    stage.done("rerun lost");
    let claim = stage.won_again("rerun lost");
    stage.witness.says(claim.attempt().fence, Life::Gone);
}

fn keys_are_counted_in_the_states_that_their_chains_say(stage: &mut Stage) {
    fill(stage);
    let survey = surveyed(stage);
    assert_eq!(survey.keys, told_by_chains(stage));
    let once = |standing| survey.keys[&(Kind::Once, standing)];
    assert_eq!(once(Standing::Done), 3, "the reruns came to nothing");
    assert_eq!(once(Standing::Running), 2);
    for standing in Standing::KNOWN {
        let kinds = [Kind::Once, Kind::Lease];
        let counted = kinds.iter().any(|kind| survey.keys.contains_key(&(*kind, standing)));
        assert!(counted, "no key is {}", standing.as_str());
    }
}

fn a_survey_of_nothing_is_empty(stage: &mut Stage) {
    let survey = surveyed(stage);
    assert!(survey.keys.is_empty());
    assert_eq!((survey.attempts, survey.started, survey.output_bytes), (0, None, 0));
    assert!(survey.namespaces.groups.is_empty() && survey.prefixes.groups.is_empty());
}

fn attempts_are_counted_with_their_ages_and_their_output(stage: &mut Stage) {
    let oldest = stage.failed("k").started;
    stage.clock.pass(MS);
    let claim = stage.won("k");
    stage.complete(claim, &with_output(b"12345", recorded()));
    let claim = stage.won("other");
    stage.complete(claim, &with_output(b"678", failed()));
    let newest = stage.newest("other").started;
    stage.clock.pass(DAY);
    let _ = stage.forget("other", Force::No);
    let survey = surveyed(stage);
    assert_eq!(survey.attempts, 3, "what forget leaves behind is no attempt");
    assert_eq!(survey.started, Some((oldest, newest)));
    assert_eq!(survey.output_bytes, 8);
}

/// The percentiles 50, 90 and 99 of a group, in ms.
fn percentiles(times: &RunTimes) -> [u128; 3] {
    [50, 90, 99].map(|percent| times.percentile(percent).unwrap().as_millis())
}

fn run_times_are_told_by_namespace_and_by_prefix(stage: &mut Stage) {
    for number in 1..=10 {
        done_in(stage, "a", &format!("deploy-{number}"), number * 10);
    }
    done_in(stage, "a", "backup", 7);
    done_in(stage, "b", "deploy-1", 9);
    let claim = stage.won("never ran");
    stage.complete(claim, &Completion { run: None, ..failed() });
    let name = acquired(stage, "deploy", alone(Duration::ZERO));
    stage.complete(name, &ran(3, released()));
    let survey = surveyed(stage);
    let group = |kind, namespace, prefix: Option<&str>| Group {
        kind,
        namespace: Namespace::new(namespace).unwrap(),
        prefix: prefix.map(str::to_owned),
    };
    let told = |groups: &[(Group, RunTimes)]| -> BTreeMap<Group, (u64, [u128; 3])> {
        let ran = groups.iter().filter(|(_, times)| times.count() > 0);
        ran.map(|(group, times)| (group.clone(), (times.count(), percentiles(times)))).collect()
    };
    let (once, lease) = (Kind::Once, Kind::Lease);
    let by_namespace = [
        (group(once, "a", None), (11, [50, 90, 100])),
        (group(once, "b", None), (1, [9, 9, 9])),
        (group(lease, "default", None), (1, [3, 3, 3])),
    ];
    assert_eq!(told(&survey.namespaces.groups), BTreeMap::from(by_namespace));
    let by_prefix = [
        (group(once, "a", Some("backup")), (1, [7, 7, 7])),
        (group(once, "a", Some("deploy")), (10, [50, 90, 100])),
        (group(once, "b", Some("deploy")), (1, [9, 9, 9])),
        (group(lease, "default", Some("deploy")), (1, [3, 3, 3])),
    ];
    assert_eq!(told(&survey.prefixes.groups), BTreeMap::from(by_prefix));
    assert_eq!(survey.namespaces.others.count() + survey.prefixes.others.count(), 0);
}

fn a_survey_of_one_namespace_counts_no_other(stage: &mut Stage) {
    fill(stage);
    done_in(stage, "other", "k", 5);
    done_in(stage, "other", "l", 5);
    let other = Namespace::new("other").unwrap();
    let survey = stage.store.survey(Some(&other), &mut stage.witness).unwrap();
    assert_eq!(survey.keys, BTreeMap::from([((Kind::Once, Standing::Done), 2)]));
    assert_eq!(survey.attempts, 2);
    assert_eq!(survey.namespaces.groups.len(), 1);
    assert_eq!(survey.namespaces.others.count(), 0);
}

every_store! {
    keys_are_counted_in_the_states_that_their_chains_say,
    a_survey_of_nothing_is_empty,
    attempts_are_counted_with_their_ages_and_their_output,
    run_times_are_told_by_namespace_and_by_prefix,
    a_survey_of_one_namespace_counts_no_other,
}
