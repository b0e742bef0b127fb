//! Claims whose answer comes when most of their time is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::engine::Engine;
use crate::support::servers::hearing::far;
use crate::support::{Call, Scene, Signal, until};

every_server!(
    what_is_had_too_late_each_time_is_not_asked_for_beyond_the_time_for_the_store,
    a_signal_ends_a_call_for_what_is_had_too_late_each_time,
);

/// A scene on a server whose answers come late enough for a claim of two seconds, and another
/// on the way by which they come at once.
fn scenes<E: Engine>() -> [Scene; 2] {
    let near = E::shared().scene();
    near.once("warm").sh("true").run();
    let url = near.place().into_string().unwrap();
    let plain = if url.starts_with("postgres") { "&sslmode=disable" } else { "" };
    let ms = Arc::new(AtomicU64::new(0));
    let scene = Scene::on(far(&format!("{url}{plain}"), &ms));
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

fn what_is_had_too_late_each_time_is_not_asked_for_beyond_the_time_for_the_store<E: Engine>() {
    let [scene, _near] = scenes::<E>();
    for call in calls(&scene, "--store-timeout 5s") {
        call.status(125).note(&["too late", "2s", "nothing has run"]).run();
    }
    assert_eq!(scene.runs(), 0);
}

fn a_signal_ends_a_call_for_what_is_had_too_late_each_time<E: Engine>() {
    for which in 0..3 {
        let [scene, near] = scenes::<E>();
        let call = calls(&scene, "--store-timeout 1m").into_iter().nth(which).unwrap();
        let waiter = call.any_stderr().dies_of(Signal::SIGTERM).spawn();
        until("it asks for the second time", || {
            near.json("list --json").to_string().contains("\"generation\":2")
        });
        waiter.signal(Signal::SIGTERM);
        waiter.finish();
        assert_eq!(scene.runs(), 0);
    }
}
