//! The rows about a store of a million keys, which nobody has looked after for ten days.
//!
//! It is made from one record of ours, copied under other keys, in the order in which keys that
//! are numbered or dated come. It has no output, so that one `DELETE` does all that a prune does
//! but give the space back.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;

use crate::row::{Measure, MeasureBoth, Times};
use crate::run;
use crate::running::Running;
use crate::store::Store;

/// What is kept of the command: not the output.
const KEPT: &[&str] = &["--no-output"];

const KEYS: i64 = 1_000_000;
const FEW: i64 = 10;
/// How long ago they ended, and what is older than is to go, in ms.
const AGE: i64 = 10 * DAY;
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Replays one record of a store with a million keys, and one of a store with ten.
pub(crate) fn replay() -> Result<MeasureBoth> {
    let prepare = |folder, keys| -> Result<Store> {
        let store = Store::create(folder)?;
        fill(&store, keys)?;
        Ok(store)
    };
    let (many, few) = (prepare("replay-many", KEYS)?, prepare("replay-few", FEW)?);
    // In the middle of what is there.
    let replay = |store: &Store, keys: i64| run::one(store.once(&key(keys / 2), KEPT, &["true"]));
    Ok(Box::new(move || {
        Ok(Times { ours: vec![replay(&many, KEYS)?], peer: vec![replay(&few, FEW)?] })
    }))
}

/// Prunes a million keys.
pub(crate) fn prune() -> Result<Measure> {
    let (full, store) = (full("prune-full")?, Store::create("prune-ours")?);
    Ok(Box::new(move || {
        store.replace_by(&full)?;
        let time = run::one(store.prune_older_than("1d"))?;
        expect_left(&store.path(), 0)?;
        Ok(time)
    }))
}

/// Removes their rows with one statement, and does no more.
pub(crate) fn delete() -> Result<Measure> {
    let (full, store) = (full("delete-full")?, Store::create("delete-peer")?);
    let sqlite = run::need("sqlite3")?;
    Ok(Box::new(move || {
        store.replace_by(&full)?;
        let mut command = run::command(&sqlite);
        // What is older than a day, seen from the records.
        let statement = format!(
            "DELETE FROM attempt WHERE kind = 'once' AND state IN ('done', 'failed', 'forgotten')
             AND ended_ms < (SELECT max(ended_ms) FROM attempt) + {}",
            AGE - DAY
        );
        command.arg(store.path()).arg(statement);
        let time = run::one(command)?;
        expect_left(&store.path(), 0)?;
        Ok(time)
    }))
}

/// Runs `true` under a new key, again and again while a million keys are pruned from the same
/// store, and then as often while nothing is.
pub(crate) fn fresh_meanwhile() -> Result<MeasureBoth> {
    let (full, store) = (full("meanwhile-full")?, Store::create("meanwhile")?);
    let fresh = |store: &Store, number: usize| {
        run::one(store.once(&format!("fresh-{number}"), &[], &["true"]))
    };
    Ok(Box::new(move || {
        store.replace_by(&full)?;
        let mut times = Times::default();
        let mut prune = Running::start(store.prune_older_than("1d"))?;
        while !prune.has_ended()? {
            times.ours.push(fresh(&store, times.ours.len())?);
        }
        prune.end()?;
        let runs = times.ours.len();
        expect_left(&store.path(), i64::try_from(runs)?)?;
        for number in runs..2 * runs {
            times.peer.push(fresh(&store, number)?);
        }
        Ok(times)
    }))
}

fn key(number: i64) -> String {
    format!("key-{number:07}")
}

/// A store of a million keys, of which copies are made.
fn full(folder: &str) -> Result<Store> {
    let store = Store::create(folder)?;
    fill(&store, KEYS)?;
    Ok(store)
}

/// Fills a store with so many records, all of its log in the file.
fn fill(store: &Store, keys: i64) -> Result<()> {
    run::one(store.once(&key(0), KEPT, &["true"]))?;
    let database = Connection::open(store.path())?;
    database.pragma_update(None, "synchronous", "OFF")?;
    let values = values(&database, keys)?;
    database
        .execute_batch(&format!(
            "CREATE TEMP TABLE one AS SELECT * FROM attempt;
             DELETE FROM attempt;
             WITH RECURSIVE counted (nth) AS
                 (SELECT 1 UNION ALL SELECT nth + 1 FROM counted WHERE nth < {keys})
             INSERT INTO attempt SELECT {values} FROM counted, one;
             DROP TABLE one;
             PRAGMA wal_checkpoint (TRUNCATE);"
        ))
        .context("filling a store")?;
    drop(database);
    expect_left(&store.path(), keys)
}

/// What a record under another key has in its columns.
fn values(database: &Connection, keys: i64) -> Result<String> {
    let mut names = database.prepare("SELECT name FROM pragma_table_info('attempt')")?;
    let names = names.query_map([], |row| row.get::<_, String>(0))?;
    let value = |name: String| match name.as_str() {
        "fence" => format!("fence - {AGE} - {keys} + nth"),
        "key" => "printf('key-%07d', nth)".to_owned(),
        at @ ("started_ms" | "ended_ms") => format!("{at} - {AGE}"),
        _ => name,
    };
    let values: Vec<String> = names.map(|name| name.map(value)).collect::<Result<_, _>>()?;
    Ok(values.join(", "))
}

fn expect_left(path: &Path, keys: i64) -> Result<()> {
    let left: i64 =
        Connection::open(path)?.query_row("SELECT count(*) FROM attempt", [], |row| row.get(0))?;
    ensure!(left == keys, "{}: {left} rows instead of {keys}", path.display());
    // Neither side is to wait for what the other has written.
    nix::unistd::sync();
    Ok(())
}
