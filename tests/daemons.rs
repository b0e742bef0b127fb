//! A daemon that a command leaves behind holds nobody up, and nobody ends it.

use std::time::{Duration, Instant};

use crate::support::processes::{is_alive, state};
use crate::support::{Scene, Signal, until};

/// Starts something that keeps the command's output, and ends.
const LEAVES_A_DAEMON: &str = "(read x <gate; echo late; echo later >&2; echo alive >alive) &
    echo $! >daemon; echo started";

#[test]
fn a_daemon_that_keeps_the_pipe_does_not_hold_us() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(LEAVES_A_DAEMON);
    let began = Instant::now();
    scene.attempt("k").stdout("started\n").run();
    assert!(began.elapsed() < Duration::from_secs(3), "it took {:?}", began.elapsed());
    gate.open();
    scene.attempt("k").stdout("started\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_daemon_that_writes_when_we_are_gone_is_not_ended_by_it() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(LEAVES_A_DAEMON);
    scene.attempt("k").stdout("started\n").run();
    let daemon: i32 = scene.read("daemon").trim().parse().unwrap();
    assert!(is_alive(daemon));
    gate.open();
    until("the daemon has written and gone on", || scene.path("alive").exists());
    until("the daemon is gone", || !is_alive(daemon));
}

#[test]
fn a_daemon_whose_call_is_told_to_end_at_once_is_not_ended_by_what_it_writes_either() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(LEAVES_A_DAEMON);
    let running = scene.begun(scene.attempt("k").any_stdout());
    until("the command has ended", || state(scene.command_pid()).is_none());
    running.signal(Signal::SIGTERM);
    running.finish();
    gate.open();
    until("the daemon has written and gone on", || scene.path("alive").exists());
    scene.attempt("k").stdout("started\n").run();
}

#[test]
fn nothing_of_ours_is_left_once_the_daemon_is_gone() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(LEAVES_A_DAEMON);
    let key = format!("drained-{}", std::process::id());
    scene.attempt(&key).stdout("started\n").run();
    let ours = || {
        let commands = std::fs::read_dir("/proc").unwrap().flatten();
        let commands =
            commands.filter_map(|found| std::fs::read(found.path().join("cmdline")).ok());
        commands.filter(|line| line.windows(key.len()).any(|part| part == key.as_bytes())).count()
    };
    assert_eq!(ours(), 1, "one process reads on");
    gate.open();
    until("nobody reads any more", || ours() == 0);
}

#[test]
fn an_endless_chatterer_does_not_hold_us_either() {
    let scene = Scene::new();
    scene.behave("(while :; do echo chatter; done) & echo $! >daemon; echo started");
    let done = scene.attempt("k").any_stdout().run();
    assert!(done.text().contains("started"));
    let daemon: i32 = scene.read("daemon").trim().parse().unwrap();
    assert!(is_alive(daemon));
    crate::support::processes::destroy(daemon);
}
