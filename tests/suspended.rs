//! A machine that sleeps stops the wrapper and its command together, for longer than any
//! lease: who wakes up goes on unless somebody took the name meanwhile.

use std::time::{Duration, Instant};

use crate::support::processes::{is_alive, state};
use crate::support::{Running, Scene, Signal, until};

/// Longer than the shortest lease there is.
const PAST_THE_LEASE: Duration = Duration::from_millis(2600);

/// Sends a signal to the group of the command.
fn signal_group(scene: &Scene, signal: Signal) {
    let group = nix::unistd::Pid::from_raw(-scene.command_pid());
    nix::sys::signal::kill(group, signal).unwrap();
}

/// Wakes both up, the command first: its wrapper may end it as soon as it is awake.
fn wake(scene: &Scene, holder: &Running) {
    signal_group(scene, Signal::SIGCONT);
    holder.signal(Signal::SIGCONT);
}

/// Puts both to sleep, and waits until they are.
#[track_caller]
fn put_to_sleep(scene: &Scene, holder: &Running) {
    holder.signal(Signal::SIGSTOP);
    signal_group(scene, Signal::SIGSTOP);
    for pid in [holder.pid(), scene.command_pid()] {
        until("both have stopped", || state(pid) == Some('T'));
    }
}

#[test]
fn a_key_is_busy_while_its_holder_sleeps_and_the_run_goes_on_when_it_wakes() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k --claim-ttl 2s");
    put_to_sleep(&scene, &holder);
    let ends = scene.lease_end("k");
    let asleep = Instant::now();
    until("the lease has run out", || {
        scene.attempt("k --claim-ttl 2s").status(75).note(&["k", "busy"]).run();
        asleep.elapsed() > PAST_THE_LEASE
    });
    assert_eq!(scene.lease_end("k"), ends, "nobody renews in his sleep");

    wake(&scene, &holder);
    until("it is renewed", || scene.lease_end("k") > ends);
    gate.open();
    holder.finish();
    scene.attempt("k --claim-ttl 2s").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_name_that_nobody_took_meanwhile_is_held_on() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n --ttl 2s"));
    put_to_sleep(&scene, &holder);
    let ends = scene.lease_end("n");
    until("its time is over", || scene.lease_state("n") == "expired");
    wake(&scene, &holder);
    until("it is renewed", || scene.lease_end("n") > ends);
    scene.held("n -q").status(75).run();
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_name_that_was_taken_meanwhile_is_lost_and_the_sleeping_command_never_goes_on() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo on >>went-on");
    let call = scene.held("n --ttl 2s").status(69).note(&["n", "lost"]);
    let holder = scene.begun(call);
    put_to_sleep(&scene, &holder);
    let slept = scene.command_pid();
    scene.behave(&format!("test -d /proc/{slept} && grep '^State:.[^ZX]' /proc/{slept}/status; :"));
    scene.held("n --wait 30s").run();
    assert!(!is_alive(slept), "whoever took the name ended it first");
    holder.signal(Signal::SIGCONT);
    gate.open();
    holder.finish();
    assert_eq!(scene.read("went-on"), "");
    assert_eq!(scene.runs(), 2);
}

#[test]
fn the_time_for_which_both_are_stopped_counts_for_a_timeout() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let call = scene.hanging("k --claim-ttl 2s --timeout 3s").status(124).note(&["k", "3s"]);
    let holder = scene.begun(call);
    put_to_sleep(&scene, &holder);
    let asleep = Instant::now();
    until("the timeout is over", || asleep.elapsed() > Duration::from_secs(3));
    let awake = Instant::now();
    wake(&scene, &holder);
    holder.finish();
    assert!(awake.elapsed() < Duration::from_secs(2), "it had {:?} more", awake.elapsed());
    assert_eq!(scene.runs(), 1);
}
