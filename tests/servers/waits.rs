//! Waiting on a server: woken by it, and ended at once by a signal.

use std::time::{Duration, Instant};

use super::engine::Engine;
use crate::support::{Signal, finished, until};

every_server!(
    many_callers_of_one_key_come_to_one_run,
    a_waiter_is_woken_by_the_end_of_what_it_waits_for,
    a_waiter_that_comes_too_late_for_a_failure_is_given_the_newest,
    a_signal_ends_a_wait_at_once,
    a_wait_that_runs_out_is_busy,
    a_waiter_takes_over_when_the_lease_of_a_dead_holder_is_over,
    the_holders_of_slots_are_waited_for,
    a_wait_outlasts_an_absence_of_the_server,
);

fn many_callers_of_one_key_come_to_one_run<E: Engine>() {
    let scene = E::shared().scene();
    scene.behave("sleep 0.2; echo out");
    let callers = (0..20).map(|_| scene.attempt("k -q --wait 30s").stdout("out\n").spawn());
    finished(callers.collect::<Vec<_>>());
    assert_eq!(scene.runs(), 1);
}

fn a_waiter_is_woken_by_the_end_of_what_it_waits_for<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let waiter = scene.attempt("k -v --wait forever").any_stderr().spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    // For so long that one who only looks now and then would be caught asleep.
    std::thread::sleep(Duration::from_millis(2500));
    let ends = Instant::now();
    gate.open();
    holder.finish();
    waiter.finish();
    let took = ends.elapsed();
    assert!(took < Duration::from_millis(400), "it was told after {took:?}");
    assert_eq!(scene.runs(), 1);
}

fn a_waiter_that_comes_too_late_for_a_failure_is_given_the_newest<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo first; exit 3");
    let holder = scene.begun(scene.attempt("k").stdout("first\n").status(3));
    let call = scene.attempt("k -v -w forever").stdout("third\n").any_stderr().status(5);
    let waiter = call.spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    waiter.signal(Signal::SIGSTOP);
    gate.open();
    holder.finish();
    for (status, word) in [(4, "second"), (5, "third")] {
        scene.behave(&format!("echo {word}; exit {status}"));
        scene.attempt("k").any_stdout().status(status).run();
    }
    waiter.signal(Signal::SIGCONT);
    waiter.finish();
    assert_eq!(scene.runs(), 3);
}

fn a_signal_ends_a_wait_at_once<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let call = scene.attempt("k -v --wait forever").any_stderr();
    let waiter = call.dies_of(Signal::SIGINT).spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    let told = Instant::now();
    waiter.signal(Signal::SIGINT);
    waiter.finish();
    let took = told.elapsed();
    assert!(took < Duration::from_millis(200), "it took {took:?}");
    gate.open();
    holder.finish();
}

fn a_wait_that_runs_out_is_busy<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let began = Instant::now();
    scene.attempt("k --wait 500ms").status(75).note(&["still busy after a wait"]).run();
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(500) && took < Duration::from_secs(5), "{took:?}");
    gate.open();
    holder.finish();
}

fn a_waiter_takes_over_when_the_lease_of_a_dead_holder_is_over<E: Engine>() {
    let scene = E::shared().scene();
    let began = Instant::now();
    scene.interrupted("k --claim-ttl 2s");
    scene.attempt("k").status(75).note(&["held by"]).run();
    scene.attempt("k --wait 30s").note(&["was interrupted", "same idempotency key"]).run();
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2), "it was taken after {took:?}");
    assert_eq!(scene.runs(), 2);
    let keys = scene.keys();
    assert_eq!(keys[0], keys[1], "it is one operation");
}

fn the_holders_of_slots_are_waited_for<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    let first = scene.begun(scene.hanging_lease("n --slots 2"));
    let second = scene.begun(scene.hanging_lease("n --slots 2"));
    scene.held("n --slots 2").status(75).note(&["busy"]).run();
    scene.behave(":");
    let waiter = scene.held("n --slots 2 -v --wait 30s").any_stderr().spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    gate.open();
    waiter.finish();
    gate.open();
    finished([first, second]);
}

fn a_wait_outlasts_an_absence_of_the_server<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging("k --claim-ttl 40s").any_stderr());
    let waiter = scene.attempt("k -v --wait 60s").any_stderr().spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    server.kill();
    server.restart();
    gate.open();
    holder.finish();
    waiter.finish();
    assert_eq!(scene.runs(), 1);
}
