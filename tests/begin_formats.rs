//! What `begin` and `acquire` print: a token, a document, or lines for a shell.

use std::fs::OpenOptions;
use std::os::fd::OwnedFd;

use serde_json::Value;

use crate::support::{Scene, input_of};

/// Every variable of a claim, one a line.
const TELL: &str = r#"printf '%s\n' "$DOUBLETAP_KEY" "$DOUBLETAP_NAMESPACE" "$DOUBLETAP_STORE" \
    "$DOUBLETAP_TOKEN" "$DOUBLETAP_HELD" "$DOUBLETAP_ATTEMPT""#;

#[test]
fn lines_for_a_shell_set_what_a_command_would_find() {
    let scene = Scene::new();
    let script = format!(
        r#"eval "$("$BIN" begin k --pid $$ --format sh)" || exit 9
        {TELL}
        "$BIN" assert && "$BIN" complete "$DOUBLETAP_KEY""#
    );
    let text = scene.shell(&script).any_stdout().run().text();
    let lines: Vec<&str> = text.lines().collect();
    let store = scene.store().display().to_string();
    assert_eq!(lines[..3], ["k", "default", &store]);
    assert_eq!((lines[3].len(), lines[3], lines[5]), (32, lines[4], "1"));
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn hostile_keys_come_through_a_shell_unharmed() {
    let scene = Scene::new();
    let keys = [
        "it's",
        "'",
        "''",
        "'; touch evil; '",
        "$(touch evil)",
        "`touch evil`",
        "$HOME \"quoted\" \\ back\\slash \\'",
        "two  blanks and * ? [a]",
        "-dash",
        "--claim-ttl",
        "ключ — 鍵 🔑",
        "a=b;c&d|e>evil<f",
        "#comment",
        "!history %d",
    ];
    for key in keys {
        let script = r#"eval "$("$BIN" begin --key="$1" --namespace="$1" --claim-ttl 1h --format sh)" &&
            printf '%s\n' "$DOUBLETAP_KEY" "$DOUBLETAP_NAMESPACE" &&
            "$BIN" complete --key="$DOUBLETAP_KEY""#;
        let call = scene.shell(script).arg("sh").arg(key);
        call.stdout(format!("{key}\n{key}\n")).run();
        let shown = scene.call("show --json").arg(format!("--key={key}"));
        let shown = shown.arg(format!("--namespace={key}")).any_stdout().run();
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!((&shown["key"], &shown["state"]), (&key.into(), &"done".into()));
    }
    assert!(!scene.path("evil").exists());
}

#[test]
fn without_a_fresh_claim_nothing_that_follows_the_eval_is_run() {
    let scene = Scene::new();
    scene.token("busy");
    let token = scene.token("done");
    scene.write("result", "echo recorded output that is no script\n");
    scene.with_token("complete done --result result", &token).run();
    let token = scene.token("failed --max-attempts 1");
    scene.with_token("fail failed", &token).run();
    scene.acquired("name");
    for (words, status) in [
        ("begin busy --claim-ttl 1h", 75),
        ("begin busy --claim-ttl 1h -E 9", 9),
        ("begin done --claim-ttl 1h", 10),
        ("begin done --claim-ttl 1h --fingerprint text:x", 65),
        ("begin failed --claim-ttl 1h --max-attempts 1", 70),
        ("begin k", 64),
        ("begin k --claim-ttl 1s", 64),
        ("begin k --claim-ttl 1h --nonsense", 64),
        ("begin k --pid 4194304999", 64),
        ("begin --claim-ttl 1h", 64),
        ("begin k --claim-ttl 1h --store /proc/none/store.db", 125),
        ("acquire name --ttl 1h", 75),
        ("acquire name", 64),
    ] {
        let form = if status == 64 { "--format=sh" } else { "--format sh" };
        let script = format!(
            r#"eval "$("$BIN" {words} {form} 2>>complaints)" && echo work; echo "status $?""#
        );
        scene.shell(&script).stdout(format!("status {status}\n")).run();
    }
    assert_eq!(scene.read("complaints").lines().count(), 12, "all but 10 say why");
    assert_eq!(scene.state("k"), "absent");
}

#[test]
fn a_busy_status_that_would_pass_for_a_claim_or_a_record_is_refused() {
    let scene = Scene::new();
    let script = r#"eval "$("$BIN" begin k --claim-ttl 1h -E 0 --format sh)" && echo work"#;
    scene.shell(script).status(64).note(&["--conflict-exit-code 0"]).run();
    scene.begin("k --claim-ttl 1h -E 10").status(64).note(&["--conflict-exit-code 10"]).run();
    scene.acquire("n --ttl 1h -E 0").status(64).note(&["--conflict-exit-code 0"]).run();
    assert!(scene.state_files().is_empty(), "it is refused before anything is opened");
}

#[test]
fn with_errexit_a_script_ends_where_it_could_not_begin() {
    let scene = Scene::new();
    scene.token("k");
    let script = r#"set -e; eval "$("$BIN" begin k -q --claim-ttl 1h --format sh)"; echo work"#;
    scene.shell(script).status(75).run();
}

#[test]
fn lines_for_a_shell_name_a_lease_by_its_name_and_begin_no_operation() {
    let scene = Scene::new();
    let script = r#"eval "$("$BIN" acquire n --ttl 1h --format sh)" &&
        echo "$DOUBLETAP_NAME ${DOUBLETAP_KEY-no key} ${DOUBLETAP_IDEMPOTENCY_KEY-no operation}" &&
        test "$DOUBLETAP_FENCE" -gt 0 && "$BIN" release "$DOUBLETAP_NAME""#;
    scene.shell(script).stdout("n no key no operation\n").run();
    assert_eq!(scene.lease_state("n"), "released");
}

#[test]
fn a_document_says_what_it_came_to() {
    let scene = Scene::new();
    let json = |words: &str, status: i32| -> Value {
        let call = scene.begin(&format!("{words} --claim-ttl 1h --format json -q"));
        let done = call.any_stdout().any_stderr().status(status).run();
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let fresh = json("k", 0);
    assert_eq!((&fresh["status"], &fresh["kind"]), (&"fresh".into(), &"once".into()));
    assert_eq!((&fresh["key"], &fresh["namespace"]), (&"k".into(), &"default".into()));
    assert_eq!((&fresh["taken_over"], &fresh["attempt"]), (&false.into(), &1.into()));
    assert_eq!(fresh["token"].as_str().map(str::len), Some(32));
    assert_eq!(fresh["idempotency_key"], scene.json("show k --json")["attempts"][0]["operation"]);
    assert!(fresh["fence"].as_i64().is_some_and(|fence| fence > 0));

    let busy = json("k", 75);
    assert_eq!((&busy["status"], &busy["fence"]), (&"busy".into(), &fresh["fence"]));
    let left = busy["retry_after_ms"].as_u64().unwrap();
    assert!((3_000_000..=3_600_000).contains(&left), "{left}");
    assert!(busy["token"].is_null() && busy["idempotency_key"].is_null(), "that is the holder's");
    assert!(busy["holder"]["pid"].is_i64());
    assert_eq!(json("k --fingerprint text:x", 65)["status"], "mismatch");

    let token = fresh["token"].as_str().unwrap();
    scene.write("result", "seven b");
    scene.with_token("complete k --exit-code 3 --result result", token).run();
    let done = json("k", 10);
    assert_eq!((&done["status"], &done["exit_code"]), (&"done".into(), &3.into()));
    assert_eq!((&done["output_bytes"], &done["truncated"]), (&7.into(), &false.into()));
    assert!(done["token"].is_null());

    let token = scene.token("failed");
    scene.with_token("fail failed", &token).run();
    assert_eq!(json("failed --max-attempts 1", 70)["status"], "unresolved");
}

#[test]
fn a_wait_that_ran_out_is_a_busy_document_too() {
    let scene = Scene::new();
    scene.token("k");
    let call = scene.begin("k --claim-ttl 1h --format json -q --wait 20ms");
    let done = call.any_stdout().status(75).run();
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["status"], "busy");
}

#[test]
fn a_token_that_nobody_reads_gives_the_claim_back() {
    let scene = Scene::new();
    for form in ["text", "json", "sh"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let call = scene.begin(&format!("k --claim-ttl 1h --format {form}"));
        let call = call.stdout_into(OwnedFd::from(writer).into()).status(125);
        call.note(&["k: its token"]).run();
        assert_eq!(scene.state("k"), "failed", "{form}");
    }
    scene.token("k");
}

#[test]
fn a_token_for_which_there_is_no_room_gives_the_claim_back() {
    let scene = Scene::new();
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let call = scene.begin("k --claim-ttl 1h").stdout_into(full());
    call.status(125).note(&["k: its token", "No space left"]).run();
    let call = scene.acquire("n --ttl 1h").stdout_into(full());
    call.status(125).note(&["n: its token"]).run();
    assert_eq!((scene.state("k"), scene.lease_state("n")), {
        ("failed".to_owned(), "released".to_owned())
    });
    let reason = &scene.json("show k --json")["attempts"][0]["reason"];
    assert!(reason.as_str().unwrap().starts_with("its token could not be printed"), "{reason}");
    scene.token("k");
    scene.acquired("n");
}

#[test]
fn a_record_that_cannot_be_given_is_told_and_is_not_fresh() {
    let scene = Scene::new();
    scene.write("result", "output");
    let token = scene.token("k");
    scene.with_token("complete k --result result", &token).run();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let call = scene.begin("k --claim-ttl 1h").stdout_into(full);
    call.status(73).note(&["k: its recorded output", "No space left"]).run();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let call = scene.begin("k --claim-ttl 1h").stdout_into(OwnedFd::from(writer).into());
    call.status(10).run();
}

#[test]
fn no_result_and_an_empty_one_print_nothing_and_show_tells_them_apart() {
    let scene = Scene::new();
    let none = scene.token("none");
    scene.with_token("complete none", &none).run();
    let empty = scene.token("empty");
    scene.with_token("complete empty --result -", &empty).stdin(input_of(&scene, b"")).run();
    for (key, bytes) in [("none", Value::Null), ("empty", 0.into())] {
        scene.begin(&format!("{key} --claim-ttl 1h")).status(10).run();
        let attempt = &scene.json(&format!("show {key} --json"))["attempts"][0];
        assert_eq!(attempt["output_bytes"], bytes, "{key}");
    }
}

#[test]
fn help_is_given_to_whoever_asks_in_any_form() {
    let scene = Scene::new();
    let text = scene.begin("--help --format sh").any_stdout().run().text();
    assert!(text.contains("--claim-ttl"), "{text}");
}
