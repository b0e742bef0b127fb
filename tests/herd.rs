//! Many callers at once: exactly one runs.

use crate::support::{Done, Running, Scene, finished, until};

/// How many ended with a status.
fn count(herd: &[Done], status: i32) -> usize {
    herd.iter().filter(|done| done.code() == status).count()
}

/// The outcomes in a log, one line each, sorted.
fn outcomes(scene: &Scene, log: &str) -> Vec<String> {
    let mut outcomes: Vec<String> = scene
        .read(log)
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("a whole line of JSON");
            line["outcome"].as_str().expect("an outcome").to_owned()
        })
        .collect();
    outcomes.sort();
    outcomes
}

#[test]
fn of_50_callers_without_wait_one_runs_and_49_are_told_75() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let mut herd: Vec<Running> = (0..50).map(|_| scene.hanging("k").unchecked().spawn()).collect();
    until("all but the holder have ended", || {
        herd.iter_mut().filter_map(|one| one.is_under_way().then_some(())).count() == 1
    });
    gate.open();
    let herd = finished(herd);
    assert_eq!((count(&herd, 0), count(&herd, 75)), (1, 49));
    for done in herd.iter().filter(|done| done.code() == 75) {
        let complaint = done.complaint();
        assert!(
            complaint.starts_with("doubletap: ") && complaint.lines().count() == 1,
            "a busy caller said: {complaint}"
        );
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn of_50_callers_with_wait_one_runs_and_49_replay() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo out; echo err >&2");
    let call = |_| {
        let call = scene.attempt("k -q --wait forever --log log");
        call.stdout("out\n").stderr("err\n").spawn()
    };
    let herd: Vec<Running> = (0..50).map(call).collect();
    scene.await_waiters(49);
    gate.open();
    finished(herd);
    assert_eq!(scene.runs(), 1);
    let outcomes = outcomes(&scene, "log");
    assert_eq!(outcomes.len(), 50);
    assert_eq!(outcomes.iter().filter(|word| *word == "ran").count(), 1);
    assert_eq!(outcomes.iter().filter(|word| *word == "replayed").count(), 49);
}

#[test]
fn a_herd_that_nothing_holds_back_runs_once_too() {
    let scene = Scene::new();
    scene.behave("echo out");
    let call = |_| scene.attempt("k -q --wait forever").stdout("out\n").spawn();
    finished((0..50).map(call).collect::<Vec<_>>());
    assert_eq!(scene.runs(), 1);
}

#[test]
fn waiters_of_50_share_a_failure_and_do_not_run_it_again() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo bad; exit 3");
    let call = |_| {
        let call = scene.attempt("k -q --wait forever --log log");
        call.stdout("bad\n").status(3).spawn()
    };
    let herd: Vec<Running> = (0..50).map(call).collect();
    scene.await_waiters(49);
    gate.open();
    finished(herd);
    assert_eq!(scene.runs(), 1);
    let outcomes = outcomes(&scene, "log");
    assert_eq!(outcomes.iter().filter(|word| *word == "failed").count(), 1);
    assert_eq!(outcomes.iter().filter(|word| *word == "replayed").count(), 49);
}

#[test]
fn after_a_shared_failure_a_new_caller_runs_again() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; exit 3");
    let call = |_| scene.attempt("k -q --wait forever").status(3).spawn();
    let herd: Vec<Running> = (0..4).map(call).collect();
    scene.await_waiters(3);
    gate.open();
    finished(herd);
    scene.behave(":");
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn waiters_share_a_death_by_signal_too() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo last words; kill -9 $$");
    let call = |_| {
        let call = scene.attempt("k -q --wait forever");
        call.stdout("last words\n").status(137).spawn()
    };
    let herd: Vec<Running> = (0..4).map(call).collect();
    scene.await_waiters(3);
    gate.open();
    finished(herd);
    assert_eq!(scene.runs(), 1);
}

#[test]
fn twenty_processes_create_the_store_together_ten_rounds_long() {
    for _ in 0..10 {
        let scene = Scene::new();
        let call = |number| {
            let words = format!("k{number}");
            scene.once(&words).sh("echo run >>runs; echo fine").stdout("fine\n").spawn()
        };
        finished((0..20).map(call).collect::<Vec<_>>());
        assert_eq!(scene.runs(), 20);
        let listed = scene.json("list --json");
        assert_eq!(listed.as_array().map(Vec::len), Some(20));
    }
}

#[test]
fn twenty_callers_of_one_key_on_a_store_that_does_not_exist_run_it_once() {
    for _ in 0..5 {
        let scene = Scene::new();
        scene.behave("echo fine");
        let call = |_| scene.attempt("k -q --wait forever").stdout("fine\n").spawn();
        finished((0..20).map(call).collect::<Vec<_>>());
        assert_eq!(scene.runs(), 1);
    }
}

#[test]
fn different_keys_do_not_wait_for_each_other() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holders: Vec<Running> = (0..5).map(|number| scene.holder(&format!("k{number}"))).collect();
    scene.behave("echo free");
    scene.attempt("other").stdout("free\n").run();
    for _ in &holders {
        gate.open();
    }
    finished(holders);
}
