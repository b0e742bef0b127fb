//! One operation keeps one idempotency key through all its attempts.

use crate::support::Scene;

#[test]
fn the_idempotency_key_is_constant_through_failure_crash_and_success() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k").status(1).run();
    scene.interrupted("k");
    scene.behave("echo $DOUBLETAP_ATTEMPT");
    let call = scene.attempt("k");
    call.stdout("3\n").note(&["interrupted"]).run();
    let keys = scene.keys();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| key == &keys[0]), "{keys:?}");
    assert_eq!(keys[0].len(), 32);
}

#[test]
fn different_keys_and_namespaces_have_different_idempotency_keys() {
    let scene = Scene::new();
    scene.attempt("a").run();
    scene.attempt("b").run();
    scene.attempt("a --namespace other").run();
    let mut keys = scene.keys();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 3);
}

#[test]
fn after_forget_it_is_a_new_operation() {
    let scene = Scene::new();
    scene.attempt("k").run();
    scene.call("forget k").run();
    scene.behave("echo $DOUBLETAP_ATTEMPT");
    scene.attempt("k").stdout("1\n").run();
    let keys = scene.keys();
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn a_failed_operation_that_is_forgotten_is_over() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k").status(1).run();
    scene.call("forget k").run();
    scene.attempt("k").status(1).run();
    let keys = scene.keys();
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn after_a_failure_another_command_is_a_new_operation_not_a_mismatch() {
    let scene = Scene::new();
    let script = "echo $DOUBLETAP_IDEMPOTENCY_KEY >>runs; echo $DOUBLETAP_ATTEMPT; exit";
    let first = scene.once("k").sh(&format!("{script} 1"));
    first.stdout("1\n").status(1).run();
    let second = scene.once("k").sh(&format!("{script} 2"));
    second.stdout("1\n").status(2).run();
    let keys = scene.keys();
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn attempts_count_within_the_operation_and_generations_within_the_key() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k").status(1).run();
    scene.behave(":");
    scene.attempt("k").run();
    scene.attempt("k --rerun").run();
    let shown = scene.json("show k --json");
    let seen: Vec<(u64, u64)> = shown["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (number(&row["generation"]), number(&row["attempt"])))
        .collect();
    assert_eq!(seen, [(3, 1), (2, 2), (1, 1)], "newest first: {shown}");
    assert_eq!(shown["attempts"][1]["operation"], shown["attempts"][2]["operation"]);
    assert_ne!(shown["attempts"][0]["operation"], shown["attempts"][1]["operation"]);
}

fn number(value: &serde_json::Value) -> u64 {
    value.as_u64().expect("a number")
}
