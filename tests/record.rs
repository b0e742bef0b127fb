//! Which ends are recorded, and for how long they are replayed.

use std::time::{Duration, Instant};

use crate::support::{Scene, until};

#[test]
fn by_default_a_success_is_recorded_and_a_failure_runs_again() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k").status(1).run();
    scene.attempt("k").status(1).run();
    scene.behave("echo done");
    scene.attempt("k").stdout("done\n").run();
    scene.behave("echo again");
    scene.attempt("k").stdout("done\n").run();
    assert_eq!(scene.runs(), 3);
}

#[test]
fn record_success_may_be_said_out_loud() {
    let scene = Scene::new();
    for _ in 0..2 {
        scene.attempt("k --record success").run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn record_with_codes_keeps_those_and_no_others() {
    let scene = Scene::new();
    for (code, runs) in [(0, 1), (1, 2), (2, 2), (3, 1), (4, 1), (5, 1), (6, 2)] {
        let before = scene.runs();
        scene.behave(&format!("exit {code}"));
        for _ in 0..2 {
            let words = format!("k{code} --record 0,3-5");
            scene.attempt(&words).status(code).run();
        }
        assert_eq!(scene.runs() - before, runs, "status {code}");
    }
}

#[test]
fn record_without_0_lets_a_success_run_again() {
    let scene = Scene::new();
    for _ in 0..2 {
        scene.attempt("k --record 3").run();
    }
    assert_eq!(scene.runs(), 2);
}

#[test]
fn record_any_keeps_a_failure() {
    let scene = Scene::new();
    scene.behave("exit 9");
    for _ in 0..3 {
        scene.attempt("k --record any").status(9).run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_record_is_replayed_until_its_ttl_ends_and_then_the_command_runs_again() {
    let scene = Scene::new();
    let start = Instant::now();
    until("the record has expired", || {
        scene.attempt("k --ttl 1s").run();
        scene.runs() == 2
    });
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(1), "it expired after {took:?}");
    let keys = scene.keys();
    assert_ne!(keys[0], keys[1], "after expiry it is a new operation");
}

#[test]
fn the_ttl_of_the_recording_run_counts_not_that_of_a_later_caller() {
    let scene = Scene::new();
    scene.attempt("k --ttl 1h").run();
    let start = Instant::now();
    until("more than a second is over", || {
        scene.attempt("k --ttl 1s").run();
        start.elapsed() > Duration::from_millis(1200)
    });
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_record_whose_ttl_is_over_is_shown_as_expired() {
    let scene = Scene::new();
    scene.attempt("k --ttl 1s").run();
    until("the record has expired", || scene.state("k") == "expired");
}

#[test]
fn an_expired_record_does_not_hold_the_key_to_its_fingerprint() {
    let scene = Scene::new();
    scene.once("k --ttl 1s").command(["echo", "one"]).stdout("one\n").run();
    until("the record has expired", || scene.state("k") == "expired");
    scene.once("k --ttl 1h").command(["echo", "two"]).stdout("two\n").run();
}

#[test]
fn without_a_ttl_a_record_stays() {
    let scene = Scene::new();
    scene.attempt("k").run();
    scene.attempt("j --ttl forever").run();
    assert_eq!(scene.state("k"), "done");
    assert_eq!(scene.state("j"), "done");
}

#[test]
fn a_failed_attempt_stays_visible() {
    let scene = Scene::new();
    scene.behave("exit 5");
    scene.attempt("k").status(5).run();
    let shown = scene.json("show k --json");
    assert_eq!(shown["state"], "failed");
    assert_eq!(shown["attempts"][0]["exit_code"], 5);
    assert_eq!(shown["attempts"][0]["state"], "failed");
}
