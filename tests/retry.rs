//! When a failed key may be tried again, and when it may not.

use std::time::{Duration, Instant};

use crate::support::{Scene, until};

#[test]
fn after_a_failure_the_key_is_busy_for_the_retry_after() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --retry-after 1h").status(1).run();
    for _ in 0..2 {
        let call = scene.attempt("k --retry-after 1h");
        call.status(75).note(&["k"]).run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn when_the_retry_after_is_over_the_key_runs_again() {
    let scene = Scene::new();
    scene.behave("exit 1");
    let start = Instant::now();
    until("the key has run again", || {
        let code = scene.attempt("k --retry-after 300ms").unchecked().run().code();
        assert!(matches!(code, 1 | 75), "it ended with {code}");
        scene.runs() == 2
    });
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(300), "it ran after {took:?}");
    let keys = scene.keys();
    assert_eq!(keys[0], keys[1], "a retry is the same operation");
}

#[test]
fn a_waiter_outwaits_the_retry_after_and_then_runs() {
    let scene = Scene::new();
    scene.behave("exit 1");
    let start = Instant::now();
    scene.attempt("k --retry-after 400ms").status(1).run();
    scene.behave("echo better");
    scene.attempt("k -q --retry-after 400ms --wait forever").stdout("better\n").run();
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(400), "it ran after {took:?}");
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_success_is_replayed_whatever_the_retry_after() {
    let scene = Scene::new();
    for _ in 0..2 {
        scene.attempt("k --retry-after 1h").run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn after_the_last_allowed_attempt_a_person_must_decide() {
    let scene = Scene::new();
    scene.behave("exit 4");
    for _ in 0..2 {
        scene.attempt("k --max-attempts 2").status(4).run();
    }
    for _ in 0..2 {
        let call = scene.attempt("k --max-attempts 2");
        call.status(70).note(&["k", "doubletap forget"]).run();
    }
    assert_eq!(scene.runs(), 2);
    scene.call("forget k").run();
    scene.behave("echo at last");
    scene.attempt("k --max-attempts 2").stdout("at last\n").run();
    let keys = scene.keys();
    assert_ne!(keys[1], keys[2], "after forget it is a new operation");
}

#[test]
fn interrupted_attempts_count_too() {
    let scene = Scene::new();
    scene.interrupted("k --max-attempts 2");
    scene.behave("exit 1");
    let call = scene.attempt("k --max-attempts 2");
    call.status(1).note(&["interrupted"]).run();
    let call = scene.attempt("k --max-attempts 2");
    call.status(70).note(&["doubletap forget"]).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn an_interrupted_last_attempt_is_not_rerun() {
    let scene = Scene::new();
    scene.interrupted("k --max-attempts 1");
    let call = scene.attempt("k --max-attempts 1");
    call.status(70).note(&["doubletap forget"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_higher_limit_lets_the_operation_go_on() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --max-attempts 1").status(1).run();
    let call = scene.attempt("k --max-attempts 1");
    call.status(70).note(&["k"]).run();
    scene.behave(":");
    scene.attempt("k --max-attempts 2").run();
    let keys = scene.keys();
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn a_success_starts_the_count_anew() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --max-attempts 2").status(1).run();
    scene.behave(":");
    scene.attempt("k --max-attempts 2").run();
    scene.behave("exit 1");
    scene.attempt("k --max-attempts 2 --rerun").status(1).run();
    scene.behave("echo fine");
    scene.attempt("k --max-attempts 2 --rerun").stdout("fine\n").run();
}
