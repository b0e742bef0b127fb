//! Holders that die: a name is free at once, unless something of theirs lives on.

use std::time::{Duration, Instant};

use crate::support::processes::{destroy, is_alive};
use crate::support::{Scene, until};

#[test]
fn a_holder_that_is_killed_with_its_command_is_seen_at_once() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n --ttl 1h").unchecked());
    holder.kill();
    let command = scene.command_pid();
    destroy(-command);
    until("the command is gone", || !is_alive(command));
    assert_eq!(scene.lease_state("n"), "interrupted");
    scene.behave(":");
    let began = Instant::now();
    scene.held("n").run();
    assert!(began.elapsed() < Duration::from_secs(30), "nobody waited for an hour");
}

#[test]
fn the_command_of_a_killed_holder_gets_sigterm() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.begun(scene.hanging_lease("n").unchecked()).kill();
    let command = scene.command_pid();
    until("the command is gone", || !is_alive(command));
    scene.behave(":");
    scene.held("n").run();
}

#[test]
fn what_a_killed_holder_left_behind_counts_until_its_time_is_over_and_is_ended_then() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(
        r#"trap "" TERM; (trap "" TERM; echo $$ >ready; read x <gate) & echo $! >child
        until test -s ready; do :; done; read x <gate"#,
    );
    let holder = scene.begun(scene.held("n --ttl 4s").unchecked());
    until("both are there", || scene.path("ready").exists());
    holder.kill();
    let (command, child) = (scene.command_pid(), scene.read("child").trim().parse().unwrap());
    assert_eq!(scene.lease_state("n"), "orphaned");
    let call = scene.lease("n").sh("true").status(75);
    call.note(&["n", "its command still runs", &command.to_string()]).run();
    scene.lease("n --wait forever").sh("echo got").stdout("got\n").run();
    assert!(!is_alive(command) && !is_alive(child), "somebody is left");
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_dead_holder_in_a_pid_namespace_of_its_own_is_judged_by_its_time() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let apart = ["unshare", "-p", "-f", "--mount-proc"];
    let holder = scene.begun(scene.hanging_lease("n --ttl 3s").unchecked().through(apart));
    scene.held("n -q").status(75).run();
    let wrapper = scene.wrappers()[0];
    destroy(wrapper);
    holder.finish();
    scene.behave(":");
    scene.held("n -q --wait forever").run();
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_living_holder_is_seen_from_another_pid_namespace_and_waited_for_in_the_kernel() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n --ttl 1h"));
    let apart = ["unshare", "-p", "-f", "--mount-proc"];
    scene.held("n -q").through(apart).status(75).run();
    let waiter = scene.held("n -q --wait forever").through(apart).spawn();
    scene.await_waiters(1);
    gate.open();
    holder.finish();
    gate.open();
    waiter.finish();
    assert_eq!(scene.runs(), 2);
}
