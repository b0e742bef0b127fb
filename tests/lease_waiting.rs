//! Waiting for a name.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::processes::{cpu_ticks, switches};
use crate::support::{Scene, Signal, until};

#[test]
fn a_waiter_runs_when_the_holder_is_done_and_gets_no_output_of_his() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo mine");
    let holder = scene.begun(scene.held("n").stdout("mine\n"));
    let waiter = scene.lease("n --wait forever").sh("echo his").stdout("his\n").spawn();
    scene.await_waiters(1);
    gate.open();
    holder.finish();
    waiter.finish();
}

#[test]
fn a_wait_that_runs_out_is_75_and_says_so() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n"));
    scene.held("n --wait 300ms").status(75).note(&["n", "still busy after a wait of 3"]).run();
    gate.open();
    holder.finish();
}

#[test]
fn a_waiter_uses_no_processor_time() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n"));
    let waiter = scene.lease("n -q --wait forever").sh("true").spawn();
    scene.await_waiters(1);
    let start = Instant::now();
    let before = (cpu_ticks(waiter.pid()), switches(waiter.pid()));
    until("a second and a half is over", || start.elapsed() > Duration::from_millis(1500));
    let ticks = cpu_ticks(waiter.pid()) - before.0;
    let wakes = switches(waiter.pid()) - before.1;
    assert!(ticks <= 1 && wakes <= 3, "it used {ticks} ticks and woke {wakes} times");
    gate.open();
    holder.finish();
    waiter.finish();
}

#[test]
fn a_signal_ends_a_wait_at_once_and_leaves_nothing() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n"));
    let waiter = scene.held("n -q --wait forever").dies_of(Signal::SIGINT).spawn();
    scene.await_waiters(1);
    let start = Instant::now();
    waiter.signal(Signal::SIGINT);
    waiter.finish();
    assert!(start.elapsed() < Duration::from_millis(500), "it took {:?}", start.elapsed());
    let shown = scene.json("show n --kind lease --json");
    assert_eq!(shown["attempts"].as_array().map(Vec::len), Some(1));
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_store_that_is_locked_for_a_while_does_not_end_a_wait_early() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n"));
    let waiter = scene.lease("n --store-timeout 50ms --wait forever").sh("echo got");
    let waiter = waiter.stdout("got\n").spawn();
    scene.await_waiters(1);
    let lock = Connection::open(scene.store()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    crate::support::processes::destroy(holder.pid());
    let command = scene.command_pid();
    crate::support::processes::destroy(-command);
    let start = Instant::now();
    until("it has tried in vain", || start.elapsed() > Duration::from_millis(600));
    drop(lock);
    waiter.finish();
    gate.open();
    drop(holder);
}
