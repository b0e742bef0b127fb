//! `show` and `list` say what there is, for people and for programs.

use crate::support::Scene;

#[test]
fn show_of_an_absent_key_is_1() {
    let scene = Scene::new();
    scene.attempt("other").run();
    let done = scene.call("show k").unchecked().run();
    assert_eq!(done.code(), 1);
    let said = done.text() + &done.complaint();
    assert!(said.contains('k') && said.lines().count() == 1, "it said: {said}");
}

#[test]
fn looking_at_a_store_that_does_not_exist_makes_none() {
    let scene = Scene::new();
    assert_eq!(scene.call("show k").unchecked().run().code(), 1);
    assert_eq!(scene.json("list --json"), serde_json::json!([]));
    assert_eq!(scene.state_files(), Vec::<String>::new());
}

#[test]
fn show_follows_a_key_through_its_states() {
    let scene = Scene::new();
    assert_eq!(scene.state("k"), "absent");
    let mut gate = scene.gate();
    scene.behave("read x <gate; exit 1");
    let holder = scene.begun(scene.attempt("k").status(1));
    assert_eq!(scene.state("k"), "running");
    gate.open();
    holder.finish();
    assert_eq!(scene.state("k"), "failed");
    scene.interrupted("k");
    assert_eq!(scene.state("k"), "interrupted");
    scene.attempt("k").note(&["interrupted"]).run();
    assert_eq!(scene.state("k"), "done");
    scene.call("forget k").run();
    assert_eq!(scene.state("k"), "forgotten");
}

#[test]
fn show_json_is_one_document_with_every_attempt_newest_first() {
    let scene = Scene::new();
    scene.behave("kill -9 $$");
    scene.attempt("k").status(137).run();
    scene.behave("exit 3");
    scene.attempt("k").status(3).run();
    scene.behave("echo fine");
    scene.attempt("k").stdout("fine\n").run();
    let shown = scene.json("show k --json");
    assert_eq!(shown["key"], "k");
    assert_eq!(shown["namespace"], "default");
    assert_eq!(shown["state"], "done");
    let attempts = shown["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3, "{shown}");
    assert_eq!(attempts[0]["generation"], 3);
    assert_eq!(attempts[0]["exit_code"], 0);
    assert_eq!(attempts[1]["exit_code"], 3);
    assert_eq!(attempts[2]["signal"], 9);
    assert!(attempts[0]["operation"].is_string(), "{shown}");
    assert_eq!(attempts[0]["state"], "done");
    assert_eq!(attempts[1]["state"], "failed");
}

#[test]
fn show_for_people_says_how_much_of_a_lease_is_left() {
    let scene = Scene::new();
    let shown = |words: &str| scene.call(&format!("show {words}")).any_stdout().run().text();
    let token = scene.acquired("n");
    let text = shown("n --kind lease");
    let (_, left) = text.split_once("its lease ends in ").expect(&text);
    assert!(left.starts_with("59m") || left.starts_with("1h"), "{text}");
    assert!(left.contains("unless it is renewed"), "{text}");
    scene.with_token("release n", &token).run();
    let bystander = scene.bystander();
    scene.begin(&format!("k --pid {}", bystander.pid())).any_stdout().run();
    for words in ["n --kind lease", "k"] {
        assert!(!shown(words).contains("its lease"), "it has none: {}", shown(words));
    }
}

#[test]
fn show_for_people_names_key_state_and_holder() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("deploy-42");
    let text = scene.call("show deploy-42").any_stdout().run().text();
    assert!(text.contains("deploy-42") && text.contains("running"), "{text}");
    assert!(text.contains(&holder.pid().to_string()), "{text}");
    gate.open();
    holder.finish();
    let text = scene.call("show deploy-42").any_stdout().run().text();
    assert!(text.contains("done"), "{text}");
}

#[test]
fn list_has_one_entry_for_each_key_newest_first() {
    let scene = Scene::new();
    scene.attempt("first").run();
    scene.behave("exit 1");
    scene.attempt("second").status(1).run();
    scene.attempt("second").status(1).run();
    let listed = scene.json("list --json");
    let keys: Vec<&str> =
        listed.as_array().unwrap().iter().map(|entry| entry["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["second", "first"], "{listed}");
    assert_eq!(listed[0]["state"], "failed");
    assert_eq!(listed[1]["state"], "done");
    let text = scene.call("list").any_stdout().run().text();
    assert!(text.contains("first") && text.contains("second"), "{text}");
}

#[test]
fn a_list_whose_reader_leaves_is_no_error() {
    let scene = Scene::new();
    scene.attempt("k").run();
    scene
        .call("list")
        .through_sh(r#"{ "$@"; echo "ended with $?" >&2; } | true"#)
        .stderr("ended with 0\n")
        .run();
}

#[test]
fn looking_disturbs_nobody() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    for _ in 0..5 {
        assert_eq!(scene.state("k"), "running");
        assert_eq!(scene.json("list --json")[0]["state"], "running");
    }
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}
