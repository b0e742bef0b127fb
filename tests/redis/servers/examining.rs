//! What `doctor` is told of a server.

use std::collections::BTreeMap;

use doubletap::store::chained::ChainStore;
use doubletap::store::redis::{RedisShelf, Terms};
use doubletap::store::{Finding, Grade, Store as _};

use super::{LIMIT, store, terms, url};
use crate::support::servers::{Persistence, Redis};

fn findings(text: &str, acknowledgements: u32) -> BTreeMap<&'static str, Finding> {
    let asking = Terms { acknowledgements, ..terms() };
    let shelf = RedisShelf::open(&url(text), LIMIT, asking, &|_| None).unwrap();
    let found = ChainStore::over(shelf, LIMIT).examine();
    found.into_iter().map(|finding| (finding.check, finding)).collect()
}

sentence! {
    fn the_servers_settings_say_what_it_promises() {
        for (persistence, grade) in [
            (Persistence::Memory, Grade::Bad),
            (Persistence::EverySecond, Grade::Note),
            (Persistence::EveryWrite, Grade::Ok),
        ] {
            let server = Redis::start(persistence);
            let found = findings(&server.fresh(), 0);
            let checks: Vec<_> = found.keys().copied().collect();
            assert_eq!(
                checks,
                ["durability", "eviction", "format", "replication", "rows", "server", "tls"]
            );
            for (check, finding) in &found {
                let expected = if *check == "durability" { grade } else { Grade::Ok };
                assert_eq!(finding.grade, expected, "{finding:?}");
                assert_eq!(finding.remedy.is_some(), expected != Grade::Ok, "{finding:?}");
            }
        }
    }

    fn a_server_that_drops_records_is_not_as_it_must_be() {
        let server = Redis::start(Persistence::EveryWrite);
        assert_eq!(server.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]), "OK");
        let found = &findings(&server.fresh(), 0)["eviction"];
        assert_eq!(found.grade, Grade::Bad);
        assert!(found.found.contains("allkeys-lru"), "{found:?}");
    }

    fn copies_that_follow_later_are_told_of() {
        let server = Redis::start(Persistence::EveryWrite);
        let text = server.fresh();
        assert_eq!(findings(&text, 0)["replication"].grade, Grade::Ok);
        assert_eq!(findings(&text, 1)["replication"].grade, Grade::Bad);
        let replica = server.replica();
        assert_eq!(findings(&text, 0)["replication"].grade, Grade::Note);
        assert_eq!(findings(&text, 1)["replication"].grade, Grade::Ok);
        drop(replica);
    }

    fn a_server_that_is_gone_is_one_finding() {
        let mut server = Redis::start(Persistence::Memory);
        let mut store = store(&server.fresh());
        server.stop();
        let found = store.examine();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].check, found[0].grade), ("server", Grade::Bad));
    }

    fn a_password_is_in_no_finding() {
        let text = Redis::shared().fresh();
        let login = format!("://{}:{}@", Redis::USER, Redis::PASSWORD);
        for (_, finding) in findings(&text.replacen("://", &login, 1), 0) {
            assert!(!format!("{finding:?}").contains(Redis::PASSWORD), "{finding:?}");
        }
    }
}
