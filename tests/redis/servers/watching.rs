//! Waiters hear of what happens to a chain.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use doubletap::store::{Owned, Store as _};

use super::{LIMIT, RedisStore, completed, store, won};
use crate::contract::completion::recorded;
use crate::contract::stage::{request, subject};
use crate::support::servers::{Persistence, Redis};
use crate::support::until;

#[track_caller]
fn watched(store: &mut RedisStore, key: &str) -> Receiver<()> {
    let (ring, heard) = mpsc::channel();
    let ring = Box::new(move || {
        // It may ring for nobody.
        let _ = ring.send(());
    });
    assert!(store.watch(&subject(key), ring));
    heard
}

#[track_caller]
fn hears(rung: &Receiver<()>) {
    until("it rings", || rung.try_recv().is_ok());
}

sentence! {
    fn a_waiter_hears_of_an_end_and_not_of_renewals_or_other_keys() {
        let text = Redis::shared().fresh();
        let (mut waiter, mut holder) = (store(&text), store(&text));
        let own = won(&mut holder, &request("k", 1));
        let rung = watched(&mut waiter, "k");
        assert_eq!(holder.renew(&own.ownership(), LIMIT).unwrap(), Owned::Yes);
        drop(won(&mut holder, &request("other", 2)));
        // What is told comes in its order: the first thing that is heard is the end.
        let last = watched(&mut waiter, "last");
        drop(won(&mut holder, &request("last", 3)));
        hears(&last);
        assert!(rung.recv_timeout(Duration::from_millis(50)).is_err());
        completed(&mut holder, own, &recorded());
        hears(&rung);
    }

    fn a_claim_that_is_made_shorter_is_heard_of() {
        let text = Redis::shared().fresh();
        let (mut waiter, mut holder) = (store(&text), store(&text));
        let own = won(&mut holder, &request("k", 1)).ownership();
        let rung = watched(&mut waiter, "k");
        assert_eq!(holder.renew_for(&own, LIMIT * 2, LIMIT).unwrap(), Owned::Yes);
        assert_eq!(holder.renew_for(&own, LIMIT / 10, LIMIT).unwrap(), Owned::Yes);
        hears(&rung);
        assert!(rung.try_recv().is_err(), "a longer one is not told");
    }

    fn a_waiter_hears_of_what_is_written_right_after_it_began_to_listen() {
        let text = Redis::shared().fresh();
        let mut holder = store(&text);
        for number in 0..20 {
            let key = format!("k{number}");
            let own = won(&mut holder, &request(&key, number));
            let rung = watched(&mut store(&text), &key);
            completed(&mut holder, own, &recorded());
            hears(&rung);
        }
    }

    fn a_waiter_whose_connection_broke_is_told_and_listens_again() {
        let mut server = Redis::start(Persistence::EveryWrite);
        let text = server.fresh();
        let (mut waiter, mut holder) = (store(&text), store(&text));
        let own = won(&mut holder, &request("k", 1));
        let rung = watched(&mut waiter, "k");
        server.kill();
        hears(&rung);
        server.restart();
        // Told again when it listens again.
        hears(&rung);
        completed(&mut holder, own, &recorded());
        hears(&rung);
    }

    fn who_waits_no_more_leaves_no_connection_behind() {
        let server = Redis::start(Persistence::Memory);
        let text = server.fresh();
        let mut holder = store(&text);
        let own = won(&mut holder, &request("k", 1));
        let mut waiter = store(&text);
        let rung = watched(&mut waiter, "k");
        drop(waiter);
        completed(&mut holder, own, &recorded());
        hears(&rung);
        until("its thread has ended", || {
            !server.cli(&["CLIENT", "LIST", "TYPE", "pubsub"]).contains("cmd=subscribe")
        });
    }
}
