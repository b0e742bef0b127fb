//! A signal that ends the wrapper is the command's first, and then ours.

use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::support::counting::{name, unignored};
use crate::support::processes::{children, is_alive, state};
use crate::support::{Scene, Signal, until};

const ENDING: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];

#[test]
fn a_forwarded_signal_that_kills_the_command_kills_us_and_is_never_recorded() {
    for signal in unignored(&ENDING) {
        let scene = Scene::new();
        let _gate = scene.gate();
        let call = scene.hanging("k --record any").dies_of(signal);
        let running = scene.begun(call);
        running.signal(signal);
        running.finish();
        let command = scene.command_pid();
        until("the command is gone", || !is_alive(command));
        assert_eq!(scene.state("k"), "failed", "it was not left as a crash");
        scene.behave(":");
        scene.attempt("k --record any").run();
        assert_eq!(scene.runs(), 2);
    }
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn one_that_reaches_the_command_first_and_us_when_it_has_ended_is_ours_all_the_same() {
    // A call that is slow to look at what it has reaped.
    let slow = ["strace", "-o", "trace", "-e", "inject=wait4:delay_exit=1000000"];
    for signal in unignored(&[Signal::SIGTERM]) {
        let scene = Scene::new();
        let _gate = scene.gate();
        let call = scene.hanging("k --record any").through(slow).dies_of(signal);
        let running = scene.begun(call);
        let command = scene.command_pid();
        let [wrapper] = children(running.pid())[..] else { panic!("strace has started it") };
        kill(Pid::from_raw(command), signal).unwrap();
        until("the command is reaped", || state(command).is_none());
        kill(Pid::from_raw(wrapper), signal).unwrap();
        running.finish();
        assert_eq!(scene.state("k"), "failed");
    }
}

#[test]
fn a_command_that_answers_a_signal_with_a_status_of_its_own_decides() {
    for signal in unignored(&ENDING) {
        let scene = Scene::new();
        let _gate = scene.gate();
        let name = name(signal);
        scene.behave(&format!(
            "trap 'echo graceful; exit 5' {name}; (read x <gate) >&- 2>&- & echo ready >ready; wait"
        ));
        let call = scene.attempt("k").status(5).stdout("graceful\n");
        let running = scene.begun(call);
        until("the trap is set", || scene.path("ready").exists());
        running.signal(signal);
        running.finish();
        assert_eq!(scene.state("k"), "failed");
    }
}

#[test]
fn a_command_that_ends_well_in_spite_of_a_signal_is_recorded() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(
        "trap 'echo graceful; exit 0' TERM; (read x <gate) >&- 2>&- & echo ready >ready; wait",
    );
    let running = scene.begun(scene.attempt("k").stdout("graceful\n"));
    until("the trap is set", || scene.path("ready").exists());
    running.signal(Signal::SIGTERM);
    running.finish();
    scene.attempt("k").stdout("graceful\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_command_that_ended_before_its_call_was_told_to_end_is_recorded() {
    for signal in unignored(&ENDING) {
        let scene = Scene::new();
        let mut gate = scene.gate();
        scene.behave("read x <gate; echo done");
        let running = scene.begun(scene.attempt("k").stdout("done\n"));
        running.sleep_while(|| {
            gate.open();
            until("it has ended", || state(scene.command_pid()) == Some('Z'));
            running.signal(signal);
        });
        running.finish();
        scene.attempt("k").stdout("done\n").run();
        assert_eq!(scene.runs(), 1);
    }
}

#[test]
fn a_stop_signal_stops_the_command_and_us_and_both_go_on_together() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let running = scene.begun(scene.hanging("k"));
    let command = scene.command_pid();
    running.signal(Signal::SIGTSTP);
    until("both are stopped", || state(running.pid()) == Some('T') && state(command) == Some('T'));
    scene.once("other").sh("true").run();
    running.signal(Signal::SIGCONT);
    until("both go on", || state(running.pid()) != Some('T') && state(command) != Some('T'));
    gate.open();
    running.finish();
    assert_eq!(scene.state("k"), "done");
}
