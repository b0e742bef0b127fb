//! Servers whose answers take long, or never come.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use doubletap::claim::decide::Decision;
use doubletap::store::{Owned, Store as _};

use super::{LIMIT, completed, refusal, store, won};
use crate::contract::completion::recorded;
use crate::contract::stage::request;
use crate::support::processes::state;
use crate::support::servers::Redis;
use crate::support::servers::hearing::{Ear, deaf, far, relayed, says};
use crate::support::{Scene, Signal, until};

/// A way to a server that never hears of a change.
fn unheard(text: &str) -> String {
    let asked: Arc<Ear> = Arc::new(|said| {
        while says(said, "read_ms") {
            thread::park();
        }
        ControlFlow::Continue(())
    });
    relayed(text, &asked, &deaf())
}

/// A scene at such a place that is set up, on a server that knows what it will be asked.
fn scene_at(place: String) -> Scene {
    let scene = Scene::on(place);
    scene.call("setup").run();
    scene.once("warm").sh("true").run();
    scene
}

sentence! {
    fn a_server_whose_answers_take_longer_than_a_second_takes_claims_renewals_and_ends() {
        let ms = Arc::new(AtomicU64::new(0));
        let mut store = store(&far(&Redis::shared().fresh(), &ms));
        let warm = won(&mut store, &request("warm", 1));
        completed(&mut store, warm, &recorded());
        ms.store(1200, Ordering::SeqCst);
        let own = won(&mut store, &request("k", 2));
        assert_eq!(store.renew(&own.ownership(), LIMIT).unwrap(), Owned::Yes);
        completed(&mut store, own, &recorded());
        assert!(matches!(refusal(&mut store, &request("k", 3)), Decision::Replay(_)));
    }

    fn the_time_for_the_store_is_the_time_that_a_claim_may_take() {
        let url = Redis::shared().fresh();
        drop(scene_at(url.clone()));
        let ms = Arc::new(AtomicU64::new(0));
        let scene = Scene::on(far(&url, &ms));
        ms.store(1100, Ordering::SeqCst);
        scene.once("k --store-timeout 1m").sh("echo >>runs").run();
        assert_eq!(scene.runs(), 1);
    }

    fn the_time_for_the_store_is_the_time_that_opening_it_may_take() {
        let silent: Arc<Ear> = Arc::new(|_| -> ControlFlow<()> {
            loop {
                thread::park();
            }
        });
        let scene = Scene::on(relayed(&Redis::shared().fresh(), &silent, &deaf()));
        let began = Instant::now();
        let call = scene.once("k --store-timeout 2s").sh("echo >>runs").status(125);
        call.note(&["did not answer within 2s"]).run();
        let took = began.elapsed();
        assert!(took < Duration::from_millis(3500), "it took {took:?}");
    }

    fn who_waits_is_given_what_takes_longer_than_a_look_may_at_first() {
        let url = Redis::shared().fresh();
        drop(scene_at(url.clone()));
        let ms = Arc::new(AtomicU64::new(0));
        let scene = Scene::on(far(&url, &ms));
        let mut gate = scene.gate();
        let holder = scene.begun(scene.hanging("k").env("DOUBLETAP_STORE", &url));
        let waiter = scene.attempt("k -v --wait 5m").any_stderr().spawn();
        until("it waits", || !waiter.stderr_so_far().is_empty());
        ms.store(2500, Ordering::SeqCst);
        gate.open();
        holder.finish();
        waiter.finish();
        assert_eq!(scene.runs(), 1);
    }

    fn a_claim_that_no_answer_comes_to_names_the_time_for_the_store() {
        let url = Redis::shared().fresh();
        drop(scene_at(url.clone()));
        let scene = Scene::on(unheard(&url));
        let call = scene.once("k --store-timeout 3s").sh("echo >>runs").status(125);
        call.note(&["did not answer within 3s"]).run();
        assert_eq!(scene.runs(), 0);
    }

    fn who_is_stopped_while_an_answer_is_to_come_asks_again() {
        let url = Redis::shared().fresh();
        drop(scene_at(url.clone()));
        let [held, comes, goes_on] = [true, false, false].map(AtomicBool::new).map(Arc::new);
        let hears = [Arc::clone(&held), Arc::clone(&comes), Arc::clone(&goes_on)];
        let answered: Arc<Ear> = Arc::new(move |_| {
            let [held, comes, goes_on] = &hears;
            if held.swap(false, Ordering::SeqCst) {
                comes.store(true, Ordering::SeqCst);
                until("the caller goes on", || goes_on.load(Ordering::SeqCst));
            }
            ControlFlow::Continue(())
        });
        let scene = Scene::on(relayed(&url, &deaf(), &answered));
        let call = scene.once("k").sh("echo >>runs").spawn();
        until("it waits for an answer", || {
            comes.load(Ordering::SeqCst) && state(call.pid()) == Some('S')
        });
        call.signal(Signal::SIGSTOP);
        until("it is stopped", || state(call.pid()) == Some('T'));
        call.signal(Signal::SIGCONT);
        goes_on.store(true, Ordering::SeqCst);
        call.finish();
        assert_eq!(scene.runs(), 1);
    }
}
