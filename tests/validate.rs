//! `--validate`: a success is recorded only if a command of the caller's agrees.

use std::time::{Duration, Instant};

use crate::support::processes::{is_alive, state};
use crate::support::{Call, Scene, Signal, until};

/// An attempt with this validator.
fn validated<'scene>(scene: &'scene Scene, options: &str, validator: &str) -> Call<'scene> {
    let call = scene.once(options).arg("--validate").arg(validator);
    call.sh("echo $$ >pid; echo run >>runs; . ./behaviour")
}

#[test]
fn a_result_that_it_agrees_to_is_recorded_and_not_looked_at_again_on_a_replay() {
    let scene = Scene::new();
    scene.behave("echo fine; echo aside >&2");
    for _ in 0..2 {
        let call = validated(&scene, "k", "echo looked >>looks; grep -qx fine");
        call.stdout("fine\n").stderr("aside\n").run();
    }
    assert_eq!((scene.runs(), scene.read("looks").lines().count()), (1, 1));
}

#[test]
fn a_result_that_it_refuses_is_a_failed_attempt_and_the_next_call_runs_again() {
    let scene = Scene::new();
    scene.behave("echo broken");
    let call = validated(&scene, "k --report report", "exit 3").status(76).stdout("broken\n");
    call.note(&["k", "the command succeeded", "--validate", "exit status 3"]).run();
    assert!(scene.read("report").contains(r#""outcome":"refused","exit_code":0"#));
    let shown = scene.call("show k").any_stdout().run();
    assert!(shown.text().contains("failed") && shown.text().contains("refused its result"));
    assert!(shown.text().contains("exit status 76"), "{}", shown.text());
    scene.behave("echo mended");
    validated(&scene, "k", "true").stdout("mended\n").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn it_is_fed_the_captured_standard_output_byte_for_byte_whatever_its_size() {
    let scene = Scene::new();
    let bytes: Vec<u8> = (0..=255_u8).chain(0..=250).cycle().take(3_000_003).collect();
    scene.write("big", &bytes);
    scene.behave("cat big; cat big >&2");
    for (key, size) in [("small", 1000), ("large", bytes.len())] {
        scene.write("big", &bytes[..size]);
        let call = validated(&scene, key, "cat >seen");
        call.stdout(&bytes[..size]).stderr(&bytes[..size]).run();
        assert!(std::fs::read(scene.path("seen")).unwrap() == bytes[..size], "{key}");
    }
}

#[test]
fn one_that_does_not_read_or_reads_only_the_beginning_is_no_problem() {
    let scene = Scene::new();
    scene.behave("yes | head -c 2000000");
    validated(&scene, "none", "true").any_stdout().run();
    validated(&scene, "some", "read x && test $x = y").any_stdout().run();
    validated(&scene, "closed", "exec <&-; exit 1").any_stdout().status(76).note(&["closed"]).run();
}

#[test]
fn one_that_refuses_what_was_cut_short_is_told_to_have_seen_only_a_part() {
    let scene = Scene::new();
    scene.behave("echo first; echo last");
    let call = validated(&scene, "k --max-output 6", "grep last").status(76);
    call.stdout("first\nlast\n").note(&["k", "only the first 6 bytes", "--max-output"]).run();
    validated(&scene, "k --max-output 6", "grep first").stdout("first\nlast\n").run();
}

#[test]
fn what_it_prints_is_not_the_commands_output_and_its_complaints_are_heard() {
    let scene = Scene::new();
    scene.behave("echo out");
    let call = validated(&scene, "k", "echo noise; echo complaint >&2");
    call.stdout("out\n").stderr("complaint\n").run();
    validated(&scene, "k", "true").unchecked().run();
    scene.call("logs k").stdout("out\n").run();
}

#[test]
fn a_failure_is_not_validated_and_keeps_its_status() {
    let scene = Scene::new();
    scene.behave("exit 5");
    validated(&scene, "k", "echo looked >>looks").status(5).run();
    validated(&scene, "l --record any", "echo looked >>looks").status(5).run();
    assert_eq!(scene.read("looks"), "");
}

#[test]
fn one_that_does_not_exist_refuses_and_is_named() {
    let scene = Scene::new();
    let call = validated(&scene, "k -q", "no-such-validator 2>/dev/null").status(76);
    call.note(&["k", "127", "was the validator found?"]).run();
    let call = validated(&scene, "l", "kill -9 $$").status(76);
    call.note(&["l", "signal 9"]).run();
}

#[test]
fn the_key_is_held_while_it_looks_and_it_knows_the_key() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let looks = r#"echo "$DOUBLETAP_KEY $DOUBLETAP_ATTEMPT" >looks; read x <gate"#;
    let running = validated(&scene, "k", looks).spawn();
    until("it looks", || scene.read("looks") == "k 1\n");
    scene.attempt("k --fingerprint none").status(65).note(&["k"]).run();
    validated(&scene, "k", looks).status(75).note(&["k", "held"]).run();
    gate.open();
    running.finish();
    assert_eq!((scene.runs(), scene.state("k")), (1, "done".to_owned()));
}

#[test]
fn those_who_wait_are_given_the_refusal_too() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let validator = "echo x >looks; read x <gate; exit 1";
    let call = validated(&scene, "k", validator).status(76).note(&["--validate"]);
    let running = call.spawn();
    until("it looks", || scene.path("looks").exists());
    let waiter = validated(&scene, "k --wait forever", validator).status(76).note(&["refused"]);
    let waiter = waiter.spawn();
    scene.await_waiters(1);
    gate.open();
    running.finish();
    waiter.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn the_key_rests_after_a_refusal_where_that_was_asked_for() {
    let scene = Scene::new();
    let call = validated(&scene, "k --retry-after 1h", "exit 1").status(76);
    call.note(&["--validate"]).run();
    validated(&scene, "k", "true").status(75).note(&["k"]).run();
}

#[test]
fn one_that_hangs_is_stopped_at_the_timeout_and_nobody_of_it_is_left() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let validator = r#"trap "" TERM; (trap "" TERM; read x <gate) & echo $! >child; read x <gate"#;
    let call = validated(&scene, "k --timeout 500ms --kill-after 100ms", validator);
    call.status(76).note(&["k", "the validator ran for longer than 500ms"]).run();
    let child: i32 = scene.read("child").trim().parse().unwrap();
    assert!(!is_alive(child));
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn what_it_judged_in_time_counts_though_its_call_slept_past_the_timeout() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let validator = "echo $$ >looks; read x <gate";
    let running = validated(&scene, "k --timeout 2s", validator).spawn();
    until("it looks", || scene.read("looks").ends_with('\n'));
    let validator: i32 = scene.read("looks").trim().parse().unwrap();
    running.signal(Signal::SIGSTOP);
    until("the call has stopped", || state(running.pid()) == Some('T'));
    gate.open();
    until("it has judged", || state(validator) == Some('Z'));
    let judged = Instant::now();
    until("its time is over", || judged.elapsed() > Duration::from_secs(2));
    running.signal(Signal::SIGCONT);
    running.finish();
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn a_signal_goes_to_it_and_what_it_has_not_judged_is_not_recorded() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let validator = "echo $$ >looks; exec cat gate";
    let running = validated(&scene, "k", validator).dies_of(Signal::SIGTERM).spawn();
    until("it looks", || scene.read("looks").ends_with('\n'));
    running.signal(Signal::SIGTERM);
    running.finish();
    let validator: i32 = scene.read("looks").trim().parse().unwrap();
    until("the validator is gone", || !is_alive(validator));
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn a_claim_that_is_lost_meanwhile_ends_it_and_records_nothing() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let validator = "echo $$ >looks; exec cat gate";
    let call = validated(&scene, "k --claim-ttl 2s", validator).status(69);
    let running = call.notes(&["k", "lost"]).spawn();
    until("it looks", || scene.read("looks").ends_with('\n'));
    scene.call("forget k --force").run();
    running.finish();
    let validator: i32 = scene.read("looks").trim().parse().unwrap();
    assert!(!is_alive(validator));
    assert_eq!(scene.state("k"), "forgotten");
}

#[test]
fn an_empty_validator_and_one_with_nothing_to_look_at_are_usage_errors() {
    let scene = Scene::new();
    for empty in ["", "  "] {
        validated(&scene, "k", empty).status(64).note(&["--validate", "empty"]).run();
    }
    validated(&scene, "k --no-output", "true").status(64).note(&["--no-output"]).run();
    assert_eq!(scene.runs(), 0);
}
