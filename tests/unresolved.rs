//! What an interrupted attempt did is unknown; with `--on-crash stop` a person decides.

use crate::support::Scene;

#[test]
fn on_crash_stop_refuses_and_names_the_commands_that_decide() {
    let scene = Scene::new();
    scene.interrupted("k --on-crash stop");
    for _ in 0..2 {
        let call = scene.attempt("k --on-crash stop");
        call.status(70).note(&["k", "doubletap forget"]).run();
    }
    assert_eq!(scene.runs(), 1);
    assert_eq!(scene.state("k"), "interrupted");
}

#[test]
fn forget_lets_it_run_again_as_a_new_operation() {
    let scene = Scene::new();
    scene.interrupted("k --on-crash stop");
    scene.call("forget k").run();
    scene.attempt("k --on-crash stop").run();
    let keys = scene.keys();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn complete_unresolved_settles_it_as_done() {
    let scene = Scene::new();
    scene.interrupted("k --on-crash stop");
    scene.call("complete k --unresolved").run();
    assert_eq!(scene.state("k"), "done");
    scene.attempt("k --on-crash stop").run();
    assert_eq!(scene.runs(), 1, "the settled outcome was replayed");
}

#[test]
fn complete_unresolved_takes_the_status_it_is_given() {
    let scene = Scene::new();
    scene.interrupted("k --on-crash stop");
    scene.call("complete k --unresolved --exit-code 7").run();
    scene.attempt("k --on-crash stop").status(7).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn whoever_settles_a_failure_is_told_that_it_stays_one() {
    let scene = Scene::new();
    scene.interrupted("k --on-crash stop");
    let call = scene.call("complete k --unresolved --exit-code 7 -v");
    call.note(&["exit status 7", "from now on", "doubletap forget k"]).run();
    let help = scene.call("complete --help").any_stdout().run().text();
    assert!(help.contains("every call gets it from then on, a failure too"), "{help}");
}

#[test]
fn a_later_caller_without_the_policy_reruns_it_and_says_so() {
    let scene = Scene::new();
    scene.interrupted("k --on-crash stop");
    let call = scene.attempt("k --on-crash stop");
    call.status(70).note(&["k"]).run();
    scene.attempt("k").note(&["k", "interrupted"]).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn on_crash_rerun_may_be_said_out_loud() {
    let scene = Scene::new();
    scene.interrupted("k");
    scene.attempt("k --on-crash rerun").note(&["interrupted"]).run();
}

#[test]
fn only_an_interrupted_attempt_can_be_settled() {
    let scene = Scene::new();
    scene.call("complete absent --unresolved").status(69).note(&["absent"]).run();
    scene.attempt("k").run();
    scene.call("complete k --unresolved --exit-code 3").status(69).note(&["k"]).run();
    scene.attempt("k").run();

    let mut gate = scene.gate();
    let holder = scene.holder("busy");
    scene.call("complete busy --unresolved").status(69).note(&["busy"]).run();
    gate.open();
    holder.finish();
    assert_eq!(scene.state("busy"), "done");
}

#[test]
fn a_settled_operation_holds_the_key_to_what_was_asked() {
    let scene = Scene::new();
    scene.interrupted("k --on-crash stop");
    scene.call("complete k --unresolved").run();
    let call = scene.once("k").command(["echo", "something else"]);
    call.status(65).note(&["argv"]).run();
}

#[test]
fn something_else_under_an_interrupted_key_is_a_mismatch() {
    let scene = Scene::new();
    scene.interrupted("k");
    let call = scene.once("k").command(["echo", "something else"]);
    call.status(65).note(&["argv"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn what_a_person_decides_is_told_in_no_document() {
    let scene = Scene::new();
    scene.interrupted("k --on-crash stop");
    scene.call("complete k --unresolved --json").status(64).note(&["--json"]).run();
    assert_eq!(scene.state("k"), "interrupted");
}
