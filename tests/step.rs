//! `step`: a part of an operation that is not done again when the operation is retried.

use serde_json::Value;

use crate::large_output::spools;
use crate::support::{Call, Scene, until};

/// A step that leaves a trace and writes to both streams.
const STEP: &str = r#""$BIN" step a -- sh -c 'echo run >>runs; echo out; echo err >&2; echo more'"#;

/// An operation whose command does what `behave` said last.
fn operation<'scene>(scene: &'scene Scene, words: &str) -> Call<'scene> {
    scene.once(words).sh(". ./behaviour")
}

#[test]
fn a_step_that_succeeded_is_replayed_when_the_operation_is_tried_again() {
    let scene = Scene::new();
    scene.behave(&format!("{STEP}; exit 3"));
    for _ in 0..3 {
        operation(&scene, "k").status(3).stdout("out\nmore\n").stderr("err\n").run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn the_streams_of_a_step_are_replayed_in_the_order_in_which_they_came() {
    let scene = Scene::new();
    let token = scene.token("k");
    let step = || {
        let script =
            "i=0; while [ $i -lt 2000 ]; do echo out $i; echo error $i >&2; i=$((i+1)); done";
        scene.with_token("step a", &token).sh(script).merged()
    };
    let live = step().any_stdout().run().stdout;
    step().stdout(live).run();
}

#[test]
fn the_status_of_a_step_is_replayed_too_where_it_is_recorded() {
    let scene = Scene::new();
    scene.behave(
        r#""$BIN" step a --record 4 -- sh -c 'echo run >>runs; exit 4'; echo "status $?"; exit 1"#,
    );
    for _ in 0..2 {
        operation(&scene, "k").status(1).stdout("status 4\n").run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_step_that_failed_runs_again_under_its_own_idempotency_key() {
    let scene = Scene::new();
    let steps = r#"
        keep() { "$BIN" step "$1" -- sh -c 'echo "$DOUBLETAP_IDEMPOTENCY_KEY" >>runs; . ./step'; }
        echo "$DOUBLETAP_IDEMPOTENCY_KEY" >>operations
        keep a; keep b; exit 3"#;
    scene.behave(steps);
    scene.write("step", "exit 5");
    operation(&scene, "k").status(3).run();
    scene.write("step", ":");
    operation(&scene, "k").status(3).run();
    operation(&scene, "k").status(3).run();
    let keys = scene.keys();
    assert_eq!(keys.len(), 4, "both ran twice, and no more");
    assert_eq!((&keys[0], &keys[1]), (&keys[2], &keys[3]), "each keeps its own");
    let operations = scene.read("operations");
    let operation = operations.lines().next().unwrap();
    assert!(operations.lines().all(|line| line == operation));
    assert!(keys[0] != keys[1] && keys[0] != operation && keys[1] != operation);
    assert!(keys[0].len() <= 64 && keys[0].is_ascii());
}

#[test]
fn a_new_operation_runs_its_steps_afresh() {
    let scene = Scene::new();
    scene.behave(STEP);
    let ran = |words: &str| operation(&scene, words).stdout("out\nmore\n").stderr("err\n").run();
    ran("k");
    ran("k");
    assert_eq!(scene.runs(), 1, "the operation is on record");
    ran("k --rerun");
    assert_eq!(scene.runs(), 2);
    scene.call("forget k").run();
    ran("k");
    assert_eq!(scene.runs(), 3);
    ran("other");
    ran("k --namespace other");
    assert_eq!(scene.runs(), 5, "two operations' steps of one name are apart");
}

#[test]
fn a_rerun_that_failed_leaves_its_steps_for_nobody_and_the_record_in_force() {
    let scene = Scene::new();
    scene.behave(&format!("{STEP} >/dev/null 2>&1"));
    operation(&scene, "k").run();
    scene.behave(&format!("{STEP} >/dev/null 2>&1; exit 3"));
    operation(&scene, "k --rerun").status(3).run();
    assert_eq!(scene.runs(), 2);
    operation(&scene, "k").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn between_begin_and_complete_steps_belong_to_the_claim() {
    let scene = Scene::new();
    let script = |end: &str| {
        format!(r#"eval "$("$BIN" begin k --pid $$ --format sh)" || exit; {STEP}; "$BIN" {end} k"#)
    };
    for end in ["fail", "fail", "complete"] {
        scene.shell(&script(end)).stdout("out\nmore\n").stderr("err\n").run();
    }
    assert_eq!(scene.runs(), 1);
    assert_eq!(scene.json("show k --json")["attempts"][0]["attempt"], 3);
    scene.shell(&script("complete")).status(10).run();
}

#[test]
fn a_token_names_the_claim_where_the_environment_does_not() {
    let scene = Scene::new();
    let token = scene.token("k");
    for _ in 0..2 {
        let call = scene.with_token("step a", &token).sh("echo run >>runs; echo out");
        call.stdout("out\n").run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn the_fence_and_the_token_are_the_operations_and_the_attempt_is_the_steps() {
    let scene = Scene::new();
    let tell = r#"echo "$DOUBLETAP_KEY $DOUBLETAP_FENCE $DOUBLETAP_TOKEN""#;
    scene.behave(&format!(
        r#"{tell} >>told; "$BIN" step a -- sh -c '{tell} >>told; echo $DOUBLETAP_ATTEMPT >>attempts
            test "${{DOUBLETAP_HELD#*,}}" != "$DOUBLETAP_HELD" && exit 1'; exit 3"#
    ));
    operation(&scene, "k").status(3).run();
    operation(&scene, "k").status(3).run();
    let told = scene.read("told");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_eq!((lines[0], lines[2]), (lines[1], lines[3]));
    assert_ne!(lines[0], lines[2], "the next attempt has another fence");
    assert_eq!(scene.read("attempts"), "1\n2\n");
}

#[test]
fn something_else_under_the_name_of_a_step_is_a_mismatch() {
    let scene = Scene::new();
    scene.behave(r#""$BIN" step a -- echo one; "$BIN" step a -- echo two; exit $?"#);
    operation(&scene, "k").status(65).stdout("one\n").note(&["k: step a", "argv differs"]).run();
}

#[test]
fn a_step_within_the_command_of_another_belongs_to_the_same_operation() {
    let scene = Scene::new();
    let inner = r#""$BIN" step inner -- sh -c "echo run >>runs; echo in""#;
    scene.behave(&format!("\"$BIN\" step outer -- sh -c '{inner}; exit 1'; exit 3"));
    for _ in 0..2 {
        operation(&scene, "k").status(3).stdout("in\n").run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_step_of_the_same_name_within_itself_would_wait_for_itself_and_is_told() {
    let scene = Scene::new();
    for inner in [r#"exec "$BIN" step a -- true"#, r#"exec "$BIN" step a --wait forever -- true"#] {
        scene.behave(&format!("exec \"$BIN\" step a -- sh -c '{inner}'"));
        let call = operation(&scene, "k").status(75);
        call.note(&["k: step a: busy", "wait for itself"]).run();
        scene.call("forget k").run();
    }
}

#[test]
fn steps_that_run_at_once_keep_each_other_out_by_their_names() {
    let scene = Scene::new();
    scene.behave(
        r#""$BIN" step a -- sh -c 'echo run >>runs; read x <gate' &
        until test -s runs; do :; done
        "$BIN" step b -- sh -c 'echo run >>runs'
        "$BIN" step a -n -- sh -c 'echo run >>runs; read x <gate'; echo "status $?"
        echo >gate; wait"#,
    );
    let call = operation(&scene, "k").stdout("status 75\n");
    call.note(&["k: step a: busy", "held by pid"]).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn whoever_waits_for_a_step_is_given_what_it_gave() {
    let scene = Scene::new();
    scene.behave(
        r#"a() { "$BIN" step a -q --wait forever -- sh -c 'echo run >>runs; read x <gate; echo out'; }
        a & until test -s runs; do :; done
        a & until grep -q -- '-> ' /proc/locks; do :; done
        echo >gate; wait"#,
    );
    operation(&scene, "k").stdout("out\nout\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn steps_are_no_keys_to_whoever_counts() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(
        r#""$BIN" step done -- true; exec "$BIN" step b -- sh -c 'echo run >>runs; read x <gate'"#,
    );
    let holder = scene.begun(operation(&scene, "k"));
    let keys: Vec<Value> = scene.json("list --json").as_array().unwrap().clone();
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0]["key"], "k");
    let stats = scene.json("stats --json");
    assert_eq!(stats["attempts"]["count"], 1, "{stats}");
    let found = scene.examined().found("holder", "ok");
    assert!(found.starts_with("1 running or held"), "{found}");
    gate.open();
    holder.finish();
    assert_eq!(scene.json("stats --json")["attempts"]["count"], 1);
}

#[test]
fn steps_go_with_their_key_and_their_large_outputs_too() {
    let scene = Scene::new();
    scene.behave(r#"exec "$BIN" step a -- head -c 2000000 /dev/zero >/dev/null"#);
    operation(&scene, "k").run();
    assert_eq!(spools(&scene).len(), 1);
    until("it is old enough", || {
        scene.call("prune --older-than 0s --force").run();
        scene.state("k") == "absent"
    });
    assert!(spools(&scene).is_empty());
}

#[test]
fn the_report_of_a_step_names_it_and_its_key() {
    let scene = Scene::new();
    scene.behave(
        r#"exec "$BIN" step "it's a" --report report -- sh -c 'echo run >>runs; echo out'"#,
    );
    operation(&scene, "k").stdout("out\n").run();
    let line: Value = serde_json::from_str(&scene.read("report")).unwrap();
    assert_eq!((&line["verb"], &line["outcome"]), (&"step".into(), &"ran".into()));
    assert_eq!((&line["key"], &line["step"]), (&"k".into(), &"it's a".into()));
    assert_eq!(line["output_bytes"], 4);
    scene.once("other --report report").command(["true"]).run();
    let line: Value = serde_json::from_str(&scene.read("report")).unwrap();
    assert!(line["step"].is_null());
}
