//! `renew` and `assert`: they go by the token alone, and nothing comes back by them.

use serde_json::Value;

use crate::support::{Call, Scene, token_of, until};

/// What the document of a call that is lost says.
#[track_caller]
fn lost(call: Call<'_>, words: &[&str]) -> Value {
    let done = call.arg("--json").any_stdout().status(69).note(words).run();
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Both verbs are lost, for this reason.
#[track_caller]
fn both_lost(scene: &Scene, token: &str, status: &str, words: &[&str]) {
    for verb in ["renew", "renew --claim-ttl 1h", "assert"] {
        assert_eq!(lost(scene.with_token(verb, token), words)["status"], status, "{verb}");
    }
}

/// How much of the lease of what is shown is left, in ms.
fn left(scene: &Scene, words: &str) -> u64 {
    let shown = scene.json(&format!("show {words} --json"));
    shown["attempts"][0]["lease_left_ms"].as_u64().expect("it has a lease")
}

#[test]
fn a_claim_is_extended_by_its_own_length_from_now_on() {
    let scene = Scene::new();
    for (token, show) in [
        (token_of(&scene.begin("k --claim-ttl 10s").any_stdout().run()), "k"),
        (token_of(&scene.acquire("n --ttl 10s").any_stdout().run()), "n --kind lease"),
    ] {
        let key = show.split(' ').next().unwrap();
        let before = scene.lease_end(key);
        scene.with_token("renew", &token).run();
        assert!(scene.lease_end(key) > before);
        assert!(left(&scene, show) <= 10_000);
    }
}

#[test]
fn a_claim_is_extended_by_another_length_and_keeps_that() {
    let scene = Scene::new();
    for (token, show) in [
        (token_of(&scene.begin("k --claim-ttl 10s").any_stdout().run()), "k"),
        (token_of(&scene.acquire("n --ttl 10s").any_stdout().run()), "n --kind lease"),
    ] {
        scene.with_token("renew --claim-ttl 1h", &token).run();
        assert!(left(&scene, show) > 3_000_000);
        scene.with_token("renew", &token).run();
        assert!(left(&scene, show) > 3_000_000);
        scene.with_token("renew --claim-ttl 10s", &token).run();
        assert!(left(&scene, show) <= 10_000);
        scene.with_token("renew --claim-ttl 1s", &token).status(64).note(&["--claim-ttl"]).run();
    }
}

#[test]
fn what_would_be_over_by_now_goes_on_after_a_renewal() {
    let scene = Scene::new();
    let token = token_of(&scene.begin("k --claim-ttl 2s").any_stdout().run());
    token_of(&scene.begin("other --claim-ttl 2s").any_stdout().run());
    scene.with_token("renew --claim-ttl 1h", &token).run();
    until("as much time is over", || scene.state("other") == "interrupted");
    scene.begin("k --claim-ttl 1h -q").status(75).run();
    scene.with_token("complete k", &token).run();
}

#[test]
fn a_document_says_what_is_still_good() {
    let scene = Scene::new();
    let token = scene.token("k --namespace ns");
    for (verb, status) in [("renew", "renewed"), ("assert", "held")] {
        let told = scene.json(&format!("{verb} --json --token {token}"));
        assert_eq!((&told["status"], &told["kind"]), (&status.into(), &"once".into()));
        assert_eq!((&told["key"], &told["namespace"]), (&"k".into(), &"ns".into()));
        assert_eq!(told["late"], false);
    }
}

#[test]
fn to_ask_changes_nothing() {
    let scene = Scene::new();
    let token = scene.token("k");
    let before = scene.lease_end("k");
    for _ in 0..3 {
        scene.with_token("assert", &token).run();
    }
    assert_eq!(scene.lease_end("k"), before);
}

#[test]
fn nothing_comes_back_that_has_ended_or_was_taken() {
    let scene = Scene::new();
    let done = scene.token("done");
    scene.with_token("complete done", &done).run();
    both_lost(&scene, &done, "already_done", &["done: already_done", "exit status 0"]);
    assert_eq!(scene.state("done"), "done");

    let failed = scene.token("failed");
    scene.with_token("fail failed", &failed).run();
    both_lost(&scene, &failed, "already_done", &["failed: already_done", "exit status 1"]);
    assert_eq!(scene.state("failed"), "failed");

    let released = scene.acquired("n");
    scene.with_token("release n", &released).run();
    both_lost(&scene, &released, "already_done", &["n: already_done"]);
    assert_eq!(scene.lease_state("n"), "released");

    let forgotten = scene.token("forgotten");
    scene.call("forget forgotten --force").run();
    both_lost(&scene, &forgotten, "superseded", &["forgotten: superseded", "it was forgotten"]);
    assert_eq!(scene.state("forgotten"), "forgotten");

    scene.shell(r#""$BIN" begin taken --pid $$ >token; exit $?"#).run();
    let taken = scene.read("token");
    scene.token("taken -q");
    both_lost(&scene, taken.trim(), "superseded", &["taken: superseded", "another attempt"]);
}

#[test]
fn a_token_that_nothing_is_known_of_is_missing() {
    let scene = Scene::new();
    let strange = "0".repeat(32);
    both_lost(&scene, &strange, "missing", &["missing", "store.db"]);
    assert_eq!(scene.state_files().len(), 0, "no store is made to look into");
    scene.token("k");
    both_lost(&scene, &strange, "missing", &["missing", "store.db"]);
    let told = lost(scene.with_token("assert", &strange), &["missing"]);
    assert!(told["key"].is_null() && told["kind"].is_null());
}

#[test]
fn what_is_over_is_expired_until_a_renewal_that_says_that_it_came_late() {
    let scene = Scene::new();
    let token = token_of(&scene.begin("k --claim-ttl 2s").any_stdout().run());
    until("its time is over", || scene.state("k") == "interrupted");
    let told = lost(scene.with_token("assert", &token), &["k: expired", "its time is over"]);
    assert_eq!((&told["status"], &told["late"]), (&"expired".into(), &true.into()));
    let call = scene.with_token("renew --claim-ttl 1h --json", &token).any_stdout();
    let done = call.note(&["k: renewed late", "nobody had taken"]).run();
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&told["status"], &told["late"]), (&"renewed".into(), &true.into()));
    scene.with_token("assert", &token).run();
}

