//! Claims on PostgreSQL whose answer comes when most of their time is over. (On Redis a
//! script that comes too late does nothing.)

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::engine::Engine as _;
use crate::support::servers::Postgres;
use crate::support::servers::hearing::far;
use crate::support::{Call, Scene, Signal, finished, until};

/// A scene on a server whose answers come late enough for a claim of two seconds, and another
/// on the way by which they come at once.
fn scenes() -> [Scene; 2] {
    let near = Postgres::shared().scene();
    let url = near.place().into_string().unwrap();
    let ms = Arc::new(AtomicU64::new(0));
    let scene = Scene::on(far(&format!("{url}&sslmode=disable"), &ms));
    ms.store(550, Ordering::SeqCst);
    [scene, near]
}

/// Calls that have two seconds, one of each kind.
fn calls<'a>(scene: &'a Scene, words: &str) -> [Call<'a>; 3] {
    [
        scene.attempt(&format!("k --claim-ttl 2s {words}")),
        scene.held(&format!("n --ttl 2s {words}")),
        scene.call(&format!("acquire m --ttl 2s {words}")),
    ]
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn what_is_had_too_late_each_time_is_not_asked_for_beyond_the_time_for_the_store() {
    let [scene, _near] = scenes();
    let words = ["too late", "2s", "nothing has run"];
    let told = calls(&scene, "--store-timeout 10s").map(|call| call.status(125).note(&words));
    finished(told.map(Call::spawn));
    assert_eq!(scene.runs(), 0);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_signal_ends_a_call_for_what_is_had_too_late_each_time() {
    let [scene, near] = scenes();
    let calls = calls(&scene, "--store-timeout 5m");
    let waiters = calls.map(|call| call.any_stderr().dies_of(Signal::SIGTERM).spawn());
    until("each asks for the second time", || {
        let list = near.json("list --json").to_string();
        list.matches("\"generation\":2").count() == 3
    });
    for waiter in &waiters {
        waiter.signal(Signal::SIGTERM);
    }
    finished(waiters);
    assert_eq!(scene.runs(), 0);
}
