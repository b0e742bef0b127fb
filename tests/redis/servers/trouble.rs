//! Servers that are gone, silent, full, empty or copies.

use std::time::{Duration, Instant};

use doubletap::claim::decide::Decision;
use doubletap::store::chained::ChainStore;
use doubletap::store::redis::{RedisShelf, Terms};
use doubletap::store::setup::Setup;
use doubletap::store::{Owned, Store as _, StoreError, Trouble};

use super::{LIMIT, claim, completed, refusal, store, store_within, terms, url, won};
use crate::contract::completion::{recorded, with_output};
use crate::contract::stage::{older_than, output_in, request, subject};
use crate::support::servers::{Persistence, Redis};
use crate::support::until;

/// A time that is over soon.
const SOON: Duration = Duration::from_millis(400);

/// What an error must be that came in time.
#[track_caller]
fn assert_in_time(begun: Instant, error: &StoreError, trouble: Trouble) {
    assert_eq!(error.trouble(), trouble, "{error}");
    assert!(begun.elapsed() < SOON * 8, "after {:?}: {error}", begun.elapsed());
}

fn restarted(server: &mut Redis) {
    server.kill();
    server.restart();
}

sentence! {
    fn a_restart_that_forgets_nothing_is_survived_in_mid_claim() {
        let mut server = Redis::start(Persistence::EveryWrite);
        let mut store = store(&server.fresh());
        let own = won(&mut store, &request("k", 1));
        restarted(&mut server);
        let _ = store.renew(&own.ownership(), LIMIT).unwrap();
        restarted(&mut server);
        completed(&mut store, own, &with_output(b"out", recorded()));
        restarted(&mut server);
        let Decision::Replay(record) = refusal(&mut store, &request("k", 2)) else {
            panic!("it is not replayed")
        };
        assert_eq!(output_in(&mut store, record.fence).as_deref(), Some(&b"out"[..]));
    }

    fn a_claim_whose_answer_was_lost_is_had_by_asking_again() {
        let mut server = Redis::start(Persistence::EveryWrite);
        let url = server.fresh();
        let own = won(&mut store(&url), &request("k", 1));
        restarted(&mut server);
        let again = won(&mut store(&url), &request("k", 1));
        assert_eq!(again.attempt(), own.attempt());
    }

    fn a_server_that_is_gone_is_told_of_at_once() {
        let mut server = Redis::start(Persistence::Memory);
        let mut store = store(&server.fresh());
        server.stop();
        let begun = Instant::now();
        let error = claim(&mut store, &request("k", 1)).unwrap_err();
        assert_in_time(begun, &error, Trouble::Away);
        assert!(error.what().contains("redis://"), "{error}");
        assert!(error.what().contains("refused"), "{error}");
        assert!(error.remedy().is_some());
    }

    fn a_name_without_an_address_is_told_of() {
        let place = url("redis://nowhere.invalid");
        let error = RedisShelf::open(&place, LIMIT, terms(), &|_| None).err().unwrap();
        assert_eq!(error.trouble(), Trouble::Away);
        assert!(error.what().contains("nowhere.invalid"), "{error}");
    }

    fn a_silent_server_ends_every_call_in_time_and_none_after_it_suffers() {
        let mut server = Redis::start(Persistence::Memory);
        let text = server.fresh();
        let mut store = store_within(&text, SOON);
        let own = won(&mut store, &request("k", 1));
        server.pause();
        for _ in 0..2 {
            let begun = Instant::now();
            let error = claim(&mut store, &request("other", 2)).unwrap_err();
            assert_in_time(begun, &error, Trouble::Away);
        }
        let begun = Instant::now();
        let error = store.renew(&own.ownership(), SOON).unwrap_err();
        assert_in_time(begun, &error, Trouble::Away);
        let begun = Instant::now();
        let opened = RedisShelf::open(&url(&text), SOON, terms(), &|_| None);
        assert_in_time(begun, &opened.err().unwrap(), Trouble::Away);
        server.resume();
        completed(&mut store, own, &recorded());
        assert!(matches!(refusal(&mut store, &request("k", 3)), Decision::Replay(_)));
    }

    fn a_full_server_takes_nothing_in_halves_and_lets_room_be_made() {
        let server = Redis::start(Persistence::Memory);
        let mut store = store(&server.fresh());
        let own = won(&mut store, &request("k", 1));
        completed(&mut store, own, &recorded());
        assert_eq!(server.cli(&["CONFIG", "SET", "maxmemory", "1"]), "OK");
        let error = claim(&mut store, &request("new", 2)).unwrap_err();
        assert_eq!(error.trouble(), Trouble::Full, "{error}");
        assert!(error.remedy().is_some());
        assert!(store.chain(&subject("new")).unwrap().is_empty());
        let gone = older_than(Duration::ZERO);
        until("it ended some time ago", || {
            store.sweep(&gone, &mut |_| ()).unwrap().keys == 1
        });
        assert_eq!(server.cli(&["CONFIG", "SET", "maxmemory", "0"]), "OK");
        drop(won(&mut store, &request("new", 2)));
    }

    fn output_that_does_not_fit_leaves_the_claim_to_be_completed_without() {
        let server = Redis::start(Persistence::Memory);
        let mut store = store(&server.fresh());
        let own = won(&mut store, &request("k", 1));
        assert_eq!(server.cli(&["CONFIG", "SET", "maxmemory", "1"]), "OK");
        let unrecorded =
            store.complete(own, &with_output(&vec![7; 3 << 20], recorded())).unwrap_err();
        assert_eq!(unrecorded.error.trouble(), Trouble::Full, "{}", unrecorded.error);
        assert_eq!(server.cli(&["CONFIG", "SET", "maxmemory", "0"]), "OK");
        completed(&mut store, unrecorded.claim, &recorded());
    }

    fn a_store_that_vanished_under_us_is_no_empty_store() {
        let server = Redis::start(Persistence::Memory);
        let mut store = store(&server.fresh());
        let own = won(&mut store, &request("k", 1));
        server.flush();
        let error = claim(&mut store, &request("k", 2)).unwrap_err();
        assert_eq!(error.trouble(), Trouble::Refused, "{error}");
        assert!(error.remedy().unwrap().contains("doubletap setup --store "), "{error}");
        assert!(store.complete(own, &recorded()).is_err());
        assert_eq!(server.cli(&["DBSIZE"]), "0");
    }

    fn scripts_that_a_server_has_forgotten_are_sent_again() {
        let server = Redis::start(Persistence::Memory);
        let mut store = store(&server.fresh());
        let own = won(&mut store, &request("k", 1));
        assert_eq!(server.cli(&["SCRIPT", "FLUSH"]), "OK");
        completed(&mut store, own, &recorded());
    }

    fn a_copy_of_a_server_is_not_written() {
        let server = Redis::start(Persistence::Memory);
        let text = server.fresh();
        let own = won(&mut store(&text), &request("k", 1));
        let replica = server.replica();
        let name = text.split_once('?').unwrap().1.trim_start_matches("prefix=");
        let there = url(&replica.url(name));
        let required = Terms { setup: Setup::Required, ..terms() };
        let shelf = RedisShelf::open(&there, LIMIT, required, &|_| None).unwrap();
        let mut store = ChainStore::over(shelf, LIMIT);
        assert_eq!(store.chain(&subject("k")).unwrap(), [own.attempt().clone()]);
        let error = claim(&mut store, &request("new", 2)).unwrap_err();
        assert_eq!(error.trouble(), Trouble::ReadOnly, "{error}");
    }

    fn a_fail_over_to_a_copy_that_was_behind_forgets_a_claim() {
        let mut server = Redis::start(Persistence::Memory);
        let text = server.fresh();
        let mut store = store(&text);
        let mut replica = server.replica();
        // It is cut off from the first, for a moment.
        assert_eq!(replica.cli(&["REPLICAOF", "NO", "ONE"]), "OK");
        let own = won(&mut store, &request("k", 1));
        server.kill();
        replica.take_over(&server);
        // Best effort is what it is called: another may have the key now, though the first
        // runs still. It learns so, and its fence is the lower one.
        let other = won(&mut store, &request("k", 2));
        assert!(other.attempt().fence > own.attempt().fence);
        assert!(matches!(
            store.complete(own, &recorded()).unwrap(),
            Owned::Lost(_)
        ));
        completed(&mut store, other, &recorded());
    }
}
