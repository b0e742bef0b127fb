//! `--fail-open`: where the store cannot be used the command runs unguarded, and we say so.

use crate::support::Scene;
use crate::support::damage::DAMAGES;

#[test]
fn the_command_runs_unguarded_and_its_status_and_output_are_its_own() {
    for damage in &DAMAGES {
        let scene = Scene::new();
        damage.inflict(&scene);
        scene.behave("echo out; exit 3");
        let done = scene.attempt("k --fail-open").unchecked().run();
        let complaint = done.complaint();
        assert_eq!(done.code(), 3, "{}: {complaint}", damage.name);
        assert_eq!(done.text(), "out\n", "{}", damage.name);
        assert_eq!(scene.runs(), 1, "{}", damage.name);
        assert!(
            complaint.lines().all(|line| line.starts_with("doubletap: "))
                && complaint.contains("unguarded"),
            "about {} it said: {complaint}",
            damage.name
        );
    }
}

#[test]
fn unguarded_means_that_a_second_call_runs_again() {
    let scene = Scene::new();
    DAMAGES[0].inflict(&scene);
    for _ in 0..2 {
        scene.attempt("k --fail-open").notes(&["unguarded"]).run();
    }
    assert_eq!(scene.runs(), 2);
}

#[test]
fn an_unguarded_command_keeps_its_signals_arguments_and_streams() {
    let scene = Scene::new();
    DAMAGES[0].inflict(&scene);
    scene
        .once("k --fail-open")
        .command(["printf", "[%s]", "a b", ""])
        .stdout("[a b][]")
        .notes(&["unguarded"])
        .run();
    let call = scene.once("k --fail-open").sh("kill -9 $$");
    call.status(137).notes(&["unguarded"]).run();
    let call = scene.once("k --fail-open").command(["./absent"]);
    call.status(127).notes(&["unguarded", "./absent"]).run();
}

#[test]
fn fail_open_changes_nothing_while_the_store_works() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k --fail-open");
    scene.attempt("k --fail-open").status(75).note(&["k"]).run();
    let call = scene.once("k --fail-open").command(["echo", "else"]);
    call.status(65).note(&["argv"]).run();
    gate.open();
    holder.finish();
    scene.attempt("k --fail-open").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn fail_open_does_not_forgive_usage_errors() {
    let scene = Scene::new();
    scene.attempt("k --fail-open --ttl 0s").status(64).note(&["--ttl"]).run();
    assert_eq!(scene.runs(), 0);
}

#[test]
fn an_unguarded_command_is_told_no_token() {
    let scene = Scene::new();
    DAMAGES[0].inflict(&scene);
    let script = "echo ${DOUBLETAP_TOKEN-none} ${DOUBLETAP_FENCE-none}";
    let call = scene.once("k --fail-open").sh(script);
    call.stdout("none none\n").notes(&["unguarded"]).run();
}
