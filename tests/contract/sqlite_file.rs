//! Which files are opened: older ones, and nobody else's.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use doubletap::claim::attempt::{Extent, Promise, Remains, State};
use doubletap::claim::decide::Decision;
use doubletap::claim::holder::{Life, Reach};
use doubletap::claim::outcome::Outcome;
use doubletap::store::sqlite::{Access, SqliteStore};
use doubletap::store::{Dropped, Force, StoreError, Trouble};
use rusqlite::Connection;
use tempfile::TempDir;

use super::people::ManualClock;
use super::stage::{DAY, LEASE, Stage, open};

/// A store with every kind of row, as version 1 of the schema had them.
pub(super) const VERSION_1: &str = include_str!("../data/v1.sql");

/// Makes a file in the folder, as another program would.
fn file(folder: &TempDir, sql: &str) -> PathBuf {
    let path = folder.path().join("store.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

/// A stage whose store is the file of the fixture.
pub(super) fn stage_with(fixture: &str) -> Stage {
    let mut stage = stage_before(fixture);
    stage.store = Box::new(open(&stage.path(), LEASE, &stage.clock));
    stage
}

/// A stage with the file of the fixture, which nobody has opened yet.
pub(super) fn stage_before(fixture: &str) -> Stage {
    let stage = Stage::sqlite();
    for suffix in ["db", "db-wal", "db-shm"] {
        let _ = fs::remove_file(stage.path().with_extension(suffix));
    }
    let connection = Connection::open(stage.path()).unwrap();
    connection.execute_batch(fixture).unwrap();
    connection.close().unwrap();
    fs::set_permissions(stage.path(), Permissions::from_mode(0o600)).unwrap();
    stage
}

#[track_caller]
fn refusal(path: &Path, access: Access) -> StoreError {
    let opened = SqliteStore::open(path, access, LEASE, Arc::new(ManualClock::new()));
    match opened {
        Err(error) => error,
        Ok(_) => panic!("{} was opened", path.display()),
    }
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_store_of_a_newer_doubletap_is_refused_and_both_versions_are_named() {
    let stage = Stage::sqlite();
    let connection = Connection::open(stage.path()).unwrap();
    let known: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    connection.execute_batch("PRAGMA user_version = 4711").unwrap();
    for access in [Access::Write, Access::Read] {
        let error = refusal(&stage.path(), access);
        assert_eq!(error.trouble(), Trouble::Refused);
        let message = error.to_string();
        assert!(message.contains("4711"), "{message}");
        assert!(message.contains(&format!("up to {known}")), "{message}");
        assert!(message.contains(&stage.path().display().to_string()), "{message}");
    }
    let kept: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 4711);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_was() {
    let folder = TempDir::with_prefix("doubletap-").unwrap();
    let path = file(&folder, "CREATE TABLE t (a); INSERT INTO t VALUES (1);");
    let before = fs::read(&path).unwrap();
    let error = refusal(&path, Access::Write);
    assert_eq!(error.trouble(), Trouble::Damaged);
    assert!(error.to_string().contains("another program"), "{error}");
    assert!(fs::read(&path).unwrap() == before, "its bytes changed");
    assert_eq!(names(&folder), ["store.db"]);
}

#[test]
fn a_database_of_another_program_with_our_version_number_is_refused() {
    let folder = TempDir::with_prefix("doubletap-").unwrap();
    let path = file(&folder, "CREATE TABLE t (a); PRAGMA user_version = 1;");
    let before = fs::read(&path).unwrap();
    let clock = Arc::new(ManualClock::new());
    let opened = SqliteStore::open(&path, Access::Write, LEASE, clock);
    let error = opened
        .and_then(|store| doubletap::store::Store::chains(&mut store.unwrap(), None).map(|_| ()));
    assert_eq!(error.unwrap_err().trouble(), Trouble::Damaged);
    assert!(fs::read(&path).unwrap() == before, "its bytes changed");
}

#[test]
fn what_is_no_database_is_refused_and_left_as_it_was() {
    let folder = TempDir::with_prefix("doubletap-").unwrap();
    let path = folder.path().join("store.db");
    let text = "dear diary, ".repeat(1000);
    fs::write(&path, &text).unwrap();
    for access in [Access::Write, Access::Read] {
        assert_eq!(refusal(&path, access).trouble(), Trouble::Damaged);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(names(&folder), ["store.db"]);
}

#[test]
fn an_empty_file_becomes_a_store() {
    let folder = TempDir::with_prefix("doubletap-").unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, "").unwrap();
    let clock = Arc::new(ManualClock::new());
    let reader = SqliteStore::open(&path, Access::Read, LEASE, clock.clone()).unwrap();
    assert!(reader.is_none(), "who only looks makes nothing");
    open(&path, LEASE, &clock);
    assert!(SqliteStore::open(&path, Access::Read, LEASE, clock).unwrap().is_some());
}

#[test]
fn the_record_of_a_version_1_store_is_replayed() {
    let mut stage = stage_with(VERSION_1);
    let record = stage.replay("done");
    assert_eq!((record.generation, record.outcome()), (1, Some(Outcome::Exited(0))));
    let frames = stage.output(record.fence).unwrap();
    assert_eq!(frames, b"\x01\x06\x00\x00\x00hello\n\x00\xff");
    let end = record.end.unwrap();
    assert_eq!(end.promise, Promise::Explicit);
    assert_eq!(end.output.unwrap().extent, Extent::Truncated);
    stage.clock.pass(DAY * 366);
    assert!(matches!(stage.look("done"), Decision::Run(_)), "its year is over");
}

#[test]
fn the_rows_of_a_version_1_store_are_read() {
    let mut stage = stage_with(VERSION_1);
    assert_eq!(stage.keys(), ["forgotten", "it's 100% \"é\"", "failed", "running", "done"]);
    let running = stage.newest("running");
    assert_eq!((running.state, &running.end), (State::Running, &None));
    let group = running.group.unwrap();
    assert_eq!((group.reach, group.id), (Reach::Group, 4711));
    assert_eq!(running.holder.host, "host.example");
    assert_eq!(running.command.word, "./deploy \"it\" 100%");
    assert_eq!(running.lease, LEASE);
    let failed = stage.newest("failed").end.unwrap();
    assert_eq!(failed.outcome, Some(Outcome::Signaled(9)));
    assert_eq!(failed.reason.as_deref(), Some("it's late"));
    let states: Vec<_> =
        stage.chain("it's 100% \"é\"").iter().map(|a| (a.state, a.number)).collect();
    assert_eq!(states, [(State::Running, 2), (State::Interrupted, 1)]);
    let states: Vec<_> = stage.chain("forgotten").iter().map(|a| a.state).collect();
    assert_eq!(states, [State::Forgotten, State::Done]);
    assert_eq!(stage.store.longest_lease().unwrap(), LEASE);
}

/// Every column of every table and index.
pub(super) fn columns(path: &Path) -> Vec<(String, String, String, bool)> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT place.name, part.name, part.type, part.\"notnull\"
             FROM sqlite_schema AS place JOIN pragma_table_info(place.name) AS part ORDER BY 1, 2",
        )
        .unwrap();
    let rows =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_version_1_store_that_was_opened_has_the_tables_of_a_new_one() {
    let (old, new) = (stage_with(VERSION_1), Stage::sqlite());
    assert_eq!(columns(&old.path()), columns(&new.path()));
}

#[test]
fn a_version_1_store_goes_on_where_it_was() {
    let mut stage = stage_with(VERSION_1);
    let last = stage.newest("forgotten").fence;
    assert!(matches!(stage.look("running"), Decision::Busy(_)));
    let failed = stage.newest("failed");
    let claim = stage.won("failed");
    assert!(claim.attempt().fence > last);
    assert_eq!((claim.attempt().number, claim.attempt().operation), (2, failed.operation));
    let key = "it's 100% \"é\"";
    let [newest, interrupted] = stage.chain(key).try_into().unwrap();
    assert_eq!(interrupted.remains, Remains::Possible);
    stage.witness.says(newest.fence, Life::Gone);
    let claim = stage.won(key);
    assert_eq!(claim.attempt().number, 3);
    assert_eq!(claim.remains(), [interrupted]);
    assert_eq!(stage.won("forgotten").attempt().generation, 3);
    assert!(matches!(stage.forget("done", Force::No), Dropped::Yes));
}
