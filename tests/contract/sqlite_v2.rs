//! A store of version 2 of the schema, and one of version 1 that may only be looked at.

use std::fs;
use std::time::Duration;

use doubletap::claim::attempt::{Extent, Promise, State};
use doubletap::claim::decide::Decision;
use doubletap::claim::fence::Fence;
use doubletap::claim::holder::{Life, Tie};
use doubletap::claim::id::Token;
use doubletap::claim::key::{Kind, Subject};
use doubletap::store::sqlite::{Access, SqliteStore};
use doubletap::store::{Force, Grade, Owned, Resumed, Store as _};
use rusqlite::Connection;

use super::completion::recorded;
use super::people::Witness;
use super::sqlite_file::{VERSION_1, columns, stage_before, stage_with};
use super::stage::{
    DAY, LEASE, MS, Stage, almost, older_than, output_in, request, step_of, subject,
};

/// A store with claims that hang on all there is, steps, and names.
const VERSION_2: &str = include_str!("../data/v2.sql");

/// The step that the fixture has of two operations.
const STEP: &str = "it's \"a\" step";

#[test]
fn the_record_of_a_version_2_store_is_replayed() {
    let mut stage = stage_with(VERSION_2);
    let record = stage.replay("done");
    let frames = stage.output(record.fence).unwrap();
    assert_eq!(frames, b"\x01\x06\x00\x00\x00hello\n\x00\xff");
    let end = record.end.unwrap();
    assert_eq!((end.promise, end.output.unwrap().extent), (Promise::Explicit, Extent::Truncated));
    let empty = stage.replay("empty");
    assert_eq!(empty.output().map(|output| output.bytes), Some(0));
    let none = stage.chain("forgotten").remove(1);
    assert_eq!(none.output(), None, "no result is not an empty one");
}

#[test]
fn the_rows_of_a_version_2_store_are_read() {
    let mut stage = stage_with(VERSION_2);
    let keys = ["name", "forgotten", "empty", "failed", "for both", "for a time", "for a process"];
    assert_eq!(stage.keys()[..7], keys);
    for (key, tie) in [
        ("for a process", Tie::Process),
        ("for a time", Tie::Time),
        ("for both", Tie::Both),
        ("wrapped", Tie::Wrapper),
        ("done", Tie::Wrapper),
    ] {
        assert_eq!((stage.newest(key).tie, stage.newest(key).parent), (tie, None), "{key}");
    }
    assert_eq!(stage.newest("for a process").lease, Duration::ZERO);
    let failed = stage.newest("failed");
    assert_eq!(failed.end.unwrap().reason.as_deref(), Some("it's late"));
    let name = Subject { kind: Kind::Lease, ..subject("name") };
    let states: Vec<_> =
        stage.store.chain(&name).unwrap().iter().map(|a| (a.state, a.tie)).collect();
    assert_eq!(states, [(State::Running, Tie::Time), (State::Released, Tie::Both)]);
}

/// The claim of a key that still runs.
fn resumed(stage: &mut Stage, key: &str) -> doubletap::claim::held::Claim {
    let token = stage.newest(key).token;
    match stage.store.resume(&subject(key), token).unwrap() {
        Resumed::Claim(claim) => claim,
        other => panic!("{key} is not to be had: {other:?}"),
    }
}

#[test]
fn the_steps_of_a_version_2_store_are_replayed_and_tried_again() {
    let mut stage = stage_with(VERSION_2);
    let wrapped = resumed(&mut stage, "wrapped");
    let request = stage.step(&wrapped, STEP);
    match stage.refusal(&request) {
        Decision::Replay(step) => {
            assert_eq!(step.parent, Some(wrapped.attempt().fence));
            assert_eq!(stage.output(step.fence), Some(STEP.as_bytes().to_vec()));
        }
        other => panic!("it is not replayed: {other:?}"),
    }
    let request = stage.step(&wrapped, "running");
    assert!(matches!(stage.refusal(&request), Decision::Busy(_)));
    let begun = resumed(&mut stage, "for a process");
    assert_eq!(stage.stepped(&begun, STEP, recorded()).number, 2);
}

