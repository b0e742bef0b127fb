//! What only a file can show: many connections at once, other programs' locks,
//! and how large it gets.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use doubletap::claim::decide::{BusyWhy, Decision};
use doubletap::claim::holder::Life;
use doubletap::claim::time::Clock as _;
use doubletap::store::{Answer, Owned, Store as _, Trouble};
use rusqlite::Connection;
use tempfile::TempDir;

use super::completion::{recorded, with_output};
use super::people::{ManualClock, Witness};
use super::stage::{DAY, LEASE, Stage, claimant, older_than, open, output_in, request, subject};

const THREADS: u32 = 16;

/// Longer than any lock that a test holds.
const PATIENT: Duration = Duration::from_secs(60);

/// Shorter than any lock that a test holds.
const IMPATIENT: Duration = Duration::from_millis(50);

/// Another program's connection.
fn foreign(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

/// Runs `each` in as many threads, which begin together.
fn together<T: Send>(each: impl Fn(u32) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let (start, each) = (&start, &each);
                scope.spawn(move || {
                    start.wait();
                    each(number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn of_many_connections_that_claim_at_once_exactly_one_wins() {
    let folder = TempDir::with_prefix("doubletap-").unwrap();
    let path = folder.path().join("store.db");
    let clock = Arc::new(ManualClock::new());
    for round in 0..10 {
        let key = format!("key {round}");
        let won = together(|number| {
            let mut store = open(&path, PATIENT, &clock);
            let (request, claimant) = (request(&key, number), claimant(&clock));
            match store.claim(&request, &claimant, &mut Witness::new()).unwrap() {
                Answer::Won(claim) => Some(claim.attempt().token == request.token),
                Answer::Not(why) => match *why {
                    Decision::Busy(busy) if busy.why == BusyWhy::Held(Life::Alive) => None,
                    other => panic!("{key} is neither won nor busy: {other:?}"),
                },
            }
        });
        let won: Vec<bool> = won.into_iter().flatten().collect();
        assert_eq!(won, [true], "{key}");
        assert_eq!(open(&path, PATIENT, &clock).chain(&subject(&key)).unwrap().len(), 1);
    }
}

#[test]
fn of_many_connections_that_take_over_at_once_exactly_one_wins() {
    let folder = TempDir::with_prefix("doubletap-").unwrap();
    let path = folder.path().join("store.db");
    let clock = Arc::new(ManualClock::new());
    let mut store = open(&path, PATIENT, &clock);
    let (first, claimant) = (request("k", 1000), claimant(&clock));
    let Answer::Won(dead) = store.claim(&first, &claimant, &mut Witness::new()).unwrap() else {
        panic!("the first claim was not won")
    };
    let won = together(|number| {
        let mut witness = Witness::new();
        witness.says(dead.attempt().fence, Life::Gone);
        let answer =
            open(&path, PATIENT, &clock).claim(&request("k", number), &claimant, &mut witness);
        matches!(answer.unwrap(), Answer::Won(_))
    });
    assert_eq!(won.into_iter().filter(|won| *won).count(), 1);
    assert_eq!(store.chain(&subject("k")).unwrap().len(), 2);
}

#[test]
fn many_connections_that_claim_different_keys_all_win_with_different_fences() {
    let folder = TempDir::with_prefix("doubletap-").unwrap();
    let path = folder.path().join("store.db");
    let clock = Arc::new(ManualClock::new());
    let mut fences: Vec<_> = together(|number| {
        let mut store = open(&path, PATIENT, &clock);
        let request = request(&format!("key {number}"), number);
        let Answer::Won(claim) =
            store.claim(&request, &claimant(&clock), &mut Witness::new()).unwrap()
        else {
            panic!("{} was not won", request.subject.key)
        };
        let fence = claim.attempt().fence;
        assert_eq!(store.complete(claim, &recorded()).unwrap(), Owned::Yes);
        fence
    });
    fences.sort();
    fences.dedup();
    assert_eq!(fences.len(), THREADS as usize);
}

#[test]
fn many_connections_that_create_the_same_store_all_succeed() {
    for _ in 0..20 {
        let folder = TempDir::with_prefix("doubletap-").unwrap();
        let path = folder.path().join("state/doubletap/store.db");
        let clock = Arc::new(ManualClock::new());
        let keys = together(|number| {
            let mut store = open(&path, PATIENT, &clock);
            let request = request("k", number);
            let _ = store.claim(&request, &claimant(&clock), &mut Witness::new()).unwrap();
            store.chains(None).unwrap().len()
        });
        assert_eq!(keys, [1; THREADS as usize]);
    }
}

#[test]
fn a_lock_that_outlasts_the_time_limit_fails_the_claim_and_nothing_is_claimed() {
    let mut stage = Stage::sqlite();
    let other = foreign(&stage.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut store = open(&stage.path(), IMPATIENT, &stage.clock);
    let request = stage.request("k");
    let error = store.claim(&request, &claimant(&stage.clock), &mut stage.witness).unwrap_err();
    assert_eq!(error.trouble(), Trouble::Locked);
    assert!(error.to_string().contains(&stage.path().display().to_string()), "{error}");
    assert!(error.to_string().contains("--store-timeout"), "{error}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(stage.chain("k"), []);
    assert_eq!(stage.witness.held, []);
    assert_eq!(stage.win(&request).attempt().generation, 1);
}

#[test]
fn a_lock_that_is_released_in_time_only_delays_the_claim_and_its_clock() {
    let stage = Stage::sqlite();
    let (path, clock) = (stage.path(), &stage.clock);
    let other = foreign(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Barrier::new(2);
    thread::scope(|scope| {
        let patient = scope.spawn(|| {
            let mut store = open(&path, PATIENT, clock);
            start.wait();
            store.claim(&request("k", 1), &claimant(clock), &mut Witness::new())
        });
        start.wait();
        // Somebody less patient gives up meanwhile: so long does the lock last.
        let mut store = open(&path, IMPATIENT, clock);
        let given_up = store.claim(&request("k", 2), &claimant(clock), &mut Witness::new());
        assert_eq!(given_up.unwrap_err().trouble(), Trouble::Locked);
        clock.pass(DAY);
        other.execute_batch("COMMIT").unwrap();
        let Answer::Won(claim) = patient.join().unwrap().unwrap() else { panic!("not won") };
        assert_eq!(claim.attempt().started, clock.now().wall, "the clock is read under the lock");
    });
}

#[test]
fn a_foreign_lock_does_not_keep_anybody_from_reading() {
    let mut stage = Stage::sqlite();
    let record = stage.done("k");
    let other = foreign(&stage.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(stage.replay("k"), record);
    assert_eq!(stage.keys(), ["k"]);
}

#[test]
fn a_completion_that_cannot_be_written_gives_the_claim_back() {
    let mut stage = Stage::sqlite();
    let other = foreign(&stage.path());
    let mut store = open(&stage.path(), IMPATIENT, &stage.clock);
    let claim = stage.won("k");
    let before = claim.attempt().clone();
    let completion = with_output(b"output", recorded());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let unrecorded = store.complete(claim, &completion).unwrap_err();
    assert_eq!(unrecorded.error.trouble(), Trouble::Locked);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(stage.chain("k"), std::slice::from_ref(&before));
    assert_eq!(output_in(&mut store, before.fence), None);
    assert_eq!(store.complete(unrecorded.claim, &completion).unwrap(), Owned::Yes);
    assert_eq!(output_in(&mut store, before.fence), Some(b"output".to_vec()));
    stage.replay("k");
}

#[test]
fn a_renewal_waits_no_longer_than_it_is_told() {
    let mut stage = Stage::sqlite();
    let claim = stage.won("k");
    let other = foreign(&stage.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut store = open(&stage.path(), PATIENT, &stage.clock);
    let error = store.renew(&claim.ownership(), IMPATIENT).unwrap_err();
    assert_eq!(error.trouble(), Trouble::Locked);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.renew(&claim.ownership(), IMPATIENT).unwrap(), Owned::Yes);
}

#[test]
fn the_write_ahead_log_stays_small() {
    let mut stage = Stage::sqlite();
    for round in 0..300 {
        stage.store = Box::new(open(&stage.path(), PATIENT, &stage.clock));
        stage.done(&format!("key {round}"));
        stage.store.tidy();
        let log = fs::metadata(stage.path().with_extension("db-wal")).unwrap().len();
        assert!(log <= 80 * 4120, "it has {} frames", log / 4120);
    }
}

#[test]
fn the_write_ahead_log_stays_small_on_one_connection() {
    let mut stage = Stage::sqlite();
    for round in 0..300 {
        stage.done(&format!("key {round}"));
        stage.store.tidy();
        let log = fs::metadata(stage.path().with_extension("db-wal")).unwrap().len();
        assert!(log <= 80 * 4120, "it has {} frames", log / 4120);
    }
}

#[test]
fn the_log_stays_short_however_long_one_holder_renews() {
    let mut stage = Stage::sqlite();
    let claim = stage.won("k");
    for _ in 0..500 {
        assert_eq!(stage.store.renew(&claim.ownership(), LEASE).unwrap(), Owned::Yes);
        stage.store.tidy();
    }
    let log = fs::metadata(stage.path().with_extension("db-wal")).unwrap().len();
    assert!(log <= 80 * 4120, "it has {} frames", log / 4120);
}

/// The size of the file once everything is in it and nothing in the log.
fn settled_size(path: &Path) -> u64 {
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = foreign(path).query_row(checkpoint, [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0);
    fs::metadata(path).unwrap().len()
}

/// Records outputs of 256 KiB, prunes them all, and says how large the file
/// was before and after.
fn sizes_around_a_sweep(outputs: u64) -> (u64, u64) {
    let mut stage = Stage::sqlite();
    let frames = vec![b'x'; 256 << 10];
    for number in 0..outputs {
        let claim = stage.won(&format!("key {number}"));
        stage.complete(claim, &with_output(&frames, recorded()));
    }
    let before = settled_size(&stage.path());
    stage.clock.pass(DAY);
    assert_eq!(stage.sweep(&older_than(LEASE)).keys, outputs);
    (before, settled_size(&stage.path()))
}

#[test]
fn a_sweep_gives_space_back() {
    let (before, after) = sizes_around_a_sweep(12);
    assert!(after < before / 4, "{before} bytes before and {after} after");
}

#[test]
fn a_sweep_gives_space_back_however_much_it_is() {
    let (before, after) = sizes_around_a_sweep(100);
    assert!(after < before / 4, "{before} bytes before and {after} after");
}
