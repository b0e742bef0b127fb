//! Who hands over to a new process in the moment in which it is ended is ended all the same.

use crate::support::processes::{is_alive, state};
use crate::support::{Scene, Signal, Terminal, until};

/// Waits at the gate, and then leaves the rest to another process.
const WORKER: &str = "echo $$ >>workers; read x <gate; sh worker &";

/// A command that has started one who never ends, and then a worker.
const COMMAND: &str = "trap '' HUP TERM; sleep 3600 & echo $! >other; sh worker & wait";

/// The call is slow to send its signals after so many.
fn slow_to_signal(sent: u32) -> Vec<String> {
    let inject = format!("inject=kill:delay_enter=2000000:when={}", sent + 1);
    ["strace", "-o", "trace", "-e", &inject].map(str::to_owned).into()
}

fn workers(scene: &Scene) -> Vec<i32> {
    scene.read("workers").lines().map(|line| line.parse().unwrap()).collect()
}

/// A scene whose command waits for a worker that hands over when its gate is opened.
fn relay() -> Scene {
    let scene = Scene::new();
    scene.write("worker", WORKER);
    scene.behave(COMMAND);
    scene
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn at_a_timeout_whoever_a_process_that_is_killed_has_just_started_goes_too() {
    let scene = relay();
    let mut gate = scene.gate();
    let terminal = Terminal::new();
    let call = scene.held("n --timeout 1s --kill-after 50ms").status(124);
    // Three processes are told to end and to go on, and the first of them is killed.
    let running = scene.begun(call.through(slow_to_signal(5)).at(&terminal));
    until("it is killed", || !is_alive(scene.command_pid()));
    gate.open();
    running.finish();
    let workers = workers(&scene);
    assert_eq!(workers.len(), 2, "one has handed over");
    assert!(!is_alive(workers[1]), "and the other is left");
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn who_takes_over_ends_whoever_a_process_that_is_ended_has_just_started() {
    let scene = relay();
    let mut gate = scene.gate();
    let terminal = Terminal::new();
    let holder = scene.begun(scene.held("n --ttl 2s").at(&terminal).unchecked());
    until("its worker waits", || workers(&scene).len() == 1);
    holder.signal(Signal::SIGSTOP);
    let call = scene.lease("n --wait forever").sh("echo got").stdout("got\n");
    let next = call.through(slow_to_signal(1)).spawn();
    let other: i32 = scene.read("other").trim().parse().unwrap();
    let is_reached = |pid| !state(pid).is_some_and(|state| "RS".contains(state));
    until("the first is reached", || is_reached(scene.command_pid()) || is_reached(other));
    gate.open();
    next.finish();
    let workers = workers(&scene);
    assert_eq!(workers.len(), 2, "one has handed over");
    assert!(!is_alive(workers[1]), "and the other is left");
    holder.signal(Signal::SIGCONT);
    assert_eq!(holder.finish().code(), 69);
}
