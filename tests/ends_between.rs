//! What is told of a holder who ends between the look at the store and the look at him.

use crate::support::{Call, Scene, Stopped};

/// A call that stops when it has read the store and is about to ask the kernel who lives.
#[track_caller]
fn about_to_ask(scene: &Scene, call: Call<'_>) -> Stopped {
    Stopped::after(scene, call, "openat", Some(&scene.live()))
}

/// What such a call prints if the key is recorded meanwhile.
#[track_caller]
fn told(words: &str) -> String {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let call = about_to_ask(&scene, scene.call(words).any_stdout());
    gate.open();
    holder.finish();
    call.go_on().finish().text()
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn a_key_that_is_recorded_meanwhile_is_not_told_to_be_interrupted() {
    for words in ["show k --json", "list --json"] {
        let told = told(words);
        assert!(told.contains(r#""state": "done""#), "{words}: {told}");
        assert!(!told.contains("interrupted"), "{words}: {told}");
    }
    assert!(told("stats").contains("done"));
    let told = told("doctor --json");
    assert!(told.contains("none whose holder is gone"), "{told}");
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn what_is_recorded_meanwhile_is_replayed_though_something_of_its_command_is_left() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("echo out; sleep 1000 >/dev/null 2>&1 & read x <gate");
    let holder = scene.begun(scene.attempt("k").stdout("out\n"));
    let call = about_to_ask(&scene, scene.attempt("k").stdout("out\n"));
    gate.open();
    holder.finish();
    call.go_on().finish();
    assert_eq!(scene.runs(), 1);
}
