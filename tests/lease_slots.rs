//! `--slots` and `--min-hold`: how many hold a name, and for how long at least.

use std::time::{Duration, Instant};

use crate::support::{Scene, finished};

#[test]
fn as_many_as_there_are_slots_hold_the_name_at_once() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holders: Vec<_> = (0..3).map(|_| scene.begun(scene.hanging_lease("n --slots 3"))).collect();
    scene.held("n --slots 3").status(75).note(&["n", "held by"]).run();
    scene.held("n").status(75).note(&["n", "held by"]).run();
    for _ in 0..3 {
        gate.open();
    }
    finished(holders);
    assert_eq!(scene.runs(), 3);
}

#[test]
fn whoever_waits_for_a_slot_wakes_when_any_holder_is_done() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holders: Vec<_> =
        (0..2).map(|_| scene.begun(scene.hanging_lease("n --slots 2 --ttl 1h"))).collect();
    scene.behave("echo got");
    let waiter = scene.held("n --slots 2 --wait forever").stdout("got\n").spawn();
    // One for the byte of each holder.
    scene.await_waiters(2);
    // Whichever of the two goes on.
    gate.open();
    waiter.finish();
    gate.open();
    finished(holders);
}

#[test]
fn a_name_is_kept_for_as_long_as_was_asked_for_and_nobodys_shell_is_blocked() {
    let scene = Scene::new();
    let began = Instant::now();
    scene.held("n --min-hold 2s").run();
    let returned = began.elapsed();
    assert_eq!(scene.lease_state("n"), "resting");
    scene.held("n").status(75).note(&["n", "--min-hold", "--wait"]).run();
    scene.held("n -q --wait forever").run();
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2), "it was had after {took:?}");
    assert!(returned < Duration::from_millis(1500), "it returned after {returned:?}");
}

#[test]
fn a_command_that_runs_for_longer_is_followed_at_once() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n --min-hold 1ms"));
    gate.open();
    holder.finish();
    scene.behave(":");
    scene.held("n").run();
}

#[test]
fn a_kept_name_takes_a_slot_and_forgetting_gives_it_back() {
    let scene = Scene::new();
    scene.held("n --slots 2 --min-hold 1h").run();
    scene.held("n --slots 2").run();
    scene.held("n").status(75).note(&["--min-hold"]).run();
    scene.call("forget n --kind lease").run();
    scene.held("n").run();
}

#[test]
fn whoever_waits_for_a_slot_wakes_when_an_orphan_is_gone_behind_a_living_holder() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(r#"trap "" TERM; read x <gate"#);
    let orphaned = scene.begun(scene.held("n --slots 2 --ttl 1h").unchecked());
    let command = scene.command_pid();
    let living = scene.begun(scene.hanging_lease("n --slots 2 --ttl 1h"));
    orphaned.kill();
    let waiter = scene.lease("n --slots 2 --wait forever").sh("echo got").stdout("got\n").spawn();
    scene.await_waiters(1);
    crate::support::processes::destroy(-command);
    waiter.finish();
    gate.open();
    living.finish();
}

#[test]
fn an_inner_call_is_told_that_it_would_wait_for_itself_also_behind_another_holder() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(r#"read x <gate; exec "$BIN" lease n --wait forever -- true"#);
    let outer = scene.held("n --slots 2").status(75).note(&["n", "itself"]);
    let outer = scene.begun(outer);
    let other = scene.lease("n --slots 2").sh("echo run >>runs; read x <other").unchecked();
    nix::unistd::mkfifo(&scene.path("other"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut second = crate::support::Gate::at(&scene.path("other"));
    let other = scene.begun(other);
    gate.open();
    outer.finish();
    second.open();
    other.finish();
}
