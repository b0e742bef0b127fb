//! `begin`: 0 for a fresh claim and for nothing else, so that a script may go on if it
//! succeeds.

use std::collections::BTreeSet;

use crate::support::processes::is_alive;
use crate::support::{Done, Scene, Signal, finished, token_of, until};

/// A tie that outlasts every sentence.
const LONG: &str = "--claim-ttl 1h";

#[test]
fn a_free_key_is_claimed_and_its_token_printed() {
    let scene = Scene::new();
    let first = scene.token("k");
    assert_eq!(scene.state("k"), "running");
    let other = scene.token("other");
    assert_ne!(first, other);
    assert_eq!(scene.json("show k --json")["attempts"][0]["command"], "begin");
}

#[test]
fn a_key_that_is_held_is_busy_and_says_who_holds_it() {
    let scene = Scene::new();
    scene.token("k");
    let call = scene.begin("k --claim-ttl 1h").status(75);
    call.note(&["k: busy", "held by pid", "--wait"]).run();
    scene.begin("k --claim-ttl 1h -q").status(75).run();
    scene.begin("k --claim-ttl 1h -q -E 9").status(9).run();
    scene.begin("k --claim-ttl 1h --nonblock -q").status(75).run();
    scene.begin("k --claim-ttl 1h -q --wait 50ms").status(75).run();
    let attempts = scene.json("show k --json")["attempts"].as_array().map(Vec::len);
    assert_eq!(attempts, Some(1));
}

#[test]
fn what_is_done_is_not_begun_and_its_recorded_stdout_is_given_byte_for_byte() {
    let scene = Scene::new();
    let bytes = b"\x00\xff\r\n\x1b[31m no newline at the end";
    scene.write("result", bytes);
    let token = scene.token("k");
    scene.with_token("complete k --result result", &token).run();
    for _ in 0..2 {
        scene.begin("k --claim-ttl 1h").status(10).stdout(bytes).run();
    }
}

#[test]
fn of_what_a_once_recorded_only_stdout_is_given_and_not_its_status() {
    let scene = Scene::new();
    let none = "--fingerprint none";
    let call = scene.once(&format!("k --record any {none}")).sh("echo out; echo err >&2; exit 3");
    call.status(3).stdout("out\n").stderr("err\n").run();
    scene.begin(&format!("k {LONG}")).status(10).stdout("out\n").run();
    scene.once(&format!("quiet --no-output {none}")).command(["true"]).run();
    scene.begin(&format!("quiet {LONG}")).status(10).run();
}

#[test]
fn a_once_that_differs_is_a_mismatch_and_one_that_compares_nothing_is_replayed() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("complete k", &token).run();
    scene.once("k").command(["true"]).status(65).note(&["k", "argv"]).run();
    scene.once("k --fingerprint none").command(["false"]).run();
}

#[test]
fn something_else_under_the_same_key_is_a_mismatch_that_names_the_field() {
    let scene = Scene::new();
    scene.write("input", "one");
    let begin = |more: &str| scene.begin(&format!("k {LONG} --fingerprint file:input {more}"));
    begin("").any_stdout().run();
    begin("").status(75).note(&["busy"]).run();
    scene.write("input", "other");
    begin("").status(65).note(&["k", "file:input differs"]).run();
    begin("--fingerprint text:x").status(65).note(&["text"]).run();
    scene.begin(&format!("k {LONG}")).status(65).note(&["file:input"]).run();
}

#[test]
fn a_command_to_be_compared_is_refused_because_there_is_none() {
    let scene = Scene::new();
    for part in ["argv", "none"] {
        let call = scene.begin(&format!("k {LONG} --fingerprint {part}"));
        call.status(64).note(&[part]).run();
    }
    assert_eq!(scene.state_files().len(), 0);
}

