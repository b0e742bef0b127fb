//! What a server must not forget when it dies.

use std::time::Duration;

use doubletap::claim::decide::Request;
use doubletap::store::{Owned, Store as _};

use crate::postgres::people::{LEASE, LIMIT, claim, lease, request, store, won};
use crate::support::servers::Postgres;

/// A server that keeps in memory what it does not have to write.
fn forgetful() -> Postgres {
    let server = Postgres::start();
    for setting in ["wal_writer_delay = '10s'", "wal_writer_flush_after = '2GB'"] {
        server.sql("postgres", &format!("ALTER SYSTEM SET {setting}"));
    }
    server.sql("postgres", "SELECT pg_reload_conf()");
    server
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn no_claim_and_no_renewal_that_was_answered_is_forgotten_by_a_server_that_dies() {
    const LONG: Duration = Duration::from_secs(3600);
    let mut server = forgetful();
    let url = server.database();
    let mut one = store(&url, LIMIT);
    let held = [request("renewed", 1), lease("renewed", 2, LEASE)].map(|asked: Request| {
        let owner = won(&mut one, &asked).ownership();
        // The longer its holders count on it, the longer others have to.
        assert_eq!(one.renew_for(&owner, LONG, LIMIT).unwrap(), Owned::Yes);
        owner
    });
    let won = won(&mut one, &lease("won", 3, LEASE)).ownership();
    server.kill();
    server.restart();
    let mut other = store(&url, LIMIT);
    assert!(other.find(won.token, None).unwrap().is_some(), "nobody has it");
    for owner in held {
        let (_, attempt) = other.find(owner.token, None).unwrap().unwrap();
        assert_eq!(attempt.lease, LONG);
    }
    let asked = claim(&mut other, &lease("won", 4, LEASE)).unwrap();
    assert!(matches!(asked, doubletap::store::Answer::Not(_)));
}
