//! What must be durable is acknowledged by as many replicas as asked for, or it fails.

use std::time::{Duration, Instant};

use doubletap::claim::decide::{LeaseTerms, Request, Terms as Asking};
use doubletap::claim::key::{Kind, Subject};
use doubletap::store::chained::ChainStore;
use doubletap::store::redis::{RedisShelf, Terms};
use doubletap::store::{Answer, Owned, Store as _, StoreError, Trouble};

use super::{LIMIT, RedisStore, claim, terms, url, won};
use crate::contract::stage::{request, subject};
use crate::support::servers::{Persistence, Redis};

/// A time that is over soon.
const SOON: Duration = Duration::from_millis(400);

/// The store at a URL, of which what must be durable needs one acknowledgement.
#[track_caller]
fn asking(text: &str, limit: Duration) -> RedisStore {
    let asking = Terms { acknowledgements: 1, ..terms() };
    let shelf = RedisShelf::open(&url(text), limit, asking, &|_| None).unwrap();
    ChainStore::over(shelf, limit)
}

/// A request for a lease of `name`.
fn lease(name: &str, number: u32) -> Request {
    let terms = Asking::Lease(LeaseTerms { slots: 1, min_hold: Duration::ZERO });
    let subject = Subject { kind: Kind::Lease, ..subject(name) };
    Request { subject, terms, ..request(name, number) }
}

#[track_caller]
fn assert_unacknowledged(begun: Instant, error: &StoreError) {
    assert_eq!(error.trouble(), Trouble::Away, "{error}");
    assert!(error.what().contains("0 of 1"), "{error}");
    assert!(begun.elapsed() < SOON * 8, "after {:?}: {error}", begun.elapsed());
}

sentence! {
    fn acknowledgements_are_waited_for_and_told_of_where_they_do_not_come() {
        let server = Redis::start(Persistence::Memory);
        let text = server.fresh();
        for asked in [request("k", 1), lease("name", 2)] {
            let mut alone = asking(&text, SOON);
            for _ in 0..2 {
                // The second time it is there, and no more acknowledged than before.
                let begun = Instant::now();
                let error = claim(&mut alone, &asked).unwrap_err();
                assert_unacknowledged(begun, &error);
            }
            let replica = server.replica();
            assert!(matches!(claim(&mut alone, &asked).unwrap(), Answer::Won(_)));
            drop(won(&mut asking(&text, LIMIT), &request("other", 3)));
            drop(replica);
        }
    }

    fn a_renewal_that_no_replica_has_is_none() {
        let server = Redis::start(Persistence::Memory);
        let text = server.fresh();
        for asked in [request("k", 1), lease("name", 2)] {
            let replica = server.replica();
            let mut store = asking(&text, LIMIT);
            let owner = won(&mut store, &asked).ownership();
            assert_eq!(store.renew(&owner, LIMIT).unwrap(), Owned::Yes);
            drop(replica);
            let begun = Instant::now();
            let error = store.renew(&owner, SOON).unwrap_err();
            assert_unacknowledged(begun, &error);
        }
    }}
