//! `begin --wait`: until it is fresh or done, and no claim is left by whoever is told to
//! end meanwhile.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use crate::support::processes::ignores;
use crate::support::{Done, Running, Scene, Signal, finished, token_of, until};

/// A call that waits for `k`, once it does: it says so.
fn waiter(scene: &Scene, words: &str) -> Running {
    let running = scene.begin(&format!("k --claim-ttl 1h -v {words}")).unchecked().spawn();
    until("it waits", || {
        String::from_utf8_lossy(&running.stderr_so_far()).contains("k: waiting for")
    });
    running
}

#[test]
fn a_wait_ends_fresh_when_the_holder_fails() {
    let scene = Scene::new();
    let token = scene.token("k");
    let waiter = waiter(&scene, "--wait forever");
    scene.with_token("fail k", &token).run();
    let done = waiter.finish();
    assert_eq!(done.code(), 0, "{}", done.complaint());
    assert_ne!(token_of(&done), token);
    assert_eq!(scene.json("show k --json")["attempts"][0]["attempt"], 2);
}

#[test]
fn a_wait_ends_with_the_record_when_the_holder_completes() {
    let scene = Scene::new();
    let token = scene.token("k");
    let waiter = waiter(&scene, "--wait forever");
    scene.write("result", "result");
    scene.with_token("complete k --result result", &token).run();
    let done = waiter.finish();
    assert_eq!((done.code(), done.text().as_str()), (10, "result"));
}

#[test]
fn a_wait_ends_fresh_when_the_holding_process_is_gone() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let script = scene.bystander();
    scene.begin(&format!("k --pid {}", script.pid())).any_stdout().run();
    let waiter = waiter(&scene, "--wait forever");
    script.kill();
    let done = waiter.finish();
    assert_eq!(done.code(), 0, "{}", done.complaint());
    assert!(done.complaint().contains("interrupted"), "{}", done.complaint());
}

#[test]
fn a_wait_for_a_once_ends_with_what_it_recorded() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo out");
    let holder = scene.begun(scene.attempt("k --fingerprint none").stdout("out\n"));
    let waiter = scene.begin("k --claim-ttl 1h -q --wait forever").unchecked().spawn();
    scene.await_waiters(1);
    gate.open();
    holder.finish();
    let done = waiter.finish();
    assert_eq!((done.code(), done.text().as_str()), (10, "out\n"));
}

#[test]
fn a_once_that_waits_for_what_was_begun_is_given_what_completed_it() {
    let scene = Scene::new();
    scene.write("result", "result");
    for (end, status, output) in [
        ("complete k --result result --exit-code 3", 3, "result"),
        // A failure is shared too.
        ("fail k --exit-code 5", 5, ""),
    ] {
        let token = scene.token("k");
        let call = scene.attempt("k --fingerprint none -v --wait forever");
        let waiter = call.unchecked().spawn();
        until("it waits", || {
            String::from_utf8_lossy(&waiter.stderr_so_far()).contains("waiting for")
        });
        scene.with_token(end, &token).run();
        let done = waiter.finish();
        assert_eq!((done.code(), done.text().as_str()), (status, output));
        assert_eq!(scene.runs(), 0);
        scene.call("forget k").run();
    }
}

#[test]
fn a_wait_that_runs_out_is_busy_and_takes_as_long_as_it_was_told() {
    let scene = Scene::new();
    scene.token("k");
    let start = Instant::now();
    let call = scene.begin("k --claim-ttl 1h --wait 300ms").status(75);
    call.note(&["k: still busy after a wait of", "pid"]).run();
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(300), "it waited {took:?}");
}

#[test]
fn a_signal_ends_a_wait_and_leaves_nothing() {
    let scene = Scene::new();
    let token = scene.token("k");
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        if ignores(signal) {
            continue; // Whoever started the tests ignores it, so doubletap must too.
        }
        let waiter = waiter(&scene, "--wait forever");
        waiter.signal(signal);
        let done = waiter.finish();
        assert_eq!(done.status.signal(), Some(signal as i32));
        assert_eq!(done.text(), "");
    }
    assert_eq!(scene.json("show k --json")["attempts"].as_array().map(Vec::len), Some(1));
    scene.with_token("complete k", &token).run();
}

#[test]
fn one_of_many_who_wait_is_fresh_when_the_holder_fails_and_the_others_wait_for_that() {
    let scene = Scene::new();
    let token = scene.token("k");
    let waiters: Vec<_> = (0..5).map(|_| waiter(&scene, "--wait forever")).collect();
    scene.with_token("fail k", &token).run();
    let told = || waiters.iter().map(Running::stdout_so_far).find(|told| told.ends_with(b"\n"));
    until("one of them is fresh", || told().is_some());
    let token = String::from_utf8(told().unwrap()).unwrap();
    scene.with_token("complete k", token.trim()).run();
    let mut codes: Vec<i32> = finished(waiters).iter().map(Done::code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 10, 10, 10, 10]);
}

#[test]
fn whoever_waits_for_a_process_that_goes_claims_nothing() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n --ttl 1h"));
    let script = scene.bystander();
    let pid = script.pid();
    let waiter = scene.acquire(&format!("n --ttl 1h --pid {pid} --wait 1h")).status(75);
    let waiter = waiter.note(&["n: process", "is gone"]).spawn();
    scene.await_waiters(1);
    crate::support::processes::destroy(pid);
    waiter.finish();
    gate.open();
    holder.finish();
    assert_eq!(scene.lease_state("n"), "released");
}
