//! Every verb does on a server what it does on a file.

use serde_json::Value;

use super::engine::{ELSEWHERE, Engine};
use crate::support::processes::is_alive;
use crate::support::{Scene, until};

every_server!(
    a_store_is_set_up_once_and_asked_for_where_it_is_not,
    a_store_that_is_to_be_set_up_by_itself_is,
    a_command_runs_once_and_is_replayed,
    a_period_is_counted_by_the_servers_clock,
    a_name_is_held_and_given_back,
    a_script_claims_for_a_time_and_completes,
    a_script_that_is_tied_to_its_process_alone_is_refused,
    a_step_is_not_run_again,
    what_is_known_is_shown_listed_counted_forgotten_and_pruned,
    what_is_counted_has_no_files_in_it,
    output_is_there_at_the_end,
    the_password_is_handed_down_and_never_shown,
    a_call_for_a_key_that_is_held_above_does_not_wait_for_itself,
    a_process_of_the_same_numbers_on_another_host_is_another,
    what_is_left_of_an_attempt_is_ended_by_its_own_host_alone,
    any_amount_of_output_is_kept_in_little_memory,
);

fn a_store_is_set_up_once_and_asked_for_where_it_is_not<E: Engine>() {
    let scene = Scene::on(E::shared().fresh());
    let call = scene.once("k").sh("echo >>runs").status(125);
    let done = call.note(&["set up", "doubletap setup --store"]).run();
    let line = done.complaint();
    assert!(!line.split("setup --store").nth(1).unwrap().contains("***"), "{line}");
    assert_eq!(scene.runs(), 0);
    scene.call("setup -v").note(&["created"]).run();
    scene.call("setup -v").note(&["nothing to be done"]).run();
    scene.call("setup").run();
    scene.once("k").sh("echo >>runs").run();
    assert_eq!(scene.runs(), 1);
}

fn a_store_that_is_to_be_set_up_by_itself_is<E: Engine>() {
    let scene = Scene::on(E::shared().fresh());
    scene.once("k --auto-setup").sh("echo >>runs").run();
    scene.once("k").sh("echo >>runs").run();
    assert_eq!(scene.runs(), 1);
}

fn a_command_runs_once_and_is_replayed<E: Engine>() {
    let scene = E::shared().scene();
    let script = "echo >>runs; echo out; echo err >&2; exit 3";
    for _ in 0..2 {
        let call = scene.once("k --record any").sh(script).status(3);
        call.stdout("out\n").stderr("err\n").run();
    }
    assert_eq!(scene.runs(), 1);
    scene.once("k --record any").sh("another").status(65).note(&["argv differs"]).run();
    let large = "head -c 3000000 /dev/zero | tr '\\0' x";
    for _ in 0..2 {
        let done = scene.once("large").sh(large).any_stdout().run();
        assert_eq!(done.stdout.len(), 3_000_000);
    }
}

fn a_period_is_counted_by_the_servers_clock<E: Engine>() {
    let scene = E::shared().scene();
    for _ in 0..2 {
        scene.once("k --per day").sh("echo >>runs").run();
    }
    assert_eq!(scene.runs(), 1);
}

fn a_name_is_held_and_given_back<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    let first = scene.begun(scene.hanging_lease("n"));
    scene.lease("n").sh("true").status(75).note(&["busy", "held by"]).run();
    gate.open();
    first.finish();
    scene.lease("n").sh("true").run();
}

fn a_script_claims_for_a_time_and_completes<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    let process = scene.holder("other");
    let begin = || scene.call("begin k --claim-ttl 1m --pid").arg(process.pid().to_string());
    let token = begin().any_stdout().run().text();
    let token = token.trim();
    begin().status(75).note(&["which cannot be seen from here"]).run();
    scene.call("assert --token").arg(token).run();
    scene.call("renew --token").arg(token).run();
    scene.write("result", "hi\n");
    scene.call("complete k --result result --token").arg(token).run();
    scene.call("complete k --result result --token").arg(token).run();
    scene.call("begin k --claim-ttl 1m").status(10).stdout("hi\n").run();
    let token = scene.call("begin f --claim-ttl 1m").any_stdout().run().text();
    scene.call("fail f --reason no --token").arg(token.trim()).run();
    let token = scene.call("acquire n --ttl 1m").any_stdout().run().text();
    scene.call("acquire n --ttl 1m").status(75).note(&["for another"]).run();
    scene.call("release n --token").arg(token.trim()).run();
    let other = "00000000000000000000000000000000";
    scene.call("complete new --upsert-missing --token").arg(other).run();
    scene.call("begin new --claim-ttl 1m").status(10).run();
    gate.open();
    process.finish();
}

fn a_script_that_is_tied_to_its_process_alone_is_refused<E: Engine>() {
    let scene = E::shared().scene();
    let call = scene.call("begin k --pid").arg(std::process::id().to_string());
    call.status(64).note(&["on another host", "--claim-ttl 1h"]).run();
    scene.call("show k").status(1).note(&["no such key"]).run();
}

