//! `fail`: gives a key back for a retry, and keeps why.

use serde_json::Value;

use crate::support::Scene;

#[test]
fn why_it_failed_and_with_what_status_is_shown() {
    let scene = Scene::new();
    let token = scene.token("k");
    let call = scene.with_token("fail k --exit-code 4", &token).arg("--reason").arg("no disk");
    call.run();
    let attempt = &scene.json("show k --json")["attempts"][0];
    assert_eq!((&attempt["state"], &attempt["exit_code"]), (&"failed".into(), &4.into()));
    assert_eq!((&attempt["reason"], &attempt["output_bytes"]), (&"no disk".into(), &Value::Null));
    let shown = scene.call("show k").any_stdout().run().text();
    assert!(shown.contains("no disk") && shown.contains('4'), "{shown}");
}

#[test]
fn without_a_status_it_is_1_and_0_is_no_failure() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("fail k --exit-code 0", &token).status(64).note(&["--exit-code"]).run();
    assert_eq!(scene.state("k"), "running");
    scene.with_token("fail k", &token).run();
    assert_eq!(scene.json("show k --json")["attempts"][0]["exit_code"], 1);
}

#[test]
fn what_came_from_outside_cannot_move_the_cursor() {
    let scene = Scene::new();
    let token = scene.token("k");
    let call = scene.with_token("fail k", &token).arg("--reason").arg("a\x1b[2Jb\nc");
    call.run();
    let shown = scene.call("show k").any_stdout().run().text();
    assert!(shown.contains(r"a\u{1b}[2Jb\nc") && !shown.contains('\u{1b}'), "{shown}");
    assert_eq!(scene.json("show k --json")["attempts"][0]["reason"], "a\x1b[2Jb\nc");
}

#[test]
fn the_key_rests_for_as_long_as_was_asked_for() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("fail k --exit-code 4 --retry-after 1h", &token).run();
    let call = scene.begin("k --claim-ttl 1h").status(75);
    call.note(&["k: busy", "failed with exit status 4", "rests for another"]).run();
    let call = scene.begin("k --claim-ttl 1h --format json -q").any_stdout().status(75);
    let told: Value = serde_json::from_slice(&call.run().stdout).unwrap();
    let left = told["retry_after_ms"].as_u64().unwrap();
    assert!((3_000_000..=3_600_000).contains(&left), "{left}");
    scene.call("forget k").run();
    scene.token("k");
}

#[test]
fn the_next_begin_goes_on_with_the_operation() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("fail k", &token).run();
    scene.token("k");
    let attempts = &scene.json("show k --json")["attempts"];
    assert_eq!((&attempts[0]["attempt"], &attempts[1]["attempt"]), (&2.into(), &1.into()));
    assert_eq!(attempts[0]["operation"], attempts[1]["operation"]);
}

#[test]
fn the_same_again_is_no_error_and_changes_nothing() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("fail k --exit-code 4 --reason first", &token).run();
    let before = scene.json("show k --json");
    for _ in 0..2 {
        let told = scene.json(&format!("fail k --reason second --json --token {token}"));
        assert_eq!((&told["status"], &told["late"]), (&"failed".into(), &false.into()));
    }
    assert_eq!(scene.json("show k --json"), before);
    scene.token("k");
    scene.with_token("fail k", &token).run();
    assert_eq!(scene.state("k"), "running", "it is not the next attempt that failed");
}

#[test]
fn what_is_recorded_does_not_fail_any_more() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("complete k --exit-code 3", &token).run();
    let call = scene.with_token("fail k --json", &token).any_stdout().status(69);
    let done = call.note(&["k: already_done", "exit status 3"]).run();
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["status"], "already_done");
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn whoever_lost_the_claim_fails_nobody_elses() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("fail other", &token).status(69).note(&["other: missing"]).run();
    scene.call("forget k --force").run();
    scene.with_token("fail k", &token).status(69).note(&["k: superseded"]).run();
    scene.token("k");
    scene.with_token("fail k", &token).status(69).note(&["k: superseded"]).run();
    assert_eq!(scene.state("k"), "running");
}

#[test]
fn a_token_of_nobody_is_not_told_that_somebody_has_what_nobody_has() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --retry-after 1h").status(1).run();
    let stranger = "0".repeat(32);
    let call = scene.with_token("fail k", &stranger).status(69);
    let said = call.note(&["k: superseded", "whose newest attempt has ended"]).run().complaint();
    assert!(!said.contains("has it"), "{said}");
}

#[test]
fn a_late_failure_that_nobody_superseded_says_so() {
    let scene = Scene::new();
    let script = r#""$BIN" begin k --pid $$ >token; exit $?"#;
    scene.shell(script).run();
    let token = scene.read("token");
    scene.with_token("fail k", token.trim()).note(&["k: failed late", "process was gone"]).run();
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn a_once_goes_on_with_what_a_script_gave_back() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("fail k", &token).run();
    scene.attempt("k --fingerprint none").run();
    let attempts = &scene.json("show k --json")["attempts"];
    assert_eq!((&attempts[0]["attempt"], &attempts[0]["state"]), (&2.into(), &"done".into()));
    assert_eq!(scene.keys()[0], attempts[1]["operation"].as_str().unwrap());
}
