//! Waiting: woken by the kernel, no processor time, ended at once by a signal.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::processes::{cpu_ticks, ignores, switches};
use crate::support::{Scene, Signal, until};

#[test]
fn a_waiter_is_given_what_the_awaited_attempt_gave() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo out; echo err >&2");
    let first = scene.attempt("k").stdout("out\n").stderr("err\n");
    let holder = scene.begun(first);
    let call = scene.attempt("k -q -w forever");
    let waiter = call.stdout("out\n").stderr("err\n").spawn();
    scene.await_waiters(1);
    gate.open();
    holder.finish();
    waiter.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_waiter_that_comes_when_the_failure_has_let_go_of_its_output_is_given_the_newest() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo first; exit 3");
    let holder = scene.begun(scene.attempt("k").stdout("first\n").status(3));
    let waiter = scene.attempt("k -q -w forever").stdout("fourth\n").status(6).spawn();
    scene.await_waiters(1);
    waiter.signal(Signal::SIGSTOP);
    gate.open();
    holder.finish();
    for (status, word) in [(4, "second"), (5, "third"), (6, "fourth")] {
        scene.behave(&format!("echo {word}; exit {status}"));
        scene.attempt("k").any_stdout().status(status).run();
    }
    waiter.signal(Signal::SIGCONT);
    waiter.finish();
    assert_eq!(scene.runs(), 4);
}

#[test]
fn a_waiter_that_comes_when_nothing_of_the_failures_output_is_left_is_given_its_status() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo gone; exit 3");
    let holder = scene.begun(scene.attempt("k").stdout("gone\n").status(3));
    let call = scene.attempt("k -q -w forever").status(3);
    let waiter = call.note(&["k: none of its output is on record"]).spawn();
    scene.await_waiters(1);
    waiter.signal(Signal::SIGSTOP);
    gate.open();
    holder.finish();
    scene.behave("exit 4");
    for _ in 0..2 {
        scene.attempt("k").status(4).run();
    }
    // As those leave behind who give a claim back before their command has begun.
    let store = Connection::open(scene.store()).unwrap();
    store.execute("UPDATE attempt SET exit_code = NULL WHERE exit_code = 4", []).unwrap();
    waiter.signal(Signal::SIGCONT);
    waiter.finish();
    assert_eq!(scene.runs(), 3);
}

#[test]
fn the_default_and_nonblock_do_not_wait() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    for option in ["", "-n", "--nonblock"] {
        let call = scene.attempt(&format!("k {option}"));
        call.status(75).note(&["k"]).run();
    }
    gate.open();
    holder.finish();
}

#[test]
fn a_wait_that_runs_out_ends_with_75() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let start = Instant::now();
    scene.attempt("k -q --wait 300ms").status(75).run();
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(300), "it waited {took:?}");
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn the_status_for_busy_can_be_chosen() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    scene.attempt("k -q -E 0").status(0).run();
    scene.attempt("k -q -E 255").status(255).run();
    scene.attempt("k -q --conflict-exit-code 9 --wait 10ms").status(9).run();
    gate.open();
    holder.finish();
}

#[test]
fn a_waiter_uses_no_processor_time_and_does_not_poll() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let waiter = scene.attempt("k -q --wait forever").spawn();
    scene.await_waiters(1);
    let start = Instant::now();
    let mut before = None;
    until("a second and a half is over", || {
        if before.is_none() && start.elapsed() > Duration::from_millis(200) {
            before = Some((cpu_ticks(waiter.pid()), switches(waiter.pid())));
        }
        start.elapsed() > Duration::from_millis(1700)
    });
    let (ticks, wakes) = before.unwrap();
    let (ticks, wakes) = (cpu_ticks(waiter.pid()) - ticks, switches(waiter.pid()) - wakes);
    assert!(ticks <= 1, "it used {ticks} ticks of processor time");
    assert!(wakes <= 3, "it woke {wakes} times");
    gate.open();
    holder.finish();
    waiter.finish();
}

#[test]
fn a_signal_ends_a_wait_at_once_and_leaves_no_claim() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        if ignores(signal) {
            continue; // Whoever started the tests ignores it, so doubletap must too.
        }
        let call = scene.attempt("k -q --wait forever");
        let waiter = call.dies_of(signal).spawn();
        scene.await_waiters(1);
        let start = Instant::now();
        waiter.signal(signal);
        waiter.finish();
        let took = start.elapsed();
        assert!(took < Duration::from_secs(2), "the wait ended after {took:?}");
    }
    let shown = scene.json("show k --json");
    assert_eq!(shown["attempts"].as_array().map(Vec::len), Some(1));
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_waiter_for_something_else_is_told_so_and_does_not_wait() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let call = scene.once("k --wait forever").command(["echo", "else"]);
    call.status(65).note(&["argv"]).run();
    gate.open();
    holder.finish();
}

#[test]
fn a_waiter_of_a_command_that_could_not_be_executed_runs_or_shares_but_ends() {
    let scene = Scene::new();
    scene.once("k").command(["./absent"]).status(127).note(&["./absent"]).run();
    let call = scene.once("k --wait forever").command(["./absent"]);
    call.status(127).note(&["./absent"]).run();
}

#[test]
fn waiting_on_a_free_key_costs_nothing() {
    let scene = Scene::new();
    scene.attempt("k --wait forever").run();
    scene.attempt("k --wait forever").run();
    assert_eq!(scene.runs(), 1);
}
