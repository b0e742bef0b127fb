//! What a store must be before it can be used, and who may use it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use doubletap::store::chained::ChainStore;
use doubletap::store::redis::{RedisShelf, Terms, setup};
use doubletap::store::setup::{Made, Setup};
use doubletap::store::{Store as _, StoreError, Trouble};

use super::{LIMIT, completed, terms, url, won};
use crate::contract::completion::recorded;
use crate::contract::stage::request;
use crate::support::servers::{Persistence, Redis};

fn open(text: &str, required: Setup) -> Result<RedisShelf, StoreError> {
    RedisShelf::open(&url(text), LIMIT, Terms { setup: required, ..terms() }, &|_| None)
}

#[track_caller]
fn refused(text: &str) -> StoreError {
    let error = open(text, Setup::Automatic).err().unwrap();
    assert_eq!(error.trouble(), Trouble::Refused, "{error}");
    for secret in [Redis::PASSWORD, "wr0ng"] {
        assert!(!error.to_string().contains(secret), "{error}");
    }
    error
}

/// A URL with somebody who logs in.
fn as_user(text: &str, user: &str, password: &str) -> String {
    text.replacen("://", &format!("://{user}:{password}@"), 1)
}

/// How many keys have been claimed: no two sentences or stores share one.
static NUMBER: AtomicU32 = AtomicU32::new(1);

#[track_caller]
fn assert_works(text: &str) {
    let mut store = ChainStore::over(open(text, Setup::Automatic).unwrap(), LIMIT);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let own = won(&mut store, &request(&format!("k{number}"), number));
    completed(&mut store, own, &recorded());
}