#[test]
fn a_claim_whose_process_is_gone_is_expired() {
    let scene = Scene::new();
    scene.shell(r#""$BIN" begin k --pid $$ >token; exit $?"#).run();
    let token = scene.read("token");
    let call = scene.with_token("assert", token.trim()).status(69);
    call.note(&["k: expired", "its process is gone", "anybody may take it"]).run();
}

#[test]
fn the_commands_of_once_and_lease_ask_by_their_environment() {
    let scene = Scene::new();
    let script = r#""$BIN" assert && "$BIN" renew && "$BIN" assert --json"#;
    for (call, kind) in
        [(scene.once("k").sh(script), "once"), (scene.lease("k").sh(script), "lease")]
    {
        let told: Value = serde_json::from_slice(&call.any_stdout().run().stdout).unwrap();
        assert_eq!((&told["status"], &told["kind"]), (&"held".into(), &kind.into()));
        assert_eq!(told["key"], "k");
    }
}

#[test]
fn the_innermost_claim_is_asked_about_and_any_other_by_its_token() {
    let scene = Scene::new();
    let script = r#"outer=$DOUBLETAP_TOKEN; export outer
        "$BIN" lease n -- sh -c '"$BIN" assert --json; "$BIN" assert --json --token $outer'"#;
    let text = scene.once("k").sh(script).any_stdout().run().text();
    let mut told = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    assert_eq!(told.next().unwrap().unwrap()["key"], "n");
    assert_eq!(told.next().unwrap().unwrap()["key"], "k");
}

#[test]
fn a_command_learns_that_its_key_was_forgotten() {
    let scene = Scene::new();
    let script = r#""$BIN" forget k --force; "$BIN" assert; echo "assert $?""#;
    let done = scene.once("k").sh(script).any_stderr().unchecked().run();
    assert!(done.text().contains("assert 69"), "{} {}", done.text(), done.complaint());
    assert!(done.complaint().contains("k: superseded: it was forgotten"), "{}", done.complaint());
}

#[test]
fn what_hung_on_a_process_that_is_gone_is_not_renewed() {
    let scene = Scene::new();
    scene.shell(r#""$BIN" begin k --pid $$ >token"#).run();
    let token = scene.read("token");
    for verb in ["renew", "renew --claim-ttl 1h"] {
        let call = scene.with_token(verb, token.trim()).status(69);
        call.note(&["k: expired", "its process is gone"]).run();
    }
}
