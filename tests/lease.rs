//! `lease`: a command that never overlaps itself.

use crate::support::{Scene, input_of};

#[test]
fn the_command_has_our_streams_and_its_status_is_ours_and_nothing_is_recorded() {
    let scene = Scene::new();
    for _ in 0..2 {
        let call = scene.lease("n").sh("echo run >>runs; cat; echo err >&2; exit 3");
        let call = call.stdin(input_of(&scene, b"fed\n"));
        call.stdout("fed\n").stderr("err\n").status(3).run();
    }
    assert_eq!(scene.runs(), 2);
    assert_eq!(scene.lease_state("n"), "released");
}

#[test]
fn a_held_name_is_busy_and_its_holder_is_named() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n"));
    assert_eq!(scene.lease_state("n"), "held");
    let pid = holder.pid().to_string();
    scene.held("n").status(75).note(&["n: busy", "held by pid", &pid, "--wait"]).run();
    scene.held("n -n -q").status(75).run();
    scene.held("n -E 9").status(9).note(&["busy"]).run();
    scene.lease("other -E 0").sh("echo run >>runs").run();
    gate.open();
    holder.finish();
    scene.behave(":");
    scene.held("n").run();
    assert_eq!(scene.runs(), 3);
}

#[test]
fn a_name_and_a_key_of_the_same_word_have_nothing_to_do_with_each_other() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("word"));
    scene.once("word").command(["echo", "hi"]).stdout("hi\n").run();
    scene.lease("word --namespace other").command(["echo", "hi"]).stdout("hi\n").run();
    gate.open();
    holder.finish();
}

#[test]
fn the_command_knows_its_name_its_fence_and_its_token() {
    let scene = Scene::new();
    let script = r#"echo "$DOUBLETAP_NAME $DOUBLETAP_NAMESPACE $DOUBLETAP_STORE"
        echo "$DOUBLETAP_FENCE" >>fences; test "$DOUBLETAP_HELD" = "$DOUBLETAP_TOKEN"
        test -z "$DOUBLETAP_KEY$DOUBLETAP_IDEMPOTENCY_KEY$DOUBLETAP_ATTEMPT""#;
    let expected = format!("n default {}\n", scene.store().display());
    for _ in 0..3 {
        scene.lease("n").sh(script).stdout(&expected).run();
    }
    let fences: Vec<i64> = scene.read("fences").lines().map(|f| f.parse().unwrap()).collect();
    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
}

#[test]
fn under_a_once_the_command_keeps_the_idempotency_key_of_its_operation() {
    let scene = Scene::new();
    let script = r#"
        echo "$DOUBLETAP_IDEMPOTENCY_KEY $DOUBLETAP_ATTEMPT" >outer
        "$BIN" lease n -- sh -c 'echo "$DOUBLETAP_IDEMPOTENCY_KEY $DOUBLETAP_ATTEMPT"' >inner"#;
    scene.once("k").sh(script).run();
    assert_eq!(scene.read("outer"), scene.read("inner"));
}

#[test]
fn an_inner_call_of_the_same_name_would_wait_for_itself_and_is_told() {
    let scene = Scene::new();
    for inner in [
        r#"exec "$BIN" lease n --wait forever -- true"#,
        r#"env -i PATH="$PATH" "$BIN" --store "$DOUBLETAP_STORE" lease n --wait forever -- true; exit $?"#,
    ] {
        scene.lease("n").sh(inner).status(75).note(&["n", "itself"]).run();
    }
    scene.lease("n").sh(r#"exec "$BIN" lease inner -- true"#).run();
}

#[test]
fn a_command_that_cannot_be_run_leaves_the_name_free() {
    let scene = Scene::new();
    scene.lease("n").command(["./absent"]).status(127).note(&["n", "./absent"]).run();
    scene.lease("n").command(["/etc/passwd"]).status(126).note(&["n", "/etc/passwd"]).run();
    scene.held("n").run();
}

#[test]
fn a_daemon_that_the_command_leaves_behind_does_not_hold_the_name() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.lease("n").sh("(exec >&- 2>&-; read x <gate) & exit 0").run();
    scene.held("n").run();
}

#[test]
fn no_descriptor_of_ours_reaches_the_command() {
    let scene = Scene::new();
    let script = "ls -l /proc/self/fd | grep -c -e store.db -e socket -e eventfd -e timerfd";
    scene.lease("n").sh(script).stdout("0\n").status(1).run();
}

#[test]
fn what_makes_no_sense_is_refused_before_the_store_is_opened() {
    let scene = Scene::new();
    for (options, words) in [
        ("n --ttl 1s", "2s"),
        ("n --ttl forever", "--ttl"),
        ("n --slots 0", "--slots"),
        ("n --min-hold 0s", "--min-hold"),
        ("n --wait 1m --nonblock", "--nonblock"),
        ("n --validate true", "--validate"),
        ("n --timeout 0s", "--timeout"),
    ] {
        scene.held(options).status(64).note(&[words]).run();
    }
    scene.lease("").arg("").sh("true").status(64).note(&["empty"]).run();
    scene.call("lease n true").status(64).note(&["lease n -- true"]).run();
    assert_eq!((scene.runs(), scene.state_files().len()), (0, 0));
}

#[test]
fn a_name_that_begins_with_a_dash_is_passed_by_name() {
    let scene = Scene::new();
    scene.lease("--key=-x").command(["echo", "hi"]).stdout("hi\n").run();
    assert_eq!(scene.lease_state("--key=-x"), "released");
}

#[test]
fn each_call_writes_its_report_line() {
    let scene = Scene::new();
    scene.lease("n --report report").sh("exit 4").status(4).run();
    let line: serde_json::Value = serde_json::from_str(&scene.read("report")).unwrap();
    assert_eq!((&line["verb"], &line["key"]), (&"lease".into(), &"n".into()));
    assert_eq!((&line["outcome"], &line["exit_code"]), (&"failed".into(), &4.into()));
    assert!(line["fence"].is_i64() && line["output_bytes"].is_null());
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n"));
    scene.held("n -q --report report").status(75).run();
    let line: serde_json::Value = serde_json::from_str(&scene.read("report")).unwrap();
    assert_eq!(line["outcome"], "busy");
    assert!(line["retry_after_ms"].as_u64().is_some_and(|ms| ms > 50_000));
    gate.open();
    holder.finish();
}

#[test]
fn a_forgotten_name_is_free_and_its_living_holder_needs_force() {
    let scene = Scene::new();
    scene.call("forget n --kind lease").status(1).note(&["n"]).run();
    let _gate = scene.gate();
    let call = scene.hanging_lease("n --ttl 2s").status(69).note(&["n", "lost"]);
    let holder = scene.begun(call);
    scene.call("forget n --kind lease").status(75).note(&["held by", "--force"]).run();
    scene.call("forget n --kind lease --force").run();
    holder.finish();
    assert_eq!(scene.lease_state("n"), "forgotten");
    scene.behave(":");
    scene.held("n").run();
}
