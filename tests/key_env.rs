//! `once --key-env`: the key comes in a variable; and `--if-key`, where there may be none.

use crate::support::{Call, Scene, input_of};

fn with_key<'a>(scene: &'a Scene, options: &str, key: &str) -> Call<'a> {
    scene.attempt(&format!("--key-env ORDER {options}")).env("ORDER", key)
}

#[test]
fn a_key_from_a_variable_is_the_same_as_one_that_is_typed() {
    let scene = Scene::new();
    scene.behave("echo done");
    with_key(&scene, "", "order 17").stdout("done\n").run();
    with_key(&scene, "", "order 17").stdout("done\n").run();
    scene.attempt("").arg("--key").arg("order 17").unchecked().run();
    assert_eq!(scene.runs(), 1);
    with_key(&scene, "", "-x").stdout("done\n").run();
    assert_eq!(scene.state("--key=-x"), "done");
    assert_eq!(scene.runs(), 2);
}

#[test]
fn without_a_key_the_call_is_refused_unless_it_may_run_unguarded() {
    let scene = Scene::new();
    let words = ["ORDER", "unset or empty", "--if-key"];
    for blank in ["", " ", "\t \t"] {
        with_key(&scene, "", blank).status(64).note(&words).run();
        with_key(&scene, "--if-key", blank).note(&["ORDER", "running unguarded"]).run();
    }
    scene.attempt("--key-env ORDER").without_env("ORDER").status(64).note(&words).run();
    assert_eq!(scene.runs(), 3);
    assert!(!scene.store().exists());
}

#[test]
fn what_is_no_key_is_refused_with_if_key_too() {
    let scene = Scene::new();
    for options in ["", "--if-key"] {
        with_key(&scene, options, "a\nb").status(64).note(&["--key-env ORDER", "control"]).run();
        let long = "k".repeat(1025);
        with_key(&scene, options, &long).status(64).note(&["--key-env ORDER", "1024"]).run();
    }
    assert_eq!(scene.runs(), 0);
}

#[test]
fn if_key_runs_unguarded_without_a_key_and_says_so() {
    let scene = Scene::new();
    scene.behave("echo out; echo err >&2; exit 3");
    for _ in 0..2 {
        let call = scene.attempt("--key-env ORDER --if-key").without_env("ORDER");
        let done = call.status(3).stdout("out\n").any_stderr().run();
        let said = "doubletap: --key-env ORDER: running unguarded, because it is unset or empty\n";
        assert_eq!(done.complaint(), format!("{said}err\n"));
    }
    assert_eq!(scene.runs(), 2);
    assert!(!scene.store().exists(), "no store is made for it");
    let keys = scene.keys();
    assert!(keys[0] != keys[1] && keys.iter().all(|key| key.len() == 32), "{keys:?}");
}

#[test]
fn if_key_changes_nothing_where_there_is_a_key() {
    let scene = Scene::new();
    for _ in 0..2 {
        with_key(&scene, "--if-key", "k").run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn an_unguarded_command_is_told_nothing_of_a_claim_or_a_key_above_it() {
    let scene = Scene::new();
    let tell = r#"echo "${DOUBLETAP_KEY-none}" "${DOUBLETAP_TOKEN-none}" "${DOUBLETAP_FENCE-none}" \
        "${DOUBLETAP_ATTEMPT-none}"; echo "$DOUBLETAP_IDEMPOTENCY_KEY" >>runs"#;
    scene.write("tell", tell);
    let script = r#". ./tell >outer; "$BIN" once --key-env ORDER --if-key -- sh ./tell"#;
    let call = scene.once("outer").sh(script);
    call.stdout("none none none none\n").note(&["unguarded"]).run();
    assert!(scene.read("outer").starts_with("outer "));
    let keys = scene.keys();
    assert_ne!(keys[0], keys[1], "its effects would count as repetitions of the other's");
}

#[test]
fn an_unguarded_command_keeps_its_input_its_signals_and_its_time_limit() {
    let scene = Scene::new();
    let free = |options: &str| scene.once(&format!("--key-env ORDER --if-key {options}"));
    let call = free("").sh("cat").stdin(input_of(&scene, b"fed"));
    call.stdout("fed").note(&["unguarded"]).run();
    free("").sh("kill -9 $$").status(137).note(&["unguarded"]).run();
    let call = free("--timeout 100ms --kill-after 0s").sh("read x <gate");
    call.status(124).notes(&["unguarded", "longer than 100ms"]).run();
    free("").command(["./absent"]).status(127).notes(&["unguarded", "./absent"]).run();
}

#[test]
fn a_call_without_a_key_has_a_report_line_without_one() {
    let scene = Scene::new();
    let call = scene.once("--key-env ORDER --if-key --report report --log log").sh("exit 4");
    call.status(4).note(&["unguarded"]).run();
    let line: serde_json::Value = serde_json::from_str(&scene.read("report")).unwrap();
    assert!(line["key"].is_null());
    assert_eq!((&line["verb"], &line["outcome"]), (&"once".into(), &"not_recorded".into()));
    assert_eq!((&line["exit_code"], &line["attempt"]), (&4.into(), &serde_json::Value::Null));
    let stats = scene.json("stats --log log --json").to_string();
    assert!(stats.contains("not_recorded") && stats.contains("\"skipped_lines\":0"), "{stats}");
}

#[test]
fn the_key_is_named_once() {
    let scene = Scene::new();
    for words in ["k --key-env ORDER", "--key k --key-env ORDER", "k --if-key", "--if-key", ""] {
        let call = scene.once(words).command(["true"]).env("ORDER", "o");
        call.status(64).note(&["once --help"]).run();
    }
    for name in ["", "A=B", "$ORDER"] {
        let call = scene.once("--key-env").arg(name).command(["true"]);
        call.status(64).note(&["--key-env"]).run();
    }
}