#[test]
fn what_failed_is_begun_again_until_the_attempts_are_exhausted() {
    let scene = Scene::new();
    for _ in 0..2 {
        let token = scene.token("k --max-attempts 2");
        scene.with_token("fail k --exit-code 4", &token).run();
    }
    let call = scene.begin(&format!("k {LONG} --max-attempts 2")).status(70);
    call.note(&["2 attempts", "exit status 4", "doubletap forget k"]).run();
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn with_on_crash_stop_an_interrupted_attempt_waits_for_a_person() {
    let scene = Scene::new();
    let gate = scene.gate();
    let script = scene.bystander();
    let tied = format!("k --pid {} --on-crash stop", script.pid());
    scene.begin(&tied).any_stdout().run();
    drop(gate);
    script.finish();
    let call = scene.begin(&format!("k {LONG} --on-crash stop")).status(70);
    call.note(&["interrupted", "complete k --unresolved", "forget k"]).run();
    scene.call("complete k --unresolved").run();
    scene.begin(&format!("k {LONG} --on-crash stop")).status(10).run();
}

#[test]
fn a_take_over_is_told_and_goes_on_with_the_operation() {
    let scene = Scene::new();
    let gate = scene.gate();
    let script = scene.bystander();
    let tied = format!("k --pid {}", script.pid());
    scene.begin(&tied).any_stdout().run();
    let pid = format!("pid {}", script.pid());
    drop(gate);
    script.finish();
    let call = scene.begin(&format!("k {LONG} --format json")).any_stdout();
    let done = call.note(&["k", "attempt 1 was interrupted", &pid]).run();
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&told["taken_over"], &told["attempt"]), (&true.into(), &2.into()));
    let attempts = &scene.json("show k --json")["attempts"];
    assert_eq!(attempts[0]["operation"], attempts[1]["operation"]);
    assert_eq!(told["idempotency_key"], attempts[0]["operation"]);
}

#[test]
fn of_eight_at_once_one_is_fresh_and_seven_are_busy() {
    let scene = Scene::new();
    let begin = || scene.begin(&format!("k {LONG} -q")).unchecked().spawn();
    let done = finished((0..8).map(|_| begin()).collect::<Vec<_>>());
    let mut codes: Vec<i32> = done.iter().map(Done::code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 75, 75, 75, 75, 75, 75, 75]);
    let (winner, losers): (Vec<_>, Vec<_>) = done.iter().partition(|done| done.code() == 0);
    token_of(winner[0]);
    assert!(losers.iter().all(|done| done.stdout.is_empty() && done.stderr.is_empty()));
}

#[test]
fn of_a_hundred_processes_exactly_one_is_fresh() {
    let scene = Scene::new();
    let begin = || scene.begin(&format!("k {LONG} -q")).unchecked().spawn();
    let done = finished((0..100).map(|_| begin()).collect::<Vec<_>>());
    let codes: BTreeSet<i32> = done.iter().map(Done::code).collect();
    assert_eq!(codes, BTreeSet::from([0, 75]));
    let tokens = done.iter().filter(|done| done.code() == 0).map(token_of);
    assert_eq!(tokens.count(), 1);
}

#[test]
fn what_a_running_once_holds_is_busy_and_the_other_way_round() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo out");
    let call = scene.attempt("k --fingerprint none").stdout("out\n");
    let holder = scene.begun(call);
    scene.begin(&format!("k {LONG}")).status(75).note(&["k: busy", "held by pid"]).run();
    gate.open();
    holder.finish();
    scene.begin(&format!("k {LONG}")).status(10).stdout("out\n").run();

    scene.token("begun");
    let call = scene.attempt("begun --fingerprint none");
    call.status(75).note(&["begun: busy", "held by pid"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn what_a_killed_once_left_running_is_ended_before_the_claim_is_told() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("trap '' TERM; sh -c 'echo $$ >child; read x <gate' & kill -9 $PPID; wait");
    let call = scene.attempt("k --fingerprint none --claim-ttl 1h");
    call.dies_of(Signal::SIGKILL).run();
    until("its child waits", || scene.read("child").ends_with('\n'));
    let child: i32 = scene.read("child").trim().parse().unwrap();
    assert_eq!(scene.state("k"), "orphaned");
    scene.begin(&format!("k {LONG}")).status(75).note(&["its command still runs"]).run();
    scene.call("forget k --force").run();
    scene.token("k");
    assert!(!is_alive(child), "it lives beside the new claim");
    assert!(!is_alive(scene.command_pid()));
}

#[test]
fn keys_in_two_namespaces_do_not_meet() {
    let scene = Scene::new();
    let one = scene.token("k");
    let other = scene.token("k --namespace other");
    scene.with_token("complete k", &one).run();
    assert_eq!(scene.state("k"), "done");
    assert_eq!(scene.state("k --namespace other"), "running");
    scene.with_token("complete k --namespace other", &one).status(69).note(&["superseded"]).run();
    scene.with_token("complete k --namespace other", &other).run();
}
