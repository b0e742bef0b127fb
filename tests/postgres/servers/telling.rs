//! Waiters hear what others write.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use doubletap::claim::key::Kind;
use doubletap::store::shelf::Shelf as _;
use doubletap::store::{Owned, Store as _};

use crate::postgres::people::{
    LIMIT, claim, failed, fresh, lease, recorded, request, shelf, store, subject, won,
};
use crate::support::servers::Postgres;
use crate::support::until;

/// How often a bell has rung.
#[derive(Clone, Default)]
struct Bell(Arc<AtomicUsize>);

impl Bell {
    fn ring(&self) -> Box<dyn Fn() + Send> {
        let rung = Arc::clone(&self.0);
        Box::new(move || {
            rung.fetch_add(1, Ordering::SeqCst);
        })
    }

    fn rung(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_waiter_hears_of_his_chain_and_of_no_other_and_of_no_renewal() {
    let url = fresh();
    let mut waiter = shelf(&url, LIMIT);
    let (key, other) = (Bell::default(), Bell::default());
    let mut owner = store(&url, LIMIT);
    assert!(waiter.watch(&subject(Kind::Once, "key"), key.ring()));
    assert!(waiter.watch(&subject(Kind::Once, "other"), other.ring()));
    let second = Bell::default();
    assert!(waiter.watch(&subject(Kind::Once, "key"), second.ring()));

    let claim = won(&mut owner, &request("key", 1));
    until("the claim is heard", || key.rung() == 1);
    for _ in 0..5 {
        assert_eq!(owner.renew(&claim.ownership(), LIMIT).unwrap(), Owned::Yes);
    }
    assert_eq!(owner.complete(claim, &failed()).unwrap(), Owned::Yes);
    until("the end is heard", || key.rung() == 2);
    drop(won(&mut owner, &request("other", 2)));
    until("the other is heard", || other.rung() == 1);
    // Notices come in the order of the commits.
    assert_eq!(key.rung(), 2);
    assert_eq!(second.rung(), 0);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_lease_that_is_made_shorter_is_heard_of() {
    let url = fresh();
    let mut waiter = shelf(&url, LIMIT);
    let bell = Bell::default();
    let mut owner = store(&url, LIMIT);
    let claim = won(&mut owner, &lease("name", 1, LIMIT));
    assert!(waiter.watch(&subject(Kind::Lease, "name"), bell.ring()));
    let ownership = claim.ownership();
    assert_eq!(owner.renew_for(&ownership, LIMIT * 2, LIMIT).unwrap(), Owned::Yes);
    assert_eq!(owner.renew_for(&ownership, LIMIT / 10, LIMIT).unwrap(), Owned::Yes);
    until("it is heard", || bell.rung() > 0);
    assert_eq!(bell.rung(), 1);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_waiter_looks_again_when_the_server_was_away() {
    let mut server = Postgres::start();
    let url = server.database();
    let mut waiter = shelf(&url, LIMIT);
    let bell = Bell::default();
    assert!(waiter.watch(&subject(Kind::Once, "key"), bell.ring()));
    server.kill();
    until("the break is told", || bell.rung() == 1);
    server.restart();
    until("it listens again", || bell.rung() == 2);
    assert!(waiter.watch(&subject(Kind::Once, "key"), bell.ring()));
    drop(won(&mut store(&url, LIMIT), &request("key", 1)));
    until("the claim is heard", || bell.rung() == 3);
}

#[test]
#[ignore = "needs postgresql, openssl and pgbouncer: cargo test --features full -- --ignored servers::"]
fn through_a_pooler_all_works_and_nothing_is_heard() {
    let server = Postgres::shared();
    let direct = fresh();
    let pooler = server.pooler();
    let url = pooler.url(&direct);
    let mut waiter = shelf(&url, LIMIT);
    let bell = Bell::default();
    assert!(!waiter.watch(&subject(Kind::Once, "key"), bell.ring()));
    assert!(!waiter.watch(&subject(Kind::Once, "key"), bell.ring()));

    let mut stores: Vec<_> = (0..4).map(|_| store(&url, LIMIT)).collect();
    for turn in 0..12_u8 {
        let key = format!("key-{turn}");
        let mut claims = Vec::new();
        for (number, store) in stores.iter_mut().enumerate() {
            let number = u8::try_from(number).unwrap() + 10 * turn;
            let answer = claim(store, &request(&key, number)).unwrap();
            if let doubletap::store::Answer::Won(claim) = answer {
                claims.push(claim);
            }
        }
        assert_eq!(claims.len(), 1);
        let other = &mut stores[usize::from(turn) % 4];
        let claim = claims.remove(0);
        assert_eq!(other.renew(&claim.ownership(), LIMIT).unwrap(), Owned::Yes);
        assert_eq!(other.complete(claim, &recorded()).unwrap(), Owned::Yes);
    }
}

#[test]
#[ignore = "needs postgresql, openssl and pgbouncer: cargo test --features full -- --ignored servers::"]
fn through_a_pooler_nobodys_connection_is_left_listening() {
    let server = Postgres::shared();
    let pooler = server.pooler();
    let url = pooler.url(&fresh());
    let mut waiter = shelf(&url, LIMIT);
    let left = || {
        let listening = "SELECT count(*) FROM pg_listening_channels()";
        server.sql_at(&url, listening).trim().to_owned()
    };
    for _ in 0..3 {
        assert!(!waiter.watch(&subject(Kind::Once, "key"), Box::new(|| ())));
        assert_eq!(left(), "0");
    }
    drop(waiter);
    assert_eq!(left(), "0");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn whoever_watches_no_more_leaves_nothing_behind() {
    let server = Postgres::start();
    let url = server.database();
    let mut waiter = shelf(&url, LIMIT);
    assert!(waiter.watch(&subject(Kind::Once, "key"), Box::new(|| ())));
    let connected = || {
        let text = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'doubletap'";
        server.sql("postgres", text).trim().to_owned()
    };
    assert_eq!(connected(), "2");
    drop(waiter);
    until("nobody is connected", || connected() == "0");
}
