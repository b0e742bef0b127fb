//! A server that goes, stops or is in the way: every call ends in time, and nothing is
//! half done.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use doubletap::claim::attempt::State;
use doubletap::claim::key::Kind;
use doubletap::store::shelf::{Changes, Durability, Shelf as _, Wanted};
use doubletap::store::{Grade, Owned, Store as _, Trouble};

use crate::postgres::people::{
    LIMIT, claim, database, fresh, in_mid_change, recorded, request, shelf, store, subject, won,
};
use crate::support::servers::Postgres;

const SHORT: Duration = Duration::from_millis(1500);

/// A little more than a call may take, on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_server_that_was_started_again_is_spoken_to_as_before() {
    let mut server = Postgres::start();
    let url = server.database();
    let mut store = store(&url, LIMIT);
    let claim = won(&mut store, &request("key", 1));
    server.stop();
    server.restart();
    assert_eq!(store.chain(claim.subject()).unwrap().len(), 1);
    server.kill();
    server.restart();
    assert_eq!(store.renew(&claim.ownership(), LIMIT).unwrap(), Owned::Yes);
    server.stop();
    server.restart();
    assert_eq!(store.complete(claim, &recorded()).unwrap(), Owned::Yes);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_server_that_is_killed_in_the_middle_of_a_change_has_done_none_of_it() {
    let mut server = Postgres::start();
    let url = server.database();
    let mut owner = store(&url, LIMIT);
    let claim = won(&mut owner, &request("key", 1));
    let key = subject(Kind::Once, "key");
    let change = |attempts: &[doubletap::claim::attempt::Attempt]| {
        let mut row = attempts[0].clone();
        row.state = State::Interrupted;
        Changes { changed: vec![row], ..Changes::default() }
    };
    let middle = in_mid_change(&url, LIMIT, &key, change);
    server.kill();
    server.restart();
    // Either it is done after all, as a whole, or it is said that it may not be.
    let written = middle.finish();
    let state = owner.chain(&key).unwrap()[0].state;
    match written {
        Ok(()) => assert_eq!(state, State::Interrupted),
        Err(why) => {
            assert_eq!(why.trouble(), Trouble::Away, "{why}");
            assert_eq!(state, State::Running);
            assert_eq!(owner.complete(claim, &recorded()).unwrap(), Owned::Yes);
        }
    }
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn with_a_server_that_is_stopped_every_call_ends_in_time() {
    let mut server = Postgres::start();
    let url = server.database();
    let mut open = store(&url, SHORT);
    let claim = won(&mut open, &request("key", 1));
    server.pause();
    let in_time = |what: &str, why: Option<doubletap::store::StoreError>, began: Instant| {
        let why = why.unwrap();
        assert!(began.elapsed() < SHORT + SLACK, "{what} took {:?}", began.elapsed());
        assert_eq!(why.trouble(), Trouble::Away, "{what}: {why}");
        assert!(why.what().contains("gave no answer within"), "{what}: {why}");
    };
    let began = Instant::now();
    in_time("a reading", open.chain(claim.subject()).err(), began);
    let began = Instant::now();
    in_time("a connection", open.chain(claim.subject()).err(), began);
    let began = Instant::now();
    in_time("a change", open.renew(&claim.ownership(), SHORT).err(), began);
    server.resume();
    assert_eq!(open.renew(&claim.ownership(), LIMIT).unwrap(), Owned::Yes);

    let mut other = store(&url, SHORT);
    let _ = other.now().unwrap();
    server.pause();
    let began = Instant::now();
    let unrecorded = other.complete(claim, &recorded()).unwrap_err();
    in_time("an end", Some(unrecorded.error), began);
    server.resume();
    assert_eq!(open.complete(unrecorded.claim, &recorded()).unwrap(), Owned::Yes);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_lock_that_outlasts_the_limit_is_said_to_be_locked() {
    let url = fresh();
    let key = subject(Kind::Once, "key");
    let holder = in_mid_change(&url, LIMIT, &key, |_| Changes::default());
    let began = Instant::now();
    let mut other = store(&url, SHORT);
    let why = claim(&mut other, &request("key", 1)).err().unwrap();
    assert_eq!(why.trouble(), Trouble::Locked, "{why}");
    assert!(began.elapsed() < SHORT + SLACK);
    // Nobody has to wait to read, or for another key.
    assert!(other.chain(&key).unwrap().is_empty());
    drop(won(&mut other, &request("other", 2)));
    holder.finish().unwrap();
    drop(won(&mut other, &request("key", 3)));
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_client_that_stands_still_does_not_keep_the_lock_for_ever() {
    let url = fresh();
    let key = subject(Kind::Once, "key");
    let add = |_: &[_]| Changes {
        removed: vec![doubletap::claim::fence::Fence(1)],
        ..Changes::default()
    };
    let stopped = in_mid_change(&url, SHORT, &key, add);
    drop(won(&mut store(&url, LIMIT), &request("key", 1)));
    let why = stopped.finish().unwrap_err();
    assert_eq!(why.trouble(), Trouble::Away, "{why}");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_server_that_may_only_be_read_is_told_from_one_that_is_away() {
    let server = Postgres::shared();
    let url = fresh();
    let name = database(&url);
    server
        .sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    let mut store = store(&url, LIMIT);
    assert!(store.chain(&subject(Kind::Once, "key")).unwrap().is_empty());
    let why = claim(&mut store, &request("key", 1)).err().unwrap();
    assert_eq!(why.trouble(), Trouble::ReadOnly, "{why}");
    let findings = store.examine();
    let standby = findings.iter().find(|finding| finding.check == "standby").unwrap();
    assert_eq!(standby.grade, Grade::Bad);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_database_that_is_strict_by_default_changes_nothing() {
    let server = Postgres::shared();
    let url = fresh();
    let name = database(&url);
    server.sql(
        "postgres",
        &format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"),
    );
    let each = |number| {
        let url = url.clone();
        thread::spawn(move || {
            let mut store = store(&url, LIMIT);
            for turn in 0..10 {
                let claim = won(&mut store, &request(&format!("key-{number}-{turn}"), number));
                assert_eq!(store.complete(claim, &recorded()).unwrap(), Owned::Yes);
            }
        })
    };
    let all: Vec<_> = (0..6).map(each).collect();
    for one in all {
        one.join().unwrap();
    }
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn what_the_server_undid_is_tried_again() {
    let url = fresh();
    let mut shelf = shelf(&url, LIMIT);
    let key = subject(Kind::Once, "key");
    drop(won(&mut store(&url, LIMIT), &request("key", 1)));
    let mut pages = 0;
    shelf
        .change(Wanted::of(&key), Durability::Power, &mut |page, _| {
            pages += 1;
            let mut row = page.attempts[0].clone();
            if pages == 1 {
                // A row that is not there: what was read has changed.
                row.fence.0 += 1;
            }
            row.state = State::Interrupted;
            Ok(Changes { changed: vec![row], ..Changes::default() })
        })
        .unwrap();
    assert_eq!(pages, 2);
    let states = "SELECT state FROM doubletap.attempt";
    assert_eq!(Postgres::shared().sql(database(&url), states).trim(), "interrupted");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn what_a_server_does_not_promise_is_said() {
    let server = Postgres::start();
    let url = server.database();
    let mut store = store(&url, LIMIT);
    let grade = |findings: Vec<doubletap::store::Finding>, check| {
        findings.into_iter().find(|finding| finding.check == check).unwrap().grade
    };
    let findings = store.examine();
    assert!(findings.iter().all(|finding| finding.grade == Grade::Ok), "{findings:?}");
    server.sql("postgres", "ALTER SYSTEM SET full_page_writes = off");
    server.sql("postgres", "SELECT pg_reload_conf()");
    crate::support::until("it is told", || grade(store.examine(), "durability") == Grade::Bad);
    server
        .sql(database(&url), "ALTER TABLE doubletap.attempt ALTER key TYPE text COLLATE \"POSIX\"");
    assert_eq!(grade(store.examine(), "collation"), Grade::Bad);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_change_that_nobody_writes_lets_the_lock_go_at_once() {
    let url = fresh();
    let key = subject(Kind::Once, "key");
    let mut one = shelf(&url, LIMIT);
    let (told, hear) = mpsc::channel();
    one.change(Wanted::of(&key), Durability::Process, &mut |_, _| Ok(Changes::default())).unwrap();
    let failing = one.change(Wanted::of(&key), Durability::Process, &mut |page, fences| {
        let _ = fences(&page.now)?;
        told.send(()).unwrap();
        Err(doubletap::store::StoreError::new(Trouble::Other, "the caller's own"))
    });
    assert_eq!(failing.unwrap_err().what(), "the caller's own");
    hear.recv().unwrap();
    drop(won(&mut store(&url, SHORT), &request("key", 1)));
}
