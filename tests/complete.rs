//! `complete`: records once, by the token, and says what became of a claim that is lost.

use serde_json::Value;

use crate::support::{Call, Done, Scene, finished, until};

/// A call that is not the owner's any more, and what its document says.
#[track_caller]
fn lost(call: Call<'_>, status: &str, words: &[&str]) {
    let done = call.arg("--json").any_stdout().status(69).note(words).run();
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&told["status"], &told["late"]), (&status.into(), &false.into()));
}

#[test]
fn what_was_begun_is_recorded_with_its_status() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("complete k --exit-code 7", &token).run();
    let shown = scene.json("show k --json");
    let attempt = &shown["attempts"][0];
    assert_eq!((&shown["state"], &attempt["exit_code"]), (&"done".into(), &7.into()));
    assert!(attempt["run_ms"].is_u64() && attempt["output_bytes"].is_null());
    scene.once("k --fingerprint none").command(["true"]).status(7).run();
}

#[test]
fn a_document_says_what_was_recorded() {
    let scene = Scene::new();
    let token = scene.token("k --namespace ns");
    let told = scene.json(&format!("complete k --namespace ns --json --token {token}"));
    assert_eq!((&told["status"], &told["kind"]), (&"recorded".into(), &"once".into()));
    assert_eq!((&told["key"], &told["namespace"]), (&"k".into(), &"ns".into()));
    assert_eq!(told["late"], false);
}

#[test]
fn the_same_again_is_recorded_and_changes_nothing() {
    let scene = Scene::new();
    scene.write("result", "result");
    let token = scene.token("k");
    let complete = || scene.with_token("complete k --exit-code 3 --result result", &token);
    complete().run();
    let before = scene.json("show k --json");
    for _ in 0..2 {
        complete().run();
    }
    assert_eq!(scene.json("show k --json"), before);
}

#[test]
fn something_else_afterwards_is_already_done() {
    let scene = Scene::new();
    scene.write("result", "result");
    scene.write("other", "resulT");
    scene.write("empty", "");
    let token = scene.token("k");
    scene.with_token("complete k --result result", &token).run();
    let before = scene.json("show k --json");
    for other in ["--result other", "--result empty", "", "--result result --exit-code 1"] {
        let call = scene.with_token(&format!("complete k {other}"), &token);
        lost(call, "already_done", &["k: already_done", "ended", "nothing was changed"]);
    }
    assert_eq!(scene.json("show k --json"), before);
    scene.begin("k --claim-ttl 1h").status(10).stdout("result").run();

    let token = scene.token("none");
    scene.with_token("complete none", &token).run();
    let call = scene.with_token("complete none --result empty", &token);
    lost(call, "already_done", &["none: already_done"]);
}

#[test]
fn of_two_at_once_with_different_results_one_is_recorded_whole() {
    let scene = Scene::new();
    for size in [10, 100_000, 2_000_000] {
        let results = ["1", "2"].map(|digit| digit.repeat(size));
        for (name, result) in ["1", "2"].iter().zip(&results) {
            scene.write(name, result);
        }
        let token = scene.token("k");
        let complete = |name: &str| {
            let call = scene.with_token(&format!("complete k --result {name}"), &token);
            call.unchecked().spawn()
        };
        let done = finished(["1", "2"].map(complete));
        let codes: Vec<i32> = done.iter().map(Done::code).collect();
        let winner = codes.iter().position(|code| *code == 0).expect("one is recorded");
        assert_eq!(codes.iter().sum::<i32>(), 69, "{codes:?} {}", done[1 - winner].complaint());
        let complaint = done[1 - winner].complaint();
        assert!(complaint.starts_with("doubletap: k: already_done"), "{complaint}");
        scene.begin("k --claim-ttl 1h").status(10).stdout(&results[winner]).run();
        scene.call("forget k").run();
    }
}

#[test]
fn of_many_at_once_with_one_result_all_are_recorded() {
    let scene = Scene::new();
    scene.write("result", "result");
    let token = scene.token("k");
    let complete = |_| scene.with_token("complete k --result result", &token).spawn();
    finished((0..8).map(complete).collect::<Vec<_>>());
    scene.begin("k --claim-ttl 1h").status(10).stdout("result").run();
}

#[test]
fn a_key_of_which_nothing_is_known_is_missing() {
    let scene = Scene::new();
    let strange = "0".repeat(32);
    let call = scene.with_token("complete k", &strange);
    lost(call, "missing", &["k: missing", "store.db"]);
    assert_eq!(scene.state_files().len(), 0, "no store is made to look into");
    scene.token("other");
    let call = scene.with_token("complete k", &strange);
    lost(call, "missing", &["k: missing", "namespace", "store.db"]);
}

#[test]
fn a_token_and_a_key_must_belong_together() {
    let scene = Scene::new();
    let (one, other) = (scene.token("one"), scene.token("other"));
    let call = scene.with_token("complete one", &other);
    lost(call, "superseded", &["one: superseded", "nothing was changed"]);
    assert_eq!(scene.state("one"), "running");
    scene.with_token("complete one", &one).run();
    let call = scene.with_token("complete one", &other);
    lost(call, "superseded", &["one: superseded"]);
}

#[test]
fn a_name_is_no_key() {
    let scene = Scene::new();
    let token = scene.acquired("n");
    lost(scene.with_token("complete n", &token), "missing", &["n: missing"]);
    assert_eq!(scene.lease_state("n"), "held");
}

