//! Sentences about the store on Redis, each with a store of its own, and what they are made
//! of.

/// What a machine needs for these sentences.
macro_rules! sentence {
    ($(fn $name:ident() $body:block)*) => {
        $(
            #[test]
            #[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
            fn $name() $body
        )*
    };
}

mod acknowledging;
mod cluster;
mod examining;
mod opening;
mod outputs;
mod racing;
mod slow;
mod trouble;
mod watching;

use std::time::Duration;

use doubletap::claim::decide::{Decision, Request};
use doubletap::claim::held::Claim;
use doubletap::claim::holder::{Claimant, Holder, PidNamespace, StartTime, Tie};
use doubletap::claim::time::BootId;
use doubletap::place::{self, Url};
use doubletap::store::chained::ChainStore;
use doubletap::store::lease_alone::LeaseAlone;
use doubletap::store::redis::{RedisShelf, Terms};
use doubletap::store::setup::Setup;
use doubletap::store::{Answer, Completion, Owned, Store as _, StoreError};

/// How long a call may take where nobody cares.
const LIMIT: Duration = Duration::from_secs(30);

/// A store over Redis.
type RedisStore = ChainStore<RedisShelf>;

fn url(text: &str) -> Url {
    place::url(text).unwrap().unwrap()
}

fn terms() -> Terms {
    Terms { setup: Setup::Automatic, acknowledgements: 0 }
}

/// The shelf at a URL, set up if it has to be.
#[track_caller]
fn shelf(text: &str) -> RedisShelf {
    RedisShelf::open(&url(text), LIMIT, terms(), &|_| None).unwrap()
}

/// The store at a URL, set up if it has to be.
#[track_caller]
fn store(text: &str) -> RedisStore {
    ChainStore::over(shelf(text), LIMIT)
}

/// The store at a URL, of which no call takes longer than this.
#[track_caller]
fn store_within(text: &str, limit: Duration) -> RedisStore {
    ChainStore::over(shelf(text), limit)
}

fn claimant() -> Claimant {
    let holder = Holder {
        host: "host.example".into(),
        boot_id: BootId("boot-1".into()),
        pid: 7,
        start: StartTime(7),
        pid_namespace: PidNamespace(7),
    };
    Claimant { holder, tie: Tie::Wrapper, group: None }
}

fn claim(store: &mut RedisStore, request: &Request) -> Result<Answer, StoreError> {
    store.claim(request, &claimant(), &mut LeaseAlone)
}

#[track_caller]
fn won(store: &mut RedisStore, request: &Request) -> Claim {
    match claim(store, request).unwrap() {
        Answer::Won(claim) => claim,
        Answer::Not(why) => panic!("{} was not won: {why:?}", request.subject.key),
    }
}

#[track_caller]
fn refusal(store: &mut RedisStore, request: &Request) -> Decision {
    match claim(store, request).unwrap() {
        Answer::Won(claim) => panic!("{} was won: {claim:?}", request.subject.key),
        Answer::Not(why) => *why,
    }
}

#[track_caller]
fn completed(store: &mut RedisStore, claim: Claim, completion: &Completion) {
    assert_eq!(store.complete(claim, completion).unwrap(), Owned::Yes);
}
