//! Whoever is killed, the key is neither lost nor run twice at a time.

use crate::support::processes::{destroy, is_alive};
use crate::support::{Scene, until};

/// A command whose direct child dies with the wrapper, while a grandchild of the
/// same group lives on at the gate.
const STUBBORN: &str = "(trap '' TERM; echo ready >ready; read x <gate; echo late >>late) & wait";

/// Kills the wrapper of a command that says when it is ready, and outlives it.
#[track_caller]
fn orphan(scene: &Scene, words: &str, behaviour: &str) {
    scene.behave(behaviour);
    let wrapper = scene.begun(scene.attempt(words));
    until("whoever outlives the wrapper is ready", || scene.path("ready").exists());
    wrapper.kill();
    until("the attempt is orphaned", || scene.state("k") == "orphaned");
}

#[test]
fn when_wrapper_and_command_are_killed_the_next_call_runs_at_once_and_says_so() {
    let scene = Scene::new();
    scene.interrupted("k");
    assert_eq!(scene.state("k"), "interrupted");
    scene.behave("echo second");
    let call = scene.attempt("k");
    call.stdout("second\n").note(&["k", "interrupted"]).run();
    scene.attempt("k").stdout("second\n").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn quiet_hides_the_note_about_a_take_over() {
    let scene = Scene::new();
    scene.interrupted("k");
    scene.attempt("k -q").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn killing_the_wrapper_ends_an_ordinary_command() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.holder("k").kill();
    let command = scene.command_pid();
    until("the command has gone with its wrapper", || !is_alive(command));
    scene.behave(":");
    scene.attempt("k").note(&["interrupted"]).run();
}

#[test]
fn a_grandchild_that_outlives_the_wrapper_keeps_the_key_busy() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    orphan(&scene, "k", STUBBORN);
    for _ in 0..3 {
        scene.attempt("k").status(75).note(&["k"]).run();
    }
    scene.attempt("k -q --wait 50ms").status(75).run();

    gate.open();
    until("the group is gone", || scene.state("k") == "interrupted");
    assert_eq!(scene.read("late"), "late\n", "the grandchild was left in peace");
    scene.behave(":");
    scene.attempt("k").note(&["interrupted"]).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_command_that_ignores_term_outlives_the_wrapper_and_keeps_the_key_busy() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    orphan(&scene, "k --claim-ttl 2s", "trap '' TERM; echo ready >ready; read x <gate");
    scene.attempt("k").status(75).note(&["k"]).run();
    gate.open();
    let command = scene.command_pid();
    until("the command is gone", || !is_alive(command));
    scene.behave(":");
    scene.attempt("k").note(&["interrupted"]).run();
}

#[test]
fn a_waiter_takes_over_when_the_orphans_are_gone() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    orphan(&scene, "k", STUBBORN);
    scene.behave("echo taken over");
    let waiter = scene.attempt("k -q --wait forever").stdout("taken over\n").spawn();
    gate.open();
    waiter.finish();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn when_the_command_alone_is_killed_its_death_is_the_outcome() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let wrapper = scene.begun(scene.hanging("k").status(137));
    destroy(scene.command_pid());
    wrapper.finish();
    assert_eq!(scene.state("k"), "failed");
    gate.open();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_killed_holder_hands_over_to_exactly_one_of_its_waiters() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let holder = scene.holder("k");
    scene.behave("echo second");
    let waiters: Vec<_> =
        (0..8).map(|_| scene.attempt("k -q --wait forever").stdout("second\n").spawn()).collect();
    scene.await_waiters(8);
    holder.kill();
    crate::support::finished(waiters);
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_wrapper_that_dies_again_and_again_stays_one_operation() {
    let scene = Scene::new();
    scene.interrupted("k");
    for _ in 0..3 {
        scene.interrupted("k");
    }
    scene.attempt("k").note(&["interrupted"]).run();
    let keys = scene.keys();
    assert_eq!(keys.len(), 5);
    assert!(keys.iter().all(|key| key == &keys[0]), "{keys:?}");
}

#[test]
fn the_removal_of_the_file_of_locks_makes_a_living_holder_no_less_busy() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    std::fs::remove_file(scene.live()).unwrap();
    scene.attempt("k").status(75).note(&["k"]).run();
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}
