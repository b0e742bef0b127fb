//! `--rerun` runs again as a new operation; the record stays in force unless it succeeds.

use crate::support::Scene;

#[test]
fn a_rerun_that_succeeds_replaces_the_record() {
    let scene = Scene::new();
    scene.behave("echo old");
    scene.attempt("k").stdout("old\n").run();
    scene.behave("echo new");
    scene.attempt("k --rerun").stdout("new\n").run();
    scene.attempt("k").stdout("new\n").run();
    let keys = scene.keys();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1], "a rerun is a new operation");
}

#[test]
fn a_rerun_that_fails_leaves_the_record() {
    let scene = Scene::new();
    scene.behave("echo old");
    scene.attempt("k").stdout("old\n").run();
    scene.behave("echo broken; exit 2");
    scene.attempt("k --rerun").stdout("broken\n").status(2).run();
    scene.attempt("k").stdout("old\n").run();
    scene.attempt("k --rerun").stdout("broken\n").status(2).run();
    scene.attempt("k").stdout("old\n").run();
    assert_eq!(scene.runs(), 3);
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn a_rerun_whose_holder_died_leaves_the_record() {
    let scene = Scene::new();
    scene.behave("echo old");
    scene.attempt("k").stdout("old\n").run();
    scene.interrupted("k --rerun");
    scene.attempt("k").stdout("old\n").run();
    assert_eq!(scene.runs(), 2, "the last call was a replay");
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn a_rerun_in_progress_makes_the_key_busy() {
    let scene = Scene::new();
    scene.behave("echo old");
    scene.attempt("k").stdout("old\n").run();
    let mut gate = scene.gate();
    let rerun = scene.holder("k --rerun");
    scene.attempt("k").status(75).note(&["k"]).run();
    scene.attempt("k --rerun").status(75).note(&["k"]).run();
    gate.open();
    rerun.finish();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_rerun_of_a_key_that_never_ran_just_runs() {
    let scene = Scene::new();
    scene.attempt("k --rerun").run();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_rerun_of_something_else_is_still_a_mismatch() {
    let scene = Scene::new();
    scene.once("k").command(["echo", "one"]).stdout("one\n").run();
    let call = scene.once("k --rerun").command(["echo", "two"]);
    call.status(65).note(&["argv"]).run();
}
