//! What `doctor` says of a store on a server, and that it says no more than it knows.

use std::time::Duration;

use doubletap::claim::fence::Fence;
use doubletap::claim::time::WallMs;
use doubletap::store::shelf::Shelf as _;
use doubletap::store::{Finding, Frames, Grade, Owned, Store as _};

use crate::postgres::people::{
    LIMIT, database, fresh, recorded, request, shelf, store, with_output, won,
};
use crate::support::servers::Postgres;
use crate::support::until;

/// What was found by one check.
fn found(url: &str, limit: Duration, check: &str) -> Finding {
    let mut shelf = shelf(url, LIMIT);
    shelf.wait_at_most(limit);
    let findings = shelf.examine();
    findings.into_iter().find(|finding| finding.check == check).unwrap()
}

/// A record with output.
fn keep(url: &str, key: &str, number: u8) {
    let mut store = store(url, LIMIT);
    let claim = won(&mut store, &request(key, number));
    let end = with_output(Frames::Bytes(vec![number; 3]), recorded());
    assert_eq!(store.complete(claim, &end).unwrap(), Owned::Yes);
}

/// As many records more as there are `copies`, all old, under keys of their own.
fn multiply(url: &str, copies: u32) {
    let text = format!(
        "DO $$
        DECLARE one doubletap.attempt;
        BEGIN
            SELECT * INTO one FROM doubletap.attempt ORDER BY fence LIMIT 1;
            FOR number IN 1..{copies} LOOP
                one.fence = number; one.key = 'copy-' || number; one.ended_ms = number;
                INSERT INTO doubletap.attempt SELECT one.*;
            END LOOP;
        END $$"
    );
    Postgres::shared().sql(database(url), &text);
}

/// The same store for somebody whom one row of so many takes so many milliseconds to see: as
/// if there were thousands for each.
fn slowed(url: &str, every: u32, ms: u32) -> String {
    let name = database(url);
    let text = format!(
        "CREATE ROLE slow_{name} LOGIN PASSWORD 'x';
        GRANT USAGE ON SCHEMA doubletap TO slow_{name};
        GRANT ALL ON ALL TABLES IN SCHEMA doubletap TO slow_{name};
        ALTER TABLE doubletap.attempt ENABLE ROW LEVEL SECURITY;
        CREATE POLICY slow ON doubletap.attempt USING (CASE WHEN fence % {every} = 0
            THEN pg_sleep({ms} / 1000.0) IS NOT NULL ELSE true END)"
    );
    Postgres::shared().sql(name, &text);
    let login = format!("{}:{}@", Postgres::USER, Postgres::PASSWORD);
    url.replace(&login, &format!("slow_{name}:x@"))
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_store_that_is_too_large_to_be_looked_through_is_not_bad() {
    let url = fresh();
    keep(&url, "key", 1);
    multiply(&url, 50);
    Postgres::shared().sql(database(&url), "ANALYZE doubletap.attempt");
    let slow = slowed(&url, 1, 100);
    let limit = Duration::from_millis(1500);
    let rows = found(&slow, limit, "rows");
    assert_eq!(rows.grade, Grade::Ok, "{rows:?}");
    assert!(rows.found.contains("about 51"), "{rows:?}");
    let outputs = found(&slow, limit, "outputs");
    assert_eq!(outputs.grade, Grade::Note, "{outputs:?}");
    let each = found(&slow, limit, "row");
    assert_eq!(each.grade, Grade::Note, "{each:?}");
    // Nobody goes on counting for somebody who has gone.
    let counting = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND datname = '{}'",
        database(&url)
    );
    assert_eq!(Postgres::shared().sql("postgres", &counting).trim(), "0");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn only_some_of_many_records_that_have_lost_their_outputs_are_counted() {
    let url = fresh();
    keep(&url, "key", 1);
    multiply(&url, 150);
    let outputs = found(&url, LIMIT, "outputs");
    assert_eq!(outputs.grade, Grade::Bad);
    assert!(outputs.found.contains("100 or more records have lost theirs"), "{outputs:?}");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_row_that_cannot_be_read_is_found_however_many_rows_there_are_before_it() {
    let url = fresh();
    keep(&url, "key", 1);
    multiply(&url, 1200);
    let spoil = "UPDATE doubletap.attempt SET kind = 'twice' WHERE fence = 1100";
    Postgres::shared().sql(database(&url), spoil);
    let row = found(&url, LIMIT, "row");
    assert_eq!(row.grade, Grade::Bad, "{row:?}");
    assert!(row.found.starts_with("copy-1100: attempt 1 cannot be read"), "{row:?}");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn what_is_old_is_found_however_many_rows_there_are_before_it() {
    let url = fresh();
    keep(&url, "key", 1);
    multiply(&url, 25_000);
    // None but the last of the copies has ended.
    let name = database(&url);
    Postgres::shared().sql(
        name,
        "UPDATE doubletap.attempt SET ended_ms = NULL WHERE fence NOT IN (21000, 24000);
        UPDATE doubletap.attempt SET lease_ms = 3600000 WHERE fence = 13000",
    );
    let slow = slowed(&url, 10, 1);
    // A call may take as long as twenty thousand rows, or less.
    let mut shelf = shelf(&slow, LIMIT);
    shelf.wait_at_most(Duration::from_secs(2));
    let old = |after, at_most, shelf: &mut doubletap::store::postgres::PostgresShelf| {
        let found = shelf.ended_before(WallMs(100_000), Fence(after), None, at_most).unwrap();
        found.into_iter().map(|(fence, _)| fence.0).collect::<Vec<_>>()
    };
    assert_eq!(old(0, 10, &mut shelf), [21_000, 24_000]);
    assert_eq!(old(0, 1, &mut shelf), [21_000]);
    assert_eq!(old(21_000, 10, &mut shelf), [24_000]);
    assert!(old(24_000, 10, &mut shelf).is_empty());
    assert_eq!(shelf.longest_lease().unwrap(), Duration::from_secs(3600));
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_commit_that_waits_for_a_standby_that_is_not_there_is_found() {
    let server = Postgres::start();
    let url = server.database();
    let replication = || found(&url, LIMIT, "replication");
    assert_eq!(replication().grade, Grade::Ok);
    server.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (one, other)'");
    server.sql("postgres", "SELECT pg_reload_conf()");
    until("it is told", || replication().found.contains("one, other"));
    let why = replication();
    assert_eq!(why.grade, Grade::Bad, "{why:?}");
    let standby = server.receiver("one");
    until("it is connected", || replication().grade == Grade::Ok);
    drop(standby);
    until("it has gone", || replication().grade == Grade::Bad);
}