#[test]
fn the_claims_of_a_version_2_store_are_spent_renewed_found_and_taken() {
    let mut stage = stage_with(VERSION_2);
    let last = Fence(1_700_000_064_006);
    let claim = resumed(&mut stage, "for both");
    stage.complete(claim, &recorded());
    let process = resumed(&mut stage, "for a process");
    let renewed = stage.store.renew_for(&process.ownership(), LEASE, LEASE).unwrap();
    assert_eq!((renewed, stage.newest("for a process").tie), (Owned::Yes, Tie::Both));
    let token = stage.newest("for a time").token;
    let (key, found) = stage.store.find(token, None).unwrap().unwrap();
    assert_eq!((key, found.number), (subject("for a time"), 2));
    stage.witness.says(found.fence, Life::Unknown);
    stage.clock.pass(Duration::from_secs(63) + almost(LEASE));
    assert!(matches!(stage.look("for a time"), Decision::Busy(_)));
    stage.clock.pass(MS);
    let next = stage.won("for a time");
    assert_eq!((next.attempt().number, next.attempt().fence > last), (3, true));
}

#[test]
fn a_version_2_store_is_swept_with_its_steps() {
    let mut stage = stage_with(VERSION_2);
    let claim = resumed(&mut stage, "wrapped");
    let steps = step_of(&claim, STEP);
    stage.complete(claim, &recorded());
    assert_eq!(stage.store.chain(&steps).unwrap().len(), 1);
    stage.clock.pass(DAY * 366);
    stage.sweep(&older_than(LEASE));
    assert_eq!(stage.store.chain(&steps).unwrap(), []);
}

#[test]
fn a_version_2_store_has_the_tables_of_a_new_one() {
    let (old, new) = (stage_with(VERSION_2), Stage::sqlite());
    assert_eq!(columns(&old.path()), columns(&new.path()));
}

/// Everything that can be asked of a store, by somebody who may only look.
#[test]
fn a_version_1_store_is_read_by_whoever_may_only_look_and_stays_as_it_was() {
    let stage = stage_before(VERSION_1);
    let before = fs::read(stage.path()).unwrap();
    let opened = SqliteStore::open(&stage.path(), Access::Examine, LEASE, stage.clock.clone());
    let mut store = opened.unwrap().unwrap();
    let mut witness = Witness::new();

    let chains = store.chains(None).unwrap();
    assert_eq!(chains.len(), 5);
    let attempts = chains.iter().flat_map(|chain| &chain.attempts);
    assert!(attempts.clone().all(|a| (a.tie, a.parent) == (Tie::Wrapper, None)));
    assert_eq!(store.unended().unwrap().len(), 2);
    let survey = store.survey(None, &mut witness).unwrap();
    assert_eq!((survey.keys.values().sum::<u64>(), survey.attempts), (5, 6));
    assert_eq!(store.longest_lease().unwrap(), LEASE);
    let done = store.chain(&subject("done")).unwrap().remove(0);
    assert!(output_in(&mut store, done.fence).is_some());
    let found = store.find(done.token, None).unwrap();
    assert_eq!(found.map(|(key, _)| key), Some(subject("done")));
    assert!(store.find(Token([9; 16]), None).unwrap().is_none());
    let asked = request("done", 1);
    assert!(matches!(store.look(&asked, &mut witness).unwrap(), Decision::Replay(_)));
    for finding in store.examine() {
        assert!(finding.grade != Grade::Bad, "{}: {}", finding.check, finding.found);
    }
    assert!(store.forget(&subject("done"), Force::No, &mut witness).is_err());

    drop(store);
    assert!(fs::read(stage.path()).unwrap() == before, "its bytes changed");
    let version: u32 = Connection::open(stage.path())
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 1);
}
