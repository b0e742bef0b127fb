//! A step is had only with the claim of its operation.

use crate::support::{Scene, token_of, until};

/// A step that must not run.
const STEP: &str = r#""$BIN" step a -- sh -c 'echo run >>runs'"#;

#[test]
fn a_step_outside_of_an_operation_is_refused_before_anything_is_opened() {
    let scene = Scene::new();
    let call = scene.call("step a").sh("echo run >>runs").status(64);
    call.note(&["a step belongs to an operation", "inside a once", "begin --format sh"]).run();
    let call = scene.call("step a").sh("echo run >>runs").env("DOUBLETAP_KEY", "k").status(64);
    call.note(&["belongs to an operation"]).run();
    assert_eq!((scene.runs(), scene.state_files().len()), (0, 0));
}

#[test]
fn a_step_whose_environment_was_emptied_is_refused() {
    let scene = Scene::new();
    let script = format!(r#"exec env -i BIN="$BIN" HOME="$HOME" PATH="$PATH" sh -c '{}'"#, {
        STEP.replace('\'', r"'\''")
    });
    scene.once("k").sh(&script).status(64).note(&["belongs to an operation"]).run();
    assert_eq!(scene.runs(), 0);
}

#[test]
fn a_lease_is_no_operation() {
    let scene = Scene::new();
    scene.lease("n").sh(STEP).status(64).note(&["n: that is no operation"]).run();
    let token = scene.acquired("name");
    let call = scene.with_token("step a", &token).sh("echo run >>runs").status(64);
    call.note(&["name", "no operation"]).run();
    assert_eq!(scene.runs(), 0);
}

#[test]
fn under_a_lease_within_an_operation_a_step_belongs_to_the_operation() {
    let scene = Scene::new();
    let script = format!(r#""$BIN" lease n -- sh -c '{}'; exit 3"#, STEP.replace('\'', r#"""#));
    for _ in 0..2 {
        scene.once("k").sh(&script).status(3).run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_step_needs_a_name_and_a_command() {
    let scene = Scene::new();
    scene.call("step").sh("true").status(64).note(&["NAME"]).run();
    scene.call("step a").status(64).note(&["step"]).run();
    scene.call("step a true").status(64).note(&["step a -- true"]).run();
    scene.call("step a").command([""]).status(64).note(&["COMMAND is empty"]).run();
    let strange = "0".repeat(32);
    let call = scene.with_token("step a", &strange).sh("true").status(69);
    call.note(&["missing"]).run();
    scene.call("step a --token x").sh("true").status(64).note(&["--token"]).run();
}

#[test]
fn a_step_of_a_forgotten_operation_is_not_started() {
    let scene = Scene::new();
    let script = format!(r#""$BIN" forget k --force; {STEP}; echo "status $?""#);
    let done = scene.once("k").sh(&script).unchecked().run();
    assert_eq!(done.text(), "status 69\n");
    let complaint = done.complaint();
    assert!(
        complaint.contains("not started: the claim that it belongs to was lost"),
        "{complaint}"
    );
    assert_eq!(scene.runs(), 0);
}

#[test]
fn a_step_of_an_operation_that_has_ended_is_not_started() {
    let scene = Scene::new();
    for end in ["complete", "fail"] {
        let script = format!(
            r#"eval "$("$BIN" begin {end} --pid $$ --format sh)" && "$BIN" {end} {end}; {STEP}; exit $?"#
        );
        let call = scene.shell(&script).status(69);
        call.note(&[end, "not started", "has ended"]).run();
    }
    assert_eq!(scene.runs(), 0);
}

#[test]
fn a_step_of_an_operation_that_somebody_took_is_not_started() {
    let scene = Scene::new();
    scene.shell(r#""$BIN" begin k --pid $$ >token; exit $?"#).run();
    let token = scene.read("token");
    let step = || scene.with_token("step a", token.trim()).sh("echo run >>runs");
    step().status(69).note(&["k: expired", "its process is gone"]).run();
    let taker = scene.token("k -q");
    step().status(69).note(&["k", "not started", "the claim that it belongs to was lost"]).run();
    assert_eq!(scene.runs(), 0);
    scene.with_token("step a", &taker).sh("echo run >>runs").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_step_of_a_claim_whose_time_is_over_is_not_started() {
    let scene = Scene::new();
    let token = token_of(&scene.begin("k --claim-ttl 2s").any_stdout().run());
    until("its time is over", || scene.state("k") == "interrupted");
    let call = scene.with_token("step a", &token).sh("echo run >>runs").status(69);
    call.note(&["k: expired", "its time is over"]).run();
    assert_eq!(scene.runs(), 0);
}

#[test]
fn a_step_whose_operation_was_dropped_meanwhile_is_none_of_the_next() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let token = scene.token("k");
    let call = scene.with_token("step a", &token).sh("echo run >>runs; read x <gate; echo out");
    let step = scene.begun(call.stdout("out\n"));
    scene.call("forget k --force").run();
    gate.open();
    step.finish();
    let token = scene.token("k");
    let call = scene.with_token("step a", &token).sh("echo run >>runs; read x <gate; echo out");
    let step = scene.begun(call.stdout("out\n"));
    gate.open();
    step.finish();
}

#[test]
fn a_step_is_of_the_store_and_the_namespace_of_its_operation() {
    let scene = Scene::new();
    let script = format!("cd /; {}; exit 3", STEP.replace("runs", "$OUT.runs"));
    for _ in 0..2 {
        let call = scene.once("k --namespace ns").sh(&script).without_env("DOUBLETAP_NAMESPACE");
        call.status(3).run();
    }
    assert_eq!(scene.json("show k --namespace ns --json")["attempts"][0]["attempt"], 2);
    let store = rusqlite::Connection::open(scene.store()).unwrap();
    let steps = "SELECT count(*) FROM attempt WHERE kind = 'step' AND state = 'done'";
    let steps: i64 = store.query_row(steps, [], |row| row.get(0)).unwrap();
    assert_eq!(steps, 1);
}
