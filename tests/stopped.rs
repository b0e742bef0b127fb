//! A stopped holder is alive: nobody takes its key, whatever its lease says.

use std::time::{Duration, Instant};

use crate::support::processes::state;
use crate::support::{Running, Scene, Signal, until};

/// Longer than the shortest lease there is.
const PAST_THE_LEASE: Duration = Duration::from_millis(2600);

fn stop(holder: &Running) {
    holder.signal(Signal::SIGSTOP);
    until("the wrapper has stopped", || state(holder.pid()) == Some('T'));
}

/// Calls the key until its lease must have run out; every call must find it busy.
#[track_caller]
fn busy_past_the_lease(scene: &Scene, through: &[&str]) {
    let start = Instant::now();
    until("the lease has run out", || {
        let call = scene.attempt("k --claim-ttl 2s").through(through);
        call.status(75).note(&["k"]).run();
        start.elapsed() > PAST_THE_LEASE
    });
}

#[test]
fn a_stopped_but_living_holder_is_not_superseded_when_its_lease_has_run_out() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k --claim-ttl 2s");
    stop(&holder);
    busy_past_the_lease(&scene, &["env"]);
    assert_eq!(scene.state("k"), "running");

    holder.signal(Signal::SIGCONT);
    gate.open();
    holder.finish();
    scene.attempt("k --claim-ttl 2s").run();
    assert_eq!(scene.runs(), 1, "it woke up, recorded, and was replayed");
}

#[test]
fn a_running_holder_outlives_its_claim_ttl() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k --claim-ttl 2s");
    busy_past_the_lease(&scene, &["env"]);
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn from_another_pid_namespace_a_stopped_holder_is_still_alive() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k --claim-ttl 2s");
    stop(&holder);
    busy_past_the_lease(&scene, &["unshare", "-p", "-f", "--mount-proc"]);
    holder.signal(Signal::SIGCONT);
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_stopped_holder_inside_a_pid_namespace_is_alive_from_outside() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let call = scene.hanging("k --claim-ttl 2s");
    let holder = scene.begun(call.through(["unshare", "-p", "-f", "--mount-proc"]));
    let wrapper = scene.wrappers()[0];
    let send = |signal| {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(wrapper), signal).unwrap();
    };
    send(Signal::SIGSTOP);
    until("the wrapper has stopped", || state(wrapper) == Some('T'));
    busy_past_the_lease(&scene, &["env"]);
    busy_past_the_lease(&scene, &["unshare", "-p", "-f", "--mount-proc"]);
    send(Signal::SIGCONT);
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn of_two_pid_namespaces_one_runs_and_the_other_waits_for_its_outcome() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let apart = ["unshare", "-p", "-f", "--mount-proc"];
    let first = scene.hanging("k").through(apart);
    let holder = scene.begun(first);
    let call = scene.attempt("k -q --wait forever").through(apart);
    let waiter = call.spawn();
    scene.await_waiters(1);
    let call = scene.attempt("k").through(apart);
    call.status(75).note(&["k"]).run();
    gate.open();
    holder.finish();
    waiter.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_pid_namespace_that_is_killed_whole_frees_the_key_by_the_end_of_the_lease() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let call = scene.hanging("k --claim-ttl 2s").unchecked();
    let holder = scene.begun(call.through(["unshare", "-p", "-f", "--mount-proc"]));
    crate::support::processes::destroy(scene.wrappers()[0]);
    holder.finish();
    scene.behave(":");
    scene.attempt("k -q --claim-ttl 2s --wait forever").run();
    assert_eq!(scene.runs(), 2);
}
