//! What must be durable is acknowledged by as many replicas as asked for, or it fails.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use doubletap::claim::decide::{LeaseTerms, Request, Terms as Asking};
use doubletap::claim::key::{Kind, Subject};
use doubletap::store::chained::ChainStore;
use doubletap::store::redis::{RedisShelf, Terms};
use doubletap::store::{Answer, Owned, Store as _, StoreError, Trouble};

use super::{LIMIT, RedisStore, claim, terms, url, won};
use crate::contract::completion::recorded;
use crate::contract::stage::{request, subject};
use crate::support::servers::hearing::{Ear, deaf, relayed, says};
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

/// A way to the store at a URL, on which the answer to a change is lost as long as it is told
/// to lose it.
fn lossy(text: &str, loses: &Arc<AtomicBool>) -> String {
    let loses = Arc::clone(loses);
    let answered: Arc<Ear> = Arc::new(move |answer| {
        let lost = loses.load(Ordering::SeqCst) && says(answer, "written");
        if lost { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    relayed(text, &deaf(), &answered)
}

#[track_caller]
fn assert_unacknowledged(begun: Instant, error: &StoreError) {
    assert_eq!(error.trouble(), Trouble::Unacknowledged, "{error}");
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
            alone.wait_at_most(LIMIT);
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
    }
    fn what_was_written_though_no_answer_came_is_acknowledged_when_it_is_asked_for_again() {
        let server = Redis::start(Persistence::Memory);
        let loses = Arc::new(AtomicBool::new(true));
        let text = lossy(&server.fresh(), &loses);
        let again = |store: &mut RedisStore, asked: &Request, loses_answers: bool| {
            loses.store(loses_answers, Ordering::SeqCst);
            claim(store, asked)
        };
        for asked in [request("k", 1), lease("name", 2)] {
            let mut store = asking(&text, SOON);
            let error = again(&mut store, &asked, true).unwrap_err();
            assert!(error.what().contains("broke"), "{error}");
            assert_eq!(store.chain(&asked.subject).unwrap().len(), 1, "it was written");
            let begun = Instant::now();
            assert_unacknowledged(begun, &again(&mut store, &asked, false).unwrap_err());

            let replica = server.replica();
            store.wait_at_most(LIMIT);
            let own = won(&mut store, &asked);
            store.wait_at_most(SOON);
            loses.store(true, Ordering::SeqCst);
            let unrecorded = store.complete(own, &recorded()).unwrap_err();
            loses.store(false, Ordering::SeqCst);
            drop(replica);
            let begun = Instant::now();
            let unrecorded = store.complete(unrecorded.claim, &recorded()).unwrap_err();
            assert_unacknowledged(begun, &unrecorded.error);
        }
    }
}
