//! A signal that comes while a claim waits for the store ends the call before its command begins.

use rusqlite::Connection;

use crate::support::counting::unignored;
use crate::support::{Scene, Signal, Terminal, until};

/// A write lock of somebody else's, from the moment that there is a store.
fn foreign_lock(scene: &Scene) -> Connection {
    scene.once("earlier").sh("true").run();
    let foreign = Connection::open(scene.store()).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    foreign
}

/// A command is forked before its key is claimed: then signals are ours.
fn await_claim(scene: &Scene) {
    until("the claim has begun", || scene.wrappers().len() == 2);
}

const ENDING: [Signal; 2] = [Signal::SIGINT, Signal::SIGTERM];

/// Neither has the command run nor did anything begin that the signal ended.
#[track_caller]
fn assert_free(scene: &Scene) {
    assert_eq!(scene.runs(), 0, "the command has run");
    let state = scene.state("k");
    assert!(matches!(state.as_str(), "absent" | "failed"), "the key is {state}");
    if state == "failed" {
        let shown = scene.json("show k --json");
        let attempt = &shown["attempts"][0];
        assert!(attempt["signal"].is_null() && attempt["exit_code"].is_null(), "{shown}");
    }
    scene.attempt("k --on-crash stop").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn the_call_dies_of_it_when_the_store_is_free_again() {
    for signal in unignored(&ENDING) {
        let scene = Scene::new();
        let foreign = foreign_lock(&scene);
        let call = scene.attempt("k --on-crash stop --store-timeout 30s").dies_of(signal);
        let mut running = call.spawn();
        await_claim(&scene);
        assert!(running.is_under_way());
        running.signal(signal);
        foreign.execute_batch("ROLLBACK").unwrap();
        running.finish();
        assert_free(&scene);
    }
}

#[test]
fn the_call_dies_of_it_when_the_store_stays_locked() {
    for signal in unignored(&ENDING) {
        let scene = Scene::new();
        let foreign = foreign_lock(&scene);
        let call = scene.attempt("k --on-crash stop --store-timeout 1s").dies_of(signal);
        let running = call.spawn();
        await_claim(&scene);
        running.signal(signal);
        running.finish();
        foreign.execute_batch("ROLLBACK").unwrap();
        assert_free(&scene);
    }
}

#[test]
fn control_c_at_a_terminal_ends_it_too() {
    if unignored(&[Signal::SIGINT]).is_empty() {
        return;
    }
    let scene = Scene::new();
    let foreign = foreign_lock(&scene);
    let script = r#"trap : INT
        "$BIN" once k --on-crash stop --store-timeout 30s -- sh -c 'echo run >>runs'
        echo $? >ended"#;
    let mut terminal = Terminal::new();
    let running = scene.script(&terminal, script).spawn();
    await_claim(&scene);
    terminal.press("\x03");
    // The child shares the terminal's group, so that its end shows that ^C is through.
    until("the terminal has sent the signal", || scene.wrappers().len() < 2);
    foreign.execute_batch("ROLLBACK").unwrap();
    running.finish();
    assert_eq!(scene.read("ended"), "130\n");
    assert_free(&scene);
}

#[test]
fn a_command_that_is_stopped_before_it_begins_does_not_hang_the_call() {
    let scene = Scene::new();
    let foreign = foreign_lock(&scene);
    let running = scene.attempt("k --store-timeout 30s").dies_of(Signal::SIGTERM).spawn();
    await_claim(&scene);
    let child = scene.wrappers().into_iter().find(|pid| *pid != running.pid()).unwrap();
    let child = nix::unistd::Pid::from_raw(child);
    nix::sys::signal::kill(child, Signal::SIGSTOP).unwrap();
    foreign.execute_batch("ROLLBACK").unwrap();
    until("the key is claimed", || scene.state("k") == "running");
    running.signal(Signal::SIGTERM);
    nix::sys::signal::kill(child, Signal::SIGCONT).unwrap();
    running.finish();
    scene.attempt("k").run();
}

#[test]
fn a_command_that_is_stopped_before_it_begins_is_ended_when_the_key_is_not_won() {
    let scene = Scene::new();
    let foreign = foreign_lock(&scene);
    let call = scene.attempt("k --store-timeout 1s").status(125).note(&["locked"]);
    let running = call.spawn();
    await_claim(&scene);
    let child = scene.wrappers().into_iter().find(|pid| *pid != running.pid()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), Signal::SIGSTOP).unwrap();
    running.finish();
    foreign.execute_batch("ROLLBACK").unwrap();
    assert_free(&scene);
}
