//! Outputs of any size, and how long they are kept.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use doubletap::store::shelf::{Changes, Durability, Shelf as _, Wanted};
use doubletap::store::{Frames, Store as _, Trouble};

use super::{completed, shelf, store, won};
use crate::contract::completion::{kept, recorded, with_output};
use crate::contract::stage::{older_than, output_in, request, subject};
use crate::support::servers::hearing::{Ear, deaf, relayed, says};
use crate::support::servers::{Persistence, Redis};
use crate::support::{Scene, until};

/// Bytes of which no part is like another.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|place| u8::try_from(place % 251).unwrap()).collect()
}

/// A way to a store that forgets what came of an output before its second part comes, so
/// many times.
fn forgetful(server: &Arc<Redis>, times: u32) -> String {
    const GONE: &str =
        "for _, key in ipairs(redis.call('KEYS', '*upload*')) do redis.call('UNLINK', key) end";
    let (heard, forgotten, to) = (AtomicU32::new(0), AtomicU32::new(0), Arc::clone(server));
    let asked: Arc<Ear> = Arc::new(move |said| {
        let is_second = says(said, "RPUSH") && heard.fetch_add(1, Ordering::SeqCst) % 2 == 1;
        if is_second && forgotten.fetch_add(1, Ordering::SeqCst) < times {
            to.cli(&["EVAL", GONE, "0"]);
        }
        ControlFlow::Continue(())
    });
    relayed(&server.fresh(), &asked, &deaf())
}

sentence! {
    fn an_output_of_any_size_comes_back_as_it_was() {
        let mut store = store(&Redis::shared().fresh());
        for (number, length) in
            [0, 1, (512 << 10) - 1, 512 << 10, (512 << 10) + 1, 1 << 20, (1 << 20) + 1, 5_000_001]
                .into_iter()
                .enumerate()
        {
            let number = u32::try_from(number).unwrap();
            let own = won(&mut store, &request(&format!("k{number}"), number));
            let fence = own.attempt().fence;
            let written = bytes(length);
            completed(&mut store, own, &with_output(&written, recorded()));
            assert!(output_in(&mut store, fence) == Some(written), "{length} bytes");
            let in_memory = matches!(store.output(fence).unwrap(), Some(Frames::Bytes(_)));
            assert_eq!(in_memory, length <= 1 << 20, "{length} bytes");
        }
    }

    fn an_upload_that_becomes_no_output_is_gone_at_once() {
        let server = Redis::start(Persistence::Memory);
        let text = server.url("p");
        let own = won(&mut store(&text), &request("k", 1));
        let mut shelf = shelf(&text);
        let chain = subject("k");
        let mut asked = 0;
        shelf
            .change(Wanted::of(&chain), Durability::Power, &mut |page, _| {
                asked += 1;
                if asked == 2 {
                    return Ok(Changes::default());
                }
                // Somebody else is faster.
                let renewed = store(&text).renew(&own.ownership(), super::LIMIT).unwrap();
                assert_eq!(renewed, doubletap::store::Owned::Yes);
                let output = Some((own.attempt().fence, Frames::Bytes(bytes(2 << 20))));
                Ok(Changes { changed: page.attempts.clone(), output, ..Changes::default() })
            })
            .unwrap();
        assert_eq!(asked, 2);
        assert!(!server.cli(&["KEYS", "*"]).contains("upload"));
        assert!(shelf.output(own.attempt().fence).unwrap().is_none());
    }

    fn an_output_goes_by_itself_long_after_its_record_expired_and_no_other_does() {
        const WEEK: i64 = 7 * 24 * 60 * 60 * 1000;
        let server = Redis::start(Persistence::Memory);
        let mut store = store(&server.url("p"));
        let left = |fence: doubletap::claim::fence::Fence| -> i64 {
            server.cli(&["PTTL", &format!("{{p}}:out:{}", fence.0)]).parse().unwrap()
        };
        let hour = Some(Duration::from_secs(3600));
        let own = won(&mut store, &request("k", 1));
        let fence = own.attempt().fence;
        let promise = doubletap::claim::attempt::Promise::Explicit;
        completed(&mut store, own, &with_output(b"out", kept(hour, promise)));
        let ms = left(fence);
        assert!((WEEK..=WEEK + 3_600_000).contains(&ms), "{ms}");
        assert_eq!(server.cli(&["PTTL", "{p}:fences"]), "-1");
        let own = won(&mut store, &request("other", 2));
        let fence = own.attempt().fence;
        completed(&mut store, own, &with_output(b"out", recorded()));
        assert_eq!(left(fence), -1);
    }

    fn an_output_whose_beginning_was_forgotten_on_the_way_is_sent_anew_and_never_recorded_without() {
        let server = Arc::new(Redis::start(Persistence::Memory));
        let mut store = store(&forgetful(&server, 1));
        let own = won(&mut store, &request("k", 1));
        let (fence, written) = (own.attempt().fence, bytes(1 << 20));
        completed(&mut store, own, &with_output(&written, recorded()));
        assert!(output_in(&mut store, fence) == Some(written));
        assert!(!server.cli(&["KEYS", "*"]).contains("upload"));
    }

    fn an_output_that_is_forgotten_again_and_again_is_what_does_not_fit() {
        let server = Arc::new(Redis::start(Persistence::Memory));
        let mut store = store(&forgetful(&server, u32::MAX));
        let own = won(&mut store, &request("k", 1));
        let unrecorded = store.complete(own, &with_output(&bytes(1 << 20), recorded())).unwrap_err();
        assert_eq!(unrecorded.error.trouble(), Trouble::Output, "{}", unrecorded.error);
        completed(&mut store, unrecorded.claim, &recorded());
    }

    fn what_is_pruned_while_its_output_is_read_runs_anew() {
        let text = Redis::shared().fresh();
        let other = Mutex::new(store(&text));
        let asked: Arc<Ear> = Arc::new(move |said| {
            if says(said, "LINDEX") {
                let mut other = other.lock().unwrap();
                until("it ended some time ago", || {
                    other.sweep(&older_than(Duration::ZERO), &mut |_| ()).unwrap();
                    other.chain(&subject("k")).unwrap().is_empty()
                });
            }
            ControlFlow::Continue(())
        });
        let scene = Scene::on(relayed(&text, &asked, &deaf()));
        for runs in [1, 2] {
            scene.once("k").sh("echo >>runs; head -c 3000000 /dev/zero").any_stdout().run();
            assert_eq!(scene.runs(), runs);
        }
    }
}