#[test]
fn a_forgotten_claim_is_superseded() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.call("forget k --force").run();
    let call = scene.with_token("complete k", &token);
    lost(call, "superseded", &["k: superseded", "it was forgotten"]);
    assert_eq!(scene.state("k"), "forgotten");
}

#[test]
fn after_a_failure_its_token_is_good_for_nothing() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("fail k --exit-code 4", &token).run();
    let call = scene.with_token("complete k", &token);
    lost(call, "already_done", &["k: already_done", "exit status 4"]);
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn a_failure_and_a_success_are_two_attempts_of_one_operation() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("fail k", &token).run();
    let token = scene.token("k");
    scene.with_token("complete k", &token).run();
    let attempts = &scene.json("show k --json")["attempts"];
    assert_eq!((&attempts[0]["attempt"], &attempts[1]["attempt"]), (&2.into(), &1.into()));
    assert_eq!(attempts[0]["operation"], attempts[1]["operation"]);
}

#[test]
fn the_environment_gives_the_token_and_an_option_wins() {
    let scene = Scene::new();
    let (one, other) = (scene.token("one"), scene.token("other"));
    scene.call("complete one").env("DOUBLETAP_TOKEN", &one).run();
    scene.with_token("complete other", &other).env("DOUBLETAP_TOKEN", &one).run();
}

#[test]
fn what_is_no_token_is_refused_before_the_store_is_opened() {
    let scene = Scene::new();
    for verb in ["complete k", "fail k", "release k", "renew", "assert"] {
        let call = scene.call(verb).status(64);
        call.note(&["no token", "--token", "DOUBLETAP_TOKEN"]).run();
        for garbage in ["", "x", "0123456789abcdef", "zz".repeat(16).as_str()] {
            let call = scene.call(verb).env("DOUBLETAP_TOKEN", garbage).status(64);
            call.note(&["DOUBLETAP_TOKEN"]).run();
            let call = scene.call(verb).arg(format!("--token={garbage}")).status(64);
            call.note(&["--token"]).run();
        }
    }
    assert_eq!(scene.state_files().len(), 0);
}

#[test]
fn what_was_interrupted_is_settled_without_a_token_and_not_with_one() {
    let scene = Scene::new();
    let strange = "0".repeat(32);
    for (option, name) in [
        (format!("--token {strange}"), "--token"),
        ("--result /dev/null".to_owned(), "--result"),
        ("--ttl 1h".to_owned(), "--ttl"),
        ("--per day".to_owned(), "--per"),
        ("--upsert-missing".to_owned(), "--upsert-missing"),
    ] {
        let call = scene.call(&format!("complete k --unresolved {option}")).status(64);
        call.note(&["--unresolved", name]).run();
    }
    scene.interrupted("k --fingerprint none");
    let call = scene.call("complete k --unresolved --exit-code 4");
    call.env("DOUBLETAP_TOKEN", strange).run();
    scene.begin("k --claim-ttl 1h").status(10).run();
}

#[test]
fn a_record_is_good_for_as_long_as_was_asked_for() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("complete k --ttl 1s", &token).run();
    until("the record has expired", || scene.state("k") == "expired");
    let token = scene.token("k");
    scene.with_token("complete k --ttl forever", &token).run();
    assert!(scene.json("show k --json")["attempts"][0]["expires"].is_null());
    scene.begin("k --claim-ttl 1h").status(10).run();
}

#[test]
fn a_record_is_good_until_its_period_ends() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("complete k --per hour --tz UTC", &token).run();
    let expires = scene.json("show k --json")["attempts"][0]["expires"].clone();
    assert!(expires.as_str().unwrap().ends_with(":00:00.000Z"), "{expires}");
    let token = scene.token("other");
    let call = scene.with_token("complete other --per hour --ttl 1h", &token).status(64);
    call.note(&["--per", "--ttl"]).run();
    let call = scene.with_token("complete other --per hour --tz Nowhere/Land", &token);
    call.status(64).note(&["Nowhere/Land"]).run();
    assert_eq!(scene.state("other"), "running");
}

#[test]
fn a_command_does_not_give_back_what_its_own_doubletap_holds() {
    let scene = Scene::new();
    for verb in ["complete k", "fail k"] {
        let script = format!(r#""$BIN" {verb}; echo "status $?"; exit 3"#);
        let call = scene.once("k").sh(&script).stdout("status 64\n").status(3);
        call.note(&["k: it is held by the doubletap that runs its command"]).run();
    }
    for verb in ["release n", "renew --claim-ttl 2s"] {
        let script = format!(r#""$BIN" {verb}; echo "status $?""#);
        let call = scene.lease("n").sh(&script).stdout("status 64\n");
        call.note(&["n: it is held by the doubletap that runs its command"]).run();
    }
}

#[test]
fn a_name_held_within_an_operation_does_not_hide_its_token() {
    let scene = Scene::new();
    let script = r#"eval "$("$BIN" begin k --pid $$ --format sh)"
        eval "$("$BIN" acquire n --ttl 1h --pid $$ --format sh)"
        "$BIN" step a -- true && "$BIN" complete k && "$BIN" release n"#;
    scene.shell(script).run();
    assert_eq!((scene.state("k"), scene.lease_state("n")), ("done".into(), "released".into()));
}
