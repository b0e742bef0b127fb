//! A connection that breaks in the middle of something: of a transaction it takes all along,
//! and of being made it says nothing but that.

use std::thread;

use doubletap::claim::attempt::State;
use doubletap::claim::key::Kind;
use doubletap::store::shelf::{Changes, Durability, Shelf as _, Wanted};
use doubletap::store::{Owned, Store as _, Trouble};

use crate::postgres::people::{
    LIMIT, database, fresh, recorded, request, shelf, store, subject, won,
};
use crate::support::servers::{Handshakes, Postgres};
use crate::support::until;

/// Ends the connections to a database that are in the middle of a transaction; says how many
/// there were.
fn end_transactions(url: &str) -> usize {
    let database = database(url);
    let text = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = '{database}' AND state = 'idle in transaction'"
    );
    Postgres::shared().sql("postgres", &text).trim().parse().unwrap()
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_change_does_not_go_on_upon_another_connection_without_its_lock() {
    let url = fresh();
    let relay = Postgres::shared().relay();
    let key = subject(Kind::Once, "key");
    let mut owner = store(&url, LIMIT);
    let claim = won(&mut owner, &request("key", 1));
    let mut taker = shelf(&format!("{}?sslmode=disable", relay.url(&url)), LIMIT);
    // The end of the connection comes together with what was read under the lock.
    relay.keep_answers();
    let changing = thread::spawn(move || {
        let (mut claim, mut seen) = (Some(claim), Vec::new());
        taker
            .change(Wanted::of(&key), Durability::Power, &mut |page, fences| {
                let mut row = page.attempts[0].clone();
                seen.push(row.state);
                // Nobody has the lock any more.
                if let Some(claim) = claim.take() {
                    assert_eq!(owner.complete(claim, &recorded()).unwrap(), Owned::Yes);
                }
                if row.state != State::Running {
                    return Ok(Changes::default());
                }
                let _ = fences(&page.now)?;
                row.state = State::Interrupted;
                Ok(Changes { changed: vec![row], ..Changes::default() })
            })
            .unwrap();
        seen
    });
    until("it has the lock, and loses it", || end_transactions(&url) == 1);
    let seen = changing.join().unwrap();
    let states = "SELECT state FROM doubletap.attempt";
    assert_eq!(Postgres::shared().sql(database(&url), states).trim(), "done");
    assert_eq!(seen, [State::Running, State::Done]);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_handshake_that_breaks_off_is_no_refusal_and_is_tried_again() {
    let url = fresh();
    let relay = Postgres::shared().relay();
    for mode in ["prefer", "require"] {
        let mut owner = store(&format!("{}?sslmode={mode}", relay.url(&url)), LIMIT);
        let mut claim = won(&mut owner, &request(mode, 1));
        for broken in [Handshakes::Reset, Handshakes::Closed] {
            relay.cut();
            relay.set_handshakes(broken);
            let unrecorded = owner.complete(claim, &recorded()).unwrap_err();
            let why = unrecorded.error;
            assert_eq!(why.trouble(), Trouble::Away, "{mode}, {broken:?}: {why}");
            claim = unrecorded.claim;
        }
        relay.set_handshakes(Handshakes::Passed);
        assert_eq!(owner.complete(claim, &recorded()).unwrap(), Owned::Yes);
    }
}
