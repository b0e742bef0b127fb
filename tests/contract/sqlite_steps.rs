//! What only a file can show of steps: that nothing of them is left, beside it either.

use std::fs;

use doubletap::store::Frames;
use rusqlite::Connection;

use super::completion::{recorded, with_spooled};
use super::stage::{DAY, LEASE, Stage, older_than};

/// So many rows are in a table of the store.
fn rows(stage: &Stage, table: &str) -> i64 {
    let store = Connection::open(stage.path()).unwrap();
    store.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

/// How many outputs are files.
fn spools(stage: &Stage) -> usize {
    let entries = fs::read_dir(stage.path().parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "out")).count()
}

/// A key that is done, with a step whose output is small and one whose output is a file.
fn done_with_steps(stage: &mut Stage, key: &str) {
    let parent = stage.won(key);
    stage.stepped(&parent, "small", recorded());
    let request = stage.step(&parent, "large");
    let step = stage.win(&request);
    let spool = stage.store.spool(&step.ownership());
    let completion = with_spooled(&spool, &vec![7; (1 << 20) + 1], recorded());
    stage.complete(step, &completion);
    stage.complete(parent, &recorded());
}

#[test]
fn the_large_output_of_a_step_is_a_file_and_read_back() {
    let mut stage = Stage::sqlite();
    let parent = stage.won("k");
    let request = stage.step(&parent, "large");
    let step = stage.win(&request);
    let fence = step.attempt().fence;
    let spool = stage.store.spool(&step.ownership());
    stage.complete(step, &with_spooled(&spool, &vec![7; (1 << 20) + 1], recorded()));
    assert_eq!((spools(&stage), rows(&stage, "output")), (1, 0));
    let found = stage.store.output(fence).unwrap().unwrap();
    assert!(matches!(found, Frames::File(_, length) if length == (1 << 20) + 1));
}

#[test]
fn nothing_of_the_steps_of_a_key_that_was_pruned_is_left() {
    let mut stage = Stage::sqlite();
    done_with_steps(&mut stage, "k");
    assert_eq!((rows(&stage, "attempt"), rows(&stage, "output"), spools(&stage)), (3, 1, 1));
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, 1);
    assert_eq!((rows(&stage, "attempt"), rows(&stage, "output"), spools(&stage)), (0, 0, 0));
}

#[test]
fn what_is_left_after_a_batch_has_no_step_without_its_operation() {
    let mut stage = Stage::sqlite();
    for number in 0..1500 {
        let parent = stage.won(&format!("k{number}"));
        stage.stepped(&parent, "a", recorded());
        stage.complete(parent, &recorded());
    }
    stage.clock.pass(DAY);
    let store = Connection::open(stage.path()).unwrap();
    let mut batches = 0;
    let mut look = |_| {
        batches += 1;
        let strays: i64 = store
            .query_row(
                "SELECT count(*) FROM attempt AS step WHERE kind = 'step' AND NOT EXISTS
                    (SELECT 1 FROM attempt AS parent WHERE parent.fence = step.parent)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(strays, 0, "they go under one lock");
    };
    stage.store.sweep(&older_than(LEASE), &mut look).unwrap();
    assert!(batches > 1, "this store is too small for this sentence");
    assert_eq!((rows(&stage, "attempt"), rows(&stage, "output")), (0, 0));
}
