//! Of any number at once one wins, and nobody acts on what was true before he had the
//! lock. Each of the four shortcuts that a store without the lock took is shown not to
//! happen here.

use std::thread;
use std::time::Duration;

use doubletap::claim::attempt::{Attempt, State};
use doubletap::claim::decide::Decision;
use doubletap::claim::id::OperationId;
use doubletap::claim::key::Kind;
use doubletap::store::shelf::{Asked, Changes, Shelf as _};
use doubletap::store::{Answer, Owned, Store as _};

use crate::postgres::people::{
    LIMIT, claim, database, failed, fresh, in_mid_change, lease, recorded, request, shelf, store,
    subject, waiting, won,
};
use crate::support::servers::Postgres;
use crate::support::until;

/// Claims on threads of their own, with these tokens.
fn claims(url: &str, key: &str, numbers: std::ops::Range<u8>) -> Vec<thread::JoinHandle<Answer>> {
    let each = |number| {
        let (mut store, request) = (store(url, LIMIT), request(key, number));
        thread::spawn(move || claim(&mut store, &request).unwrap())
    };
    numbers.map(each).collect()
}

fn all_waiting(url: &str, number: usize) {
    until("all wait for the lock", || waiting(Postgres::shared(), url) == number);
}

/// A change of the newest attempt.
fn newest(change: impl Fn(&mut Attempt) + Send + 'static) -> impl Fn(&[Attempt]) -> Changes + Send {
    move |attempts| {
        let mut newest = attempts.last().unwrap().clone();
        change(&mut newest);
        Changes { changed: vec![newest], ..Changes::default() }
    }
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn of_sixteen_at_once_one_wins() {
    let url = fresh();
    for round in 0..5 {
        let key = format!("key-{round}");
        let answers = claims(&url, &key, 0..16).into_iter().map(|one| one.join().unwrap());
        let won = answers.filter(|answer| matches!(answer, Answer::Won(_))).count();
        assert_eq!(won, 1);
        assert_eq!(store(&url, LIMIT).chain(&subject(Kind::Once, &key)).unwrap().len(), 1);
    }
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn fences_of_different_keys_are_never_the_same() {
    let url = fresh();
    let each = |number: u8| {
        let mut store = store(&url, LIMIT);
        thread::spawn(move || {
            let claims = (0..20).map(|turn| {
                let request = request(&format!("key-{number}-{turn}"), number);
                won(&mut store, &request).attempt().fence
            });
            claims.collect::<Vec<_>>()
        })
    };
    let all: Vec<_> = (0..8).map(each).collect();
    let mut fences = Vec::new();
    for one in all {
        let of_one = one.join().unwrap();
        assert!(of_one.is_sorted(), "{of_one:?}");
        fences.extend(of_one);
    }
    fences.sort();
    fences.dedup();
    assert_eq!(fences.len(), 160);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn whoever_waits_for_the_lock_longer_than_his_lease_gets_a_whole_lease() {
    let url = fresh();
    let name = subject(Kind::Lease, "name");
    let holder = in_mid_change(&url, LIMIT, &name, |_| Changes::default());
    let length = Duration::from_secs(2);
    let mut waiter = store(&url, LIMIT);
    let began = waiter.now().unwrap();
    let waiting = thread::spawn(move || {
        let claim = won(&mut waiter, &lease("name", 1, length));
        (claim.attempt().clone(), waiter.now().unwrap())
    });
    all_waiting(&url, 1);
    let mut clock = shelf(&url, LIMIT);
    until("four seconds have gone by", || {
        clock.now().unwrap().wall.age(began.wall) == Duration::ZERO
            && began.wall.age(clock.now().unwrap().wall) >= Duration::from_secs(4)
    });
    let released = clock.now().unwrap();
    holder.finish().unwrap();
    let (attempt, after) = waiting.join().unwrap();
    assert!(attempt.started >= released.wall);
    assert!(attempt.until.left(&released).is_some_and(|left| left >= length));
    assert!(attempt.until.left(&after).is_some(), "it was over when it was won");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_record_that_was_written_meanwhile_is_not_superseded() {
    let url = fresh();
    drop(won(&mut store(&url, LIMIT), &lease_over("key")));
    let end = newest(|row| {
        row.state = State::Done;
        row.end = Some(doubletap::claim::attempt::End {
            at: row.started,
            outcome: Some(doubletap::claim::outcome::Outcome::Exited(0)),
            reason: None,
            run: None,
            output: None,
            expiry: doubletap::claim::time::Expiry::Never,
            promise: doubletap::claim::attempt::Promise::Default,
        });
    });
    let holder = in_mid_change(&url, LIMIT, &subject(Kind::Once, "key"), end);
    let waiting = claims(&url, "key", 10..14);
    all_waiting(&url, 4);
    holder.finish().unwrap();
    for one in waiting {
        match one.join().unwrap() {
            Answer::Not(why) => assert!(matches!(*why, Decision::Replay(_)), "{why:?}"),
            Answer::Won(claim) => panic!("a record was superseded by {claim:?}"),
        }
    }
}

/// A claim whose lease is as good as over.
fn lease_over(key: &str) -> doubletap::claim::decide::Request {
    doubletap::claim::decide::Request { lease: Duration::from_millis(1), ..request(key, 1) }
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_renewal_that_was_written_meanwhile_is_not_lost() {
    let url = fresh();
    let mut owner = store(&url, LIMIT);
    let claim = won(&mut owner, &lease_over("key"));
    until("its lease is over", || claim.attempt().until.left(&owner.now().unwrap()).is_none());
    let renew = newest(|row| row.until.at.0 += 60_000);
    let holder = in_mid_change(&url, LIMIT, &subject(Kind::Once, "key"), renew);
    let waiting = claims(&url, "key", 10..14);
    all_waiting(&url, 4);
    holder.finish().unwrap();
    for one in waiting {
        match one.join().unwrap() {
            Answer::Not(why) => assert!(matches!(*why, Decision::Busy(..)), "{why:?}"),
            Answer::Won(claim) => panic!("a renewed claim was superseded by {claim:?}"),
        }
    }
    assert_eq!(owner.complete(claim, &recorded()).unwrap(), Owned::Yes);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn the_newest_row_is_the_one_that_was_added_meanwhile() {
    let url = fresh();
    let mut owner = store(&url, LIMIT);
    let first = won(&mut owner, &request("key", 1));
    assert_eq!(owner.complete(first, &failed()).unwrap(), Owned::Yes);
    // Whoever reads before he has the lock sees one that failed, and runs.
    let next = |attempts: &[Attempt]| {
        let newest = attempts.last().unwrap();
        let mut added = Attempt {
            generation: 2,
            number: 2,
            state: State::Running,
            end: None,
            token: doubletap::claim::id::Token([2; 16]),
            ..newest.clone()
        };
        added.fence.0 += 1_000_000;
        Changes { added: Some(added), ..Changes::default() }
    };
    let holder = in_mid_change(&url, LIMIT, &subject(Kind::Once, "key"), next);
    let waiting = claims(&url, "key", 10..14);
    all_waiting(&url, 4);
    holder.finish().unwrap();
    for one in waiting {
        assert!(
            matches!(one.join().unwrap(), Answer::Not(why) if matches!(*why, Decision::Busy(..)))
        );
    }
    let states: Vec<State> =
        owner.chain(&subject(Kind::Once, "key")).unwrap().iter().map(|row| row.state).collect();
    assert_eq!(states, [State::Running, State::Failed]);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn after_a_key_was_removed_meanwhile_one_generation_runs() {
    let url = fresh();
    let mut owner = store(&url, LIMIT);
    let first = won(&mut owner, &request("key", 1));
    assert_eq!(owner.complete(first, &recorded()).unwrap(), Owned::Yes);
    let remove = |attempts: &[Attempt]| Changes {
        removed: attempts.iter().map(|row| row.fence).collect(),
        ..Changes::default()
    };
    let holder = in_mid_change(&url, LIMIT, &subject(Kind::Once, "key"), remove);
    let waiting = claims(&url, "key", 10..16);
    all_waiting(&url, 6);
    holder.finish().unwrap();
    let answers = waiting.into_iter().map(|one| one.join().unwrap());
    assert_eq!(answers.filter(|answer| matches!(answer, Answer::Won(_))).count(), 1);
    let running = "SELECT count(*) FROM doubletap.attempt WHERE state = 'running'";
    assert_eq!(Postgres::shared().sql(database(&url), running).trim(), "1");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_step_is_not_had_from_a_parent_that_is_superseded_meanwhile() {
    let url = fresh();
    let mut owner = store(&url, LIMIT);
    let parent = won(&mut owner, &request("key", 1));
    let end = newest(|row| row.state = State::Interrupted);
    let taker = in_mid_change(&url, LIMIT, &subject(Kind::Once, "key"), end);
    let operation: OperationId = parent.attempt().operation;
    let name = doubletap::claim::key::Key::new("step").unwrap();
    let step = doubletap::claim::decide::Request {
        subject: doubletap::claim::key::Subject::step(operation, name),
        parent: Some(parent.ownership()),
        ..request("step", 2)
    };
    let waiting = thread::spawn(move || claim(&mut owner, &step).unwrap());
    all_waiting(&url, 1);
    taker.finish().unwrap();
    match waiting.join().unwrap() {
        Answer::Not(why) => assert!(matches!(*why, Decision::ParentLost), "{why:?}"),
        Answer::Won(claim) => panic!("a step of nobody was won: {claim:?}"),
    }
    let mut steps = 0;
    shelf(&url, LIMIT)
        .walk(Asked::Steps(operation), &mut |_| {
            steps += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(steps, 0);
}
