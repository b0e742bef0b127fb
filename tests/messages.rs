//! Our own words: none on a normal run or replay, one line where something is to be said.

use crate::support::Scene;

#[test]
fn a_run_and_a_replay_are_silent() {
    let scene = Scene::new();
    for _ in 0..3 {
        scene.once("k").sh("echo run >>runs").run();
    }
    scene.behave("exit 1");
    scene.attempt("failing").status(1).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn busy_names_key_and_holder() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("deploy-42");
    let pid = format!("pid {}", holder.pid());
    let call = scene.attempt("deploy-42");
    call.status(75).note(&["deploy-42", &pid]).run();
    gate.open();
    holder.finish();
}

#[test]
fn quiet_says_nothing_when_busy() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    scene.attempt("k -q").status(75).run();
    scene.attempt("k --quiet").status(75).run();
    let before = scene.call("-q once k").sh("true");
    before.status(65).note(&["argv"]).run();
    gate.open();
    holder.finish();
}

#[test]
fn verbose_says_what_happened_replays_included() {
    let scene = Scene::new();
    scene.attempt("deploy -v").notes(&["deploy"]).run();
    scene.attempt("deploy -v").notes(&["deploy", "replay"]).run();
    scene.attempt("deploy --verbose").notes(&["replay"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn global_options_may_stand_before_the_verb() {
    let scene = Scene::new();
    let call = scene.call("--namespace n -q once k").sh("echo hi");
    call.stdout("hi\n").run();
    assert_eq!(scene.json("--namespace n show k --json")["state"], "done");
}

#[test]
fn control_characters_from_outside_are_escaped() {
    let scene = Scene::new();
    let call = scene.once("k").command(["./no\x1b[31mcolour\nnew: line"]);
    let done = call.status(127).note(&["colour"]).run();
    assert!(!done.stderr.contains(&0x1b), "{:?}", done.complaint());
}

#[test]
fn a_usage_error_escapes_what_it_repeats() {
    let scene = Scene::new();
    let call = scene.call("once k").arg("--ttl=1\x1b[31m\n5s").sh("true");
    let done = call.status(64).note(&["--ttl"]).run();
    assert!(!done.stderr.contains(&0x1b), "{:?}", done.complaint());
}
