//! What we are sent goes on to the command, and comes there once.

use nix::unistd::Pid;

use crate::support::counting::{FORWARDED, name, unignored};
use crate::support::processes::{is_alive, state};
use crate::support::{Scene, Signal, until};

#[test]
fn each_forwarded_signal_comes_to_the_command_once() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.count_signals("");
    let running = scene.begun(scene.attempt("k"));
    scene.await_counting();
    let sent = unignored(&FORWARDED);
    for signal in &sent {
        running.signal(*signal);
        scene.await_signal(*signal);
    }
    let expected: Vec<&str> = sent.iter().map(|signal| name(*signal)).collect();
    gate.open();
    running.finish();
    assert_eq!(scene.signals(), expected);
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn a_forwarded_signal_comes_to_all_of_the_commands_group() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(
        "trap 'echo command >>heard' USR2
        (trap 'echo child >>heard; exit 0' USR2
         (read x <gate) & echo ready >ready; wait) >&- 2>&- &
        while kill -0 $! 2>&-; do wait; done; :",
    );
    let running = scene.begun(scene.attempt("k"));
    until("the child is ready", || scene.path("ready").exists());
    running.signal(Signal::SIGUSR2);
    running.finish();
    let heard = scene.read("heard");
    let mut heard: Vec<&str> = heard.lines().collect();
    heard.sort_unstable();
    assert_eq!(heard, ["child", "command"]);
}

#[test]
fn a_command_that_does_not_stop_when_asked_to_is_not_left_alone() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.count_signals("");
    let running = scene.begun(scene.attempt("k"));
    scene.await_counting();
    running.signal(Signal::SIGTSTP);
    scene.await_signal(Signal::SIGTSTP);
    scene.settle(running.pid());
    assert_ne!(state(running.pid()), Some('T'));
    gate.open();
    running.finish();
}

#[test]
fn we_die_of_quit_as_the_command_did_and_dump_no_core() {
    use std::os::unix::process::ExitStatusExt;

    let scene = Scene::new();
    let _gate = scene.gate();
    for signal in unignored(&[Signal::SIGQUIT]) {
        let call = scene.hanging("k").dies_of(signal);
        let call = call.through_sh(r#"ulimit -c unlimited 2>&-; exec "$@""#);
        let running = scene.begun(call);
        running.signal(signal);
        assert!(!running.finish().status.core_dumped(), "we are no crash");
        assert_eq!(scene.state("k"), "failed");
    }
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn as_the_first_process_of_a_container_we_end_with_128_and_the_signals_number() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let call = scene.hanging("k").status(143);
    let running = scene.begun(call.through(["unshare", "-p", "-f", "--mount-proc"]));
    let wrapper = scene.wrappers()[0];
    nix::sys::signal::kill(Pid::from_raw(wrapper), Signal::SIGTERM).unwrap();
    running.finish();
    assert!(!is_alive(wrapper));
    assert_eq!(scene.state("k"), "failed");
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn each_signal_is_sent_on_by_one_call() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.count_signals("");
    let behaviour = scene.read("behaviour");
    scene.behave(&format!("echo $PPID >wrapper\n{behaviour}"));
    let trace = ["strace", "-o", "trace", "-e", "trace=kill,tkill,tgkill"];
    let running = scene.begun(scene.attempt("k").through(trace));
    scene.await_counting();
    let wrapper = Pid::from_raw(scene.read("wrapper").trim().parse().unwrap());
    let sent = unignored(&FORWARDED);
    for signal in &sent {
        nix::sys::signal::kill(wrapper, *signal).unwrap();
        scene.await_signal(*signal);
    }
    gate.open();
    running.finish();
    let trace = scene.read("trace");
    let calls: Vec<&str> = trace.lines().filter(|line| line.contains("kill(")).collect();
    let group = -scene.command_pid();
    let expected: Vec<String> =
        sent.iter().map(|signal| format!("kill({group}, {signal})")).collect();
    assert_eq!(calls.len(), expected.len(), "{trace}");
    for (call, expected) in calls.iter().zip(&expected) {
        assert!(call.starts_with(expected), "{call} is not {expected}");
    }
}