fn a_step_is_not_run_again<E: Engine>() {
    let scene = E::shared().scene();
    let script = r#""$BIN" step s -- sh -c 'echo >>runs'; test -e again || { : >again; exit 1; }"#;
    scene.once("k").sh(script).status(1).run();
    scene.once("k").sh(script).run();
    assert_eq!(scene.runs(), 1);
    let shown = scene.json("show k --json");
    assert_eq!(shown["steps"][0]["name"], "s");
}

fn what_is_known_is_shown_listed_counted_forgotten_and_pruned<E: Engine>() {
    let scene = E::shared().scene();
    for key in ["a", "b", "c"] {
        scene.once(key).sh("true").run();
    }
    assert_eq!(scene.json("show a --json")["state"], "done");
    assert_eq!(scene.json("list --json").as_array().map(Vec::len), Some(3));
    assert_eq!(scene.json("stats --json")["keys"]["once"]["done"], 3);
    scene.call("forget a").run();
    assert_eq!(scene.json("show a --json")["state"], "forgotten");
    scene.call("forget d").status(1).note(&["no such key"]).run();
    let swept = scene.json("prune --older-than 0s --force --json");
    assert_eq!(swept["keys"], 3);
    assert_eq!(scene.json("list --json"), Value::Array(Vec::new()));
}

fn what_is_counted_has_no_files_in_it<E: Engine>() {
    let scene = E::shared().scene();
    scene.once("k").sh("echo out").stdout("out\n").run();
    let text = scene.call("stats").any_stdout().run().text();
    assert!(text.contains("keys") && text.contains("output kept"), "{text}");
    for files in ["store file", "write-ahead log", "output files"] {
        assert!(!text.contains(files), "there are no {files}: {text}");
    }
}

fn output_is_there_at_the_end<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    scene.behave("echo first; read x <gate; echo last");
    let running = scene.begun(scene.attempt("k").any_stdout());
    scene.call("logs k").note(&["on its own host until it ends", "--follow"]).run();
    let follower = scene.call("logs k --follow").stdout("first\nlast\n").spawn();
    gate.open();
    running.finish();
    follower.finish();
    scene.call("logs k").stdout("first\nlast\n").run();
}

fn the_password_is_handed_down_and_never_shown<E: Engine>() {
    let scene = E::shared().scene();
    let password = E::password();
    let nested = r#"echo "$DOUBLETAP_STORE" >store; "$BIN" once inner -- true"#;
    scene.once("outer").sh(nested).run();
    assert_eq!(scene.read("store").trim().as_bytes(), scene.place().as_encoded_bytes());
    for words in [
        "show outer",
        "show nobody",
        "list",
        "list --json",
        "stats",
        "stats --json",
        "doctor",
        "doctor --json",
        "forget nobody",
        "assert --token 00000000000000000000000000000000",
        "setup -v",
        "once outer -v -- true",
        "once outer -- false",
        "--help",
    ] {
        let done = scene.call(words).unchecked().run();
        let said = done.text() + &done.complaint();
        assert!(!said.contains(password), "{words}: {said}");
    }
}

fn a_call_for_a_key_that_is_held_above_does_not_wait_for_itself<E: Engine>() {
    let scene = E::shared().scene();
    let inner = r#"env -i PATH="$PATH" DOUBLETAP_STORE="$DOUBLETAP_STORE" "$BIN" once k --wait forever -- true"#;
    scene.once("k").sh(inner).status(75).note(&["wait for itself"]).run();
}

fn a_process_of_the_same_numbers_on_another_host_is_another<E: Engine>() {
    let scene = E::shared().scene();
    let call = r#"env -i PATH="$PATH" DOUBLETAP_STORE="$DOUBLETAP_STORE" "$BIN" lease k -- true"#;
    let call = scene.lease("k").sh(&format!("{ELSEWHERE}{call}"));
    call.status(75).note(&["busy: held by pid"]).run();
}

fn what_is_left_of_an_attempt_is_ended_by_its_own_host_alone<E: Engine>() {
    let scene = E::shared().scene();
    // Only the doubletap is killed: its command goes on, whatever it is told.
    scene.behave("trap '' TERM; while :; do sleep 0.1; done 2>/dev/null");
    scene.begun(scene.attempt("k --claim-ttl 2s").unchecked()).kill();
    let left = scene.command_pid();
    scene.behave(":");
    let words = format!(r#"exec 3>&2; {ELSEWHERE}"$@""#);
    let call = scene.attempt("k -q --wait 30s").through_sh(&words);
    call.any_stderr().run();
    assert!(is_alive(left), "a process of another host was killed");
    scene.attempt("k -q --rerun").run();
    until("its own host has ended it", || !is_alive(left));
}

fn any_amount_of_output_is_kept_in_little_memory<E: Engine>() {
    let scene = E::shared().scene();
    let script = "head -c 100000000 /dev/zero";
    let limited = r#"ulimit -v 200000; exec "$@""#;
    for _ in 0..2 {
        let target = std::fs::File::create(scene.path("target")).unwrap();
        let call = scene.once("k --max-output none").sh(script).through_sh(limited);
        call.stdout_into(target).run();
        assert_eq!(std::fs::metadata(scene.path("target")).unwrap().len(), 100_000_000);
    }
    assert_eq!(scene.json("show k --json")["attempts"].as_array().map(Vec::len), Some(1));
}