sentence! {
    fn a_store_is_set_up_first_and_what_to_type_is_said() {
        let text = Redis::shared().fresh();
        let error = open(&text, Setup::Required).err().unwrap();
        assert_eq!(error.trouble(), Trouble::Refused);
        let typed = format!("doubletap setup --store '{text}'");
        assert!(error.remedy().unwrap().ends_with(&typed), "{error}");
        assert_eq!(setup(&url(&text), LIMIT, &|_| None).unwrap(), Made::Created);
        assert_eq!(setup(&url(&text), LIMIT, &|_| None).unwrap(), Made::Nothing);
        assert!(open(&text, Setup::Required).is_ok());
    }

    fn of_twenty_who_set_a_store_up_at_once_one_creates_it() {
        let text = Redis::shared().fresh();
        let made: Vec<Made> = thread::scope(|scope| {
            let makers =
                (0..20).map(|_| scope.spawn(|| setup(&url(&text), LIMIT, &|_| None).unwrap()));
            let makers: Vec<_> = makers.collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| **made == Made::Created).count(), 1);
        assert_eq!(made.iter().filter(|made| **made == Made::Nothing).count(), 19);
    }

    fn a_store_of_a_later_release_is_left_alone() {
        let server = Redis::start(Persistence::Memory);
        let text = server.url("p");
        assert_eq!(server.cli(&["SET", "{p}:version", "2"]), "OK");
        for error in [
            refused(&text),
            open(&text, Setup::Required).err().unwrap(),
            setup(&url(&text), LIMIT, &|_| None).unwrap_err(),
        ] {
            assert_eq!(error.trouble(), Trouble::Refused);
            assert!(error.what().contains("format 2"), "{error}");
        }
        assert_eq!(server.cli(&["KEYS", "*"]), "{p}:version");
    }

    fn a_key_that_is_no_number_of_a_format_is_somebody_elses_and_stays_as_it_is() {
        let server = Redis::start(Persistence::Memory);
        let text = server.url("p");
        for theirs in ["1.4.2", "", "one", "-1", "0x1", " 1"] {
            assert_eq!(server.cli(&["SET", "{p}:version", theirs]), "OK");
            for error in [
                refused(&text),
                open(&text, Setup::Required).err().unwrap(),
                setup(&url(&text), LIMIT, &|_| None).unwrap_err(),
            ] {
                assert_eq!(error.trouble(), Trouble::Refused);
                assert!(error.remedy().unwrap().contains("?prefix="), "{theirs:?}: {error}");
            }
            assert_eq!(server.cli(&["GET", "{p}:version"]), theirs);
        }
    }

    fn two_prefixes_are_two_stores() {
        let server = Redis::start(Persistence::Memory);
        assert_works(&server.url("one"));
        assert_works(&server.url("two"));
    }

    fn a_user_and_a_password_are_said_in_the_url_or_beside_it() {
        let server = Redis::shared();
        let text = server.fresh();
        assert_works(&as_user(&text, Redis::USER, Redis::PASSWORD));
        let beside = text.replacen("://", &format!("://{}@", Redis::USER), 1);
        let password =
            |name: &str| (name == "REDISCLI_AUTH").then(|| Redis::PASSWORD.to_owned().into());
        assert!(RedisShelf::open(&url(&beside), LIMIT, terms(), &password).is_ok());
        let error = refused(&as_user(&text, Redis::USER, "wr0ng"));
        assert!(error.what().contains("WRONGPASS"), "{error}");
        refused(&beside);
    }

    fn a_user_who_needs_no_password_is_named_alone() {
        let server = Redis::start(Persistence::Memory);
        let rules = ["ACL", "SETUSER", "open", "on", "nopass", "~{p}:*", "&*", "+@all"];
        assert_eq!(server.cli(&rules), "OK");
        assert_eq!(server.cli(&["ACL", "SETUSER", "default", "off"]), "OK");
        let text = server.url("p");
        refused(&text);
        assert_works(&text.replacen("://", "://open@", 1));
        assert_works(&text.replacen("://", "://open:@", 1));
        let error = refused(&text.replacen("://", &format!("://{}@", Redis::USER), 1));
        assert!(error.remedy().unwrap().contains("REDISCLI_AUTH"), "{error}");
    }

    fn a_user_who_may_not_is_told_so_and_one_who_may_do_what_is_needed_is_not() {
        let server = Redis::start(Persistence::Memory);
        let text = server.url("p");
        let user = |name: &str, rules: &[&str]| {
            let mut words = vec!["ACL", "SETUSER", name, "on", ">wr0ng"];
            words.extend(rules);
            assert_eq!(server.cli(&words), "OK");
        };
        user("reader", &["~{p}:*", "+@read"]);
        assert!(refused(&as_user(&text, "reader", "wr0ng")).what().contains("NOPERM"));
        user("stranger", &["~{other}:*", "&*", "+@all"]);
        refused(&as_user(&text, "stranger", "wr0ng"));
        user("writer", &["~{p}:*", "&{p}:*", "+@all", "-@dangerous", "-@admin"]);
        assert_works(&as_user(&text, "writer", "wr0ng"));
        let mut store =
            ChainStore::over(open(&as_user(&text, "writer", "wr0ng"), Setup::Required).unwrap(), LIMIT);
        assert!(store.examine().iter().all(|finding| !finding.found.contains("wr0ng")));
        // Nobody has to hear of it.
        user("mute", &["~{p}:*", "resetchannels", "+@all"]);
        let mut mute = ChainStore::over(open(&as_user(&text, "mute", "wr0ng"), Setup::Required).unwrap(), LIMIT);
        let own = won(&mut mute, &request("other", 2));
        completed(&mut mute, own, &recorded());
        assert!(!mute.watch(&crate::contract::stage::subject("k"), Box::new(|| ())));
    }

    fn a_user_who_may_do_some_of_it_does_nothing_by_halves() {
        let server = Redis::start(Persistence::Memory);
        let text = server.url("p");
        drop(open(&text, Setup::Automatic).unwrap());
        for denied in ["-zadd", "-hset", "-zrem", "-persist"] {
            let rules = ["ACL", "SETUSER", "some", "on", ">wr0ng", "~{p}:*", "&*", "+@all", denied];
            assert_eq!(server.cli(&rules), "OK");
            let shelf = open(&as_user(&text, "some", "wr0ng"), Setup::Required).unwrap();
            let mut store = ChainStore::over(shelf, LIMIT);
            let error = super::claim(&mut store, &request("k", 1)).unwrap_err();
            assert_eq!(error.trouble(), Trouble::Refused, "{error}");
            assert!(error.what().contains("NOPERM"), "{error}");
            let mut left: Vec<_> = server.cli(&["KEYS", "*"]).lines().map(str::to_owned).collect();
            left.sort();
            assert_eq!(left, ["{p}:fence", "{p}:version"], "{denied}");
        }
    }

    fn a_socket_and_a_database_are_said_in_the_url() {
        let server = Redis::start(Persistence::Memory);
        let socket = server.authority().with_file_name("redis.sock");
        let text = format!("redis+unix://{}?prefix=p", socket.display());
        assert_works(&text);
        assert!(server.cli(&["KEYS", "*"]).contains("{p}:version"));
        assert_works(&server.url("q").replace("/0?", "/3?"));
        assert!(!server.cli(&["KEYS", "*"]).contains("{q}:version"));
        assert!(server.cli(&["-n", "3", "KEYS", "*"]).contains("{q}:version"));
    }

    fn a_certificate_is_verified_unless_somebody_says_otherwise() {
        let server = Redis::shared();
        let text = server.tls_url("tls");
        let named = format!("{text}&cacert={}", server.authority().display());
        assert_works(&named);
        let refused = |text: &str| open(text, Setup::Automatic).err().unwrap();
        let unknown = refused(&text);
        assert!(unknown.to_string().contains("?cacert=FILE"), "{unknown}");
        let misnamed = refused(&named.replace("localhost", "[::ffff:127.0.0.1]"));
        assert!(misnamed.what().contains("certificate"), "{misnamed}");
        assert_works(&format!("{text}&insecure=true"));
        assert!(refused(&text.replace("rediss", "redis")).trouble() != Trouble::Refused);
    }

    fn a_server_that_speaks_no_tls_on_a_port_is_not_waited_for_there() {
        let server = Redis::shared();
        let began = Instant::now();
        let why = refused(&as_user(&server.url("p").replace("redis", "rediss"), "some", "wr0ng"));
        assert!(why.what().contains("speaks no TLS on port"), "{why}");
        assert!(began.elapsed() < LIMIT / 2, "{:?}", began.elapsed());
        // It may be there, and take its time.
        let mut silent = Redis::start(Persistence::Memory);
        silent.pause();
        let text = silent.url("p").replace("redis", "rediss");
        let terms = Terms { setup: Setup::Required, ..terms() };
        let late = RedisShelf::open(&url(&text), Duration::from_secs(3), terms, &|_| None);
        let late = late.err().unwrap();
        assert_eq!(late.trouble(), Trouble::Away, "{late}");
    }
}
