//! What only a file can show of a sweep: what it does beside others, and how it leaves
//! the file.

use std::time::Duration;

use doubletap::claim::key::Namespace;
use doubletap::claim::time::Clock as _;
use doubletap::store::{Store as _, Sweep, SweepMode, Swept};
use rusqlite::Connection;

use super::completion::{recorded, with_output};
use super::people::Witness;
use super::stage::{DAY, LEASE, MS, Stage, claimant, older_than, open, request};

/// Copies the newest row of the store as so many keys of this namespace.
fn multiply(stage: &Stage, namespace: &str, rows: usize) {
    Connection::open(stage.path())
        .unwrap()
        .execute_batch(&format!(
            "CREATE TEMP TABLE copy AS SELECT * FROM attempt ORDER BY fence DESC LIMIT 1;
             CREATE TEMP TABLE copies AS
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
                SELECT i, copy.* FROM n, copy;
             UPDATE copies SET fence = fence + i, namespace = '{namespace}', key = 'copy ' || i;
             ALTER TABLE copies DROP COLUMN i;
             INSERT INTO attempt SELECT * FROM copies;
             UPDATE store SET fence = (SELECT max(fence) FROM attempt);"
        ))
        .unwrap();
}

fn number(stage: &Stage, pragma: &str) -> i64 {
    let store = Connection::open(stage.path()).unwrap();
    store.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn a_sweep_ends_though_keys_end_beside_it() {
    let mut stage = Stage::sqlite();
    stage.done("old");
    stage.clock.pass(MS);
    let mut beside = open(&stage.path(), LEASE, &stage.clock);
    let mut ended = 0;
    let swept = stage.store.sweep(&older_than(Duration::ZERO), &mut |_| {
        if ended < 10 {
            ended += 1;
            let request = request(&format!("young {ended}"), 1000 + ended);
            let answer = beside.claim(&request, &claimant(&stage.clock), &mut Witness::new());
            let doubletap::store::Answer::Won(claim) = answer.unwrap() else { panic!("not won") };
            let _ = beside.complete(claim, &recorded()).unwrap();
            stage.clock.pass(MS);
        }
    });
    assert_eq!(swept.unwrap(), Swept { keys: 1, attempts: 1 });
    assert_eq!(stage.keys(), ["young 1"]);
}

#[test]
fn keys_that_lie_far_apart_are_not_taken_under_one_lock() {
    let mut stage = Stage::sqlite();
    stage.done("first");
    multiply(&stage, "other", 60_000);
    stage.clock.pass(DAY);
    stage.done("last");
    stage.clock.pass(DAY);
    let mut batches = Vec::new();
    let named = Namespace::new("default").unwrap();
    let sweep = Sweep { namespace: Some(named), ..older_than(LEASE) };
    stage.store.sweep(&sweep, &mut |so_far| batches.push(so_far.keys)).unwrap();
    assert_eq!(batches, [1, 2]);
}

#[test]
fn a_count_is_what_goes_in_however_many_batches() {
    let mut stage = Stage::sqlite();
    stage.failed("k");
    multiply(&stage, "default", 30_000);
    stage.clock.pass(DAY);
    let sweep = older_than(LEASE);
    let all = Swept { keys: 30_001, attempts: 30_001 };
    assert_eq!(stage.sweep(&Sweep { mode: SweepMode::Count, ..sweep.clone() }), all);
    assert_eq!(stage.sweep(&sweep), all);
    assert_eq!(stage.keys(), Vec::<String>::new());
}

#[test]
fn an_output_of_absurd_length_is_no_obstacle() {
    let mut stage = Stage::sqlite();
    stage.done("a");
    stage.done("b");
    let store = Connection::open(stage.path()).unwrap();
    store.execute("UPDATE attempt SET output_bytes = 9223372036854775807", []).unwrap();
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 2);
}

#[test]
fn only_the_outputs_of_what_goes_go() {
    let mut stage = Stage::sqlite();
    let mut fences = Vec::new();
    for key in ["a", "stays", "b"] {
        let claim = stage.won(key);
        fences.push(claim.attempt().fence);
        stage.complete(claim, &with_output(key.as_bytes(), recorded()));
    }
    let stays = "UPDATE attempt SET ended_ms = ? WHERE key = 'stays'";
    stage.clock.pass(DAY);
    let store = Connection::open(stage.path()).unwrap();
    store.execute(stays, [stage.clock.now().wall.0]).unwrap();
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 2);
    let left: Vec<_> = fences.into_iter().map(|fence| stage.output(fence)).collect();
    assert_eq!(left, [None, Some(b"stays".to_vec()), None]);
    let rows: i64 = store.query_row("SELECT count(*) FROM output", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[test]
fn all_pages_are_given_back_and_the_file_keeps_its_way_of_doing_that() {
    const INCREMENTAL: i64 = 2;
    let mut stage = Stage::sqlite();
    stage.done("k");
    multiply(&stage, "default", 3000);
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 3001);
    assert_eq!(number(&stage, "auto_vacuum"), INCREMENTAL);
    assert_eq!(number(&stage, "freelist_count"), 0);
    assert!(number(&stage, "page_count") < 20);
}
