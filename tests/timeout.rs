//! `--timeout` and `--kill-after`: what runs for too long is ended, with all that came from it.

use std::time::{Duration, Instant};

use crate::support::processes::{is_alive, state};
use crate::support::{Scene, Signal, until};

/// A command that ignores TERM, with a child that does so too. Both leave their pids.
const STUBBORN: &str = "trap '' TERM; (trap '' TERM; read x <gate) >&- 2>&- & echo $! >child
    echo ready >ready; read x <gate";

#[test]
fn a_command_that_ends_in_time_is_left_alone() {
    let scene = Scene::new();
    scene.behave("echo done");
    scene.attempt("k --timeout 1h --kill-after 1ms").stdout("done\n").run();
    scene.attempt("k --timeout 1h").stdout("done\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_command_that_ended_by_itself_while_its_call_slept_past_the_timeout_is_recorded() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo done");
    let running = scene.begun(scene.attempt("k --timeout 3s").stdout("done\n"));
    running.sleep_while(|| {
        gate.open();
        until("it has ended", || state(scene.command_pid()) == Some('Z'));
        let ended = Instant::now();
        until("its time is over", || ended.elapsed() > Duration::from_secs(3));
    });
    running.finish();
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn a_command_that_runs_for_too_long_is_ended_and_not_recorded() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("echo first; read x <gate");
    let words = "k --timeout 100ms --record any --report report";
    scene.attempt(words).status(124).stdout("first\n").note(&["k", "100ms", "signal 15"]).run();
    assert!(scene.read("report").contains(r#""outcome":"timeout""#), "{}", scene.read("report"));
    assert!(!is_alive(scene.command_pid()));
    assert_eq!(scene.state("k"), "failed");
    scene.behave("echo second");
    scene.attempt("k --timeout 1h").stdout("second\n").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_timeout_is_one_however_the_command_answers_it() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("trap 'exit 0' TERM; (read x <gate) >&- 2>&- & wait");
    scene.attempt("k --timeout 100ms").status(124).note(&["exit status 0"]).run();
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn nobody_of_the_group_is_left_after_a_timeout_whatever_it_traps() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(STUBBORN);
    let call = scene.attempt("k --timeout 200ms --kill-after 100ms");
    call.status(124).note(&["signal 9"]).run();
    let child: i32 = scene.read("child").trim().parse().unwrap();
    assert!(!is_alive(scene.command_pid()));
    assert!(!is_alive(child));
}

#[test]
fn a_child_that_outlives_the_command_after_a_timeout_is_ended_too() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(
        "(trap '' TERM; echo ready >ready; read x <gate) >&- 2>&- & echo $! >child
        until test -e ready; do :; done; wait",
    );
    scene.attempt("k --timeout 300ms --kill-after 100ms").status(124).note(&["signal 15"]).run();
    let child: i32 = scene.read("child").trim().parse().unwrap();
    assert!(!is_alive(child));
}

#[test]
fn those_who_wait_are_told_of_the_timeout_too() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("read x <gate");
    let holder = scene.begun(scene.attempt("k --timeout 1s").status(124).note(&["longer than 1s"]));
    let waiter = scene.attempt("k --wait forever").status(124).note(&["was stopped"]).spawn();
    holder.finish();
    waiter.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_forwarded_signal_is_followed_by_a_kill_only_where_that_was_asked_for() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(STUBBORN);
    let patient = scene.begun(scene.attempt("patient"));
    until("the trap is set", || scene.path("ready").exists());
    patient.signal(Signal::SIGTERM);

    std::fs::remove_file(scene.path("ready")).unwrap();
    let call = scene.attempt("firm --kill-after 100ms").dies_of(Signal::SIGTERM);
    let firm = scene.begun(call);
    until("the trap is set again", || scene.path("ready").exists());
    firm.signal(Signal::SIGTERM);
    firm.finish();
    let child: i32 = scene.read("child").trim().parse().unwrap();
    until("all of the firm one's group is gone", || !is_alive(child));

    assert_eq!(scene.state("patient"), "running", "a graceful end takes the time it takes");
    gate.open();
    gate.open();
    patient.finish();
}

#[test]
fn a_timeout_of_an_unguarded_run_is_one_as_well() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("read x <gate");
    let call = scene.attempt("k --fail-open --timeout 100ms --store /proc/nowhere/store.db");
    let done = call.unchecked().run();
    assert_eq!(done.code(), 124, "{}", done.complaint());
    assert!(done.complaint().contains("unguarded"), "{}", done.complaint());
    assert!(!is_alive(scene.command_pid()));
}
