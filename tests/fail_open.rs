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

#[test]
fn an_unguarded_command_inside_another_run_is_told_nothing_of_its_claim() {
    let scene = Scene::new();
    let tell = r#"echo "$DOUBLETAP_KEY" "${DOUBLETAP_TOKEN-none}" "${DOUBLETAP_FENCE-none}" \
        "${DOUBLETAP_ATTEMPT-none}"; echo "$DOUBLETAP_IDEMPOTENCY_KEY" >>runs"#;
    scene.write("tell", tell);
    // A folder is no store.
    let script = r#". ./tell >outer; "$BIN" once inner --store / --fail-open -- sh ./tell"#;
    let call = scene.once("outer").sh(script);
    call.stdout("inner none none none\n").notes(&["inner", "unguarded"]).run();

    let outer = scene.read("outer");
    assert!(outer.starts_with("outer ") && !outer.contains("none"), "{outer}");
    let keys = scene.keys();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1], "the effects of one would count as repetitions of the other's");
    for key in &keys {
        assert!(key.len() == 32 && key.bytes().all(|b| b.is_ascii_hexdigit()), "{key:?}");
    }
}

#[test]
fn an_unguarded_command_has_a_fresh_idempotency_key_each_time() {
    let scene = Scene::new();
    DAMAGES[0].inflict(&scene);
    for _ in 0..2 {
        let call = scene.attempt("k --fail-open").env("DOUBLETAP_IDEMPOTENCY_KEY", "of-a-claim");
        call.notes(&["unguarded"]).run();
    }
    let keys = scene.keys();
    assert_ne!(keys[0], keys[1]);
    assert!(keys.iter().all(|key| key.len() == 32), "{keys:?}");
}
