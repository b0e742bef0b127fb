//! A signal that whoever started us ignores stays ignored, and costs no status.

use crate::support::counting::{FORWARDED, name};
use crate::support::{Call, Scene, Signal, until};

/// Whether a status file says that a signal is ignored.
fn ignores(text: &str, signal: Signal) -> bool {
    let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal as i32 - 1)) != 0
}

/// What the command of such a call finds.
fn found<'scene>(scene: &'scene Scene, key: &str) -> Call<'scene> {
    scene.once(key).command(["cat", "/proc/self/status"]).any_stdout()
}

/// A shell's `trap '' CHLD` does not do it everywhere.
const DEAF: [&str; 2] = ["env", "--ignore-signal=CHLD"];

#[test]
fn an_ignored_sigchld_reaches_the_command_and_hides_no_status_from_us() {
    let scene = Scene::new();
    let probe = scene.call("true").program("env".as_ref()).through(DEAF).unchecked().run();
    if probe.code() != 0 {
        return; // This `env` is not GNU's, and no other common program can do it.
    }
    let done = found(&scene, "deaf").through(DEAF).run();
    assert!(ignores(&done.text(), Signal::SIGCHLD), "{}", done.text());
    let done = found(&scene, "default").run();
    assert!(!ignores(&done.text(), Signal::SIGCHLD), "{}", done.text());

    for _ in 0..2 {
        let call = scene.once("status --record any").sh("echo run >>runs; exit 3");
        call.through(DEAF).status(3).run();
        let call = scene.once("signal --record any").sh("echo run >>runs; kill -9 $$");
        call.through(DEAF).status(137).run();
    }
    assert_eq!(scene.runs(), 2);
    assert_eq!(scene.state("status"), "done");
}

#[test]
fn under_nohup_the_command_and_we_outlive_the_terminal() {
    let scene = Scene::new();
    let done = found(&scene, "k").through(["nohup"]).run();
    assert!(ignores(&done.text(), Signal::SIGHUP), "{}", done.text());
    assert!(!ignores(&done.text(), Signal::SIGTERM), "{}", done.text());

    let mut gate = scene.gate();
    let running = scene.begun(scene.hanging("status").through(["nohup"]));
    running.signal(Signal::SIGHUP);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(scene.command_pid()), Signal::SIGHUP)
        .unwrap();
    gate.open();
    running.finish();
    scene.attempt("status").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn each_signal_that_would_go_on_to_the_command_stays_ignored_for_both() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(
        "cat /proc/self/status; cat /proc/$PPID/status >&2; echo ready >ready; read x <gate",
    );
    let deaf = format!(r#"trap '' {}; exec "$@""#, FORWARDED.map(name).join(" "));
    let running = scene.begun(scene.attempt("k").through_sh(&deaf).unchecked());
    until("the command has looked", || scene.path("ready").exists());
    for signal in FORWARDED {
        running.signal(signal);
    }
    gate.open();
    let done = running.finish();
    assert_eq!(done.code(), 0);
    for text in [done.text(), done.complaint()] {
        for signal in FORWARDED {
            assert!(ignores(&text, signal), "{signal}: {text}");
        }
    }
}
