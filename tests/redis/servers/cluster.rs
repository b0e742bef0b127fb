//! A cluster refuses what touches keys of more than one slot; and what is in which key.

use std::collections::BTreeSet;
use std::time::Duration;

use doubletap::claim::key::{Key, Subject};
use doubletap::store::shelf::{Asked, Shelf as _};
use doubletap::store::{Force, Store as _};

use super::{completed, refusal, shelf, store, won};
use crate::contract::completion::{recorded, with_output};
use crate::contract::stage::{older_than, request, subject, subject_in};
use crate::support::servers::{Persistence, Redis};
use crate::support::until;

sentence! {
    fn a_cluster_keeps_a_store_on_one_node() {
        let server = Redis::cluster();
        let mut store = store(&server.url("p"));
        let own = won(&mut store, &request("k", 1));
        let mut step = request("s", 2);
        step.subject = Subject::step(own.attempt().operation, Key::new("s").unwrap());
        step.parent = Some(own.ownership());
        let stepped = won(&mut store, &step);
        completed(&mut store, stepped, &with_output(b"step", recorded()));
        completed(&mut store, own, &with_output(&vec![1; 3 << 20], recorded()));
        drop(won(&mut store, &request("other", 3)));
        let keys = server.cli(&["KEYS", "*"]);
        let slots: BTreeSet<_> =
            keys.lines().map(|key| server.cli(&["CLUSTER", "KEYSLOT", key])).collect();
        assert_eq!(slots.len(), 1, "{keys}");
        assert!(keys.lines().count() > 9, "{keys}");
        let _ = store.forget(&subject("k"), Force::No, &mut super::LeaseAlone).unwrap();
        until("it ended some time ago", || {
            store.sweep(&older_than(Duration::ZERO), &mut |_| ()).unwrap().keys == 1
        });
    }

    fn nothing_is_left_of_what_is_removed_with_its_steps() {
        let server = Redis::start(Persistence::Memory);
        let mut store = store(&server.url("p"));
        let own = won(&mut store, &request("k", 1));
        let mut step = request("s", 2);
        step.subject = Subject::step(own.attempt().operation, Key::new("s").unwrap());
        step.parent = Some(own.ownership());
        let stepped = won(&mut store, &step);
        completed(&mut store, stepped, &with_output(b"step", recorded()));
        completed(&mut store, own, &with_output(&vec![1; 3 << 20], recorded()));
        assert!(matches!(refusal(&mut store, &request("k", 3)), doubletap::claim::decide::Decision::Replay(_)));
        until("it ended some time ago", || {
            store.sweep(&older_than(Duration::ZERO), &mut |_| ()).unwrap().keys == 1
        });
        let mut left: Vec<_> = server.cli(&["KEYS", "*"]).lines().map(str::to_owned).collect();
        left.sort();
        assert_eq!(left, ["{p}:fence", "{p}:revision", "{p}:version"]);
        assert_eq!(store.longest_lease().unwrap(), Duration::ZERO);
    }

    fn a_walk_tells_of_each_chain_once_and_in_order() {
        let url = Redis::shared().fresh();
        let mut store = store(&url);
        let mut expected = Vec::new();
        for number in 0..450 {
            let namespace = ["a", "a b", "b", "é"][number as usize % 4];
            let mut request = request("k", number);
            request.subject = subject_in(namespace, &format!("k{number}"));
            expected.push(request.subject.clone());
            drop(won(&mut store, &request));
        }
        expected.sort();
        let mut told = Vec::new();
        let mut shelf = shelf(&url);
        shelf
            .walk(Asked::Keys(None), &mut |chain| {
                assert_eq!(chain.attempts.len(), 1);
                told.push(chain.subject);
                Ok(())
            })
            .unwrap();
        assert_eq!(told, expected);
        told.clear();
        let namespace = expected.iter().find(|subject| subject.namespace.as_str() == "a").unwrap();
        let namespace = namespace.namespace.clone();
        shelf
            .walk(Asked::Keys(Some(&namespace)), &mut |chain| {
                told.push(chain.subject);
                Ok(())
            })
            .unwrap();
        expected.retain(|subject| subject.namespace == namespace);
        assert_eq!(told, expected);
        assert_eq!(store.unended().unwrap().len(), 450);
    }
}
