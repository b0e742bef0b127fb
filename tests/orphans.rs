//! A command that outlives its wrapper is told from one that has ended, however
//! early the wrapper died and whatever became of the command's variables.

use std::time::{Duration, Instant};

use crate::support::{Call, Scene, Signal, until};

/// Its first deed is read from a file, so that a later attempt with the same
/// command line can do something else.
const BARE: &str = "echo run >>runs; . ./behaviour";

/// Kills the wrapper, and lives on at the gate whatever it is told.
const PATRICIDE: &str = "trap '' TERM; kill -9 $PPID; echo $$ >pid; echo >ready; read x <gate";

/// Process ids of its own. What the call leaves behind lives on after it, until
/// the gate is dropped.
const APART: [&str; 7] = [
    "unshare",
    "-p",
    "-f",
    "--mount-proc",
    "sh",
    "-c",
    r#""$@"; echo $? >ended.draft; mv ended.draft ended; read x <gate"#,
];

/// A call whose command has no variable but the path. One program becomes the
/// next, so that the wrapper is the last one's parent.
fn bare<'scene>(scene: &'scene Scene, words: &str) -> Call<'scene> {
    scene.once(words).sh(r#"exec env -i PATH="$PATH" sh -c "$1""#).arg("sh").arg(BARE)
}

/// A scene whose command has killed its wrapper and waits at the gate.
fn orphaned() -> Scene {
    let scene = Scene::new();
    scene.behave(PATRICIDE);
    bare(&scene, "k").dies_of(Signal::SIGKILL).run();
    assert_eq!(scene.state("k"), "orphaned");
    until("the command is ready", || scene.path("ready").exists());
    scene
}

#[test]
fn a_command_that_kills_its_wrapper_at_once_keeps_the_key_until_its_group_is_gone() {
    for _ in 0..5 {
        let scene = orphaned();
        let mut gate = scene.gate();
        let group = format!("process group {}", scene.command_pid());
        for _ in 0..2 {
            bare(&scene, "k").status(75).note(&["k", &group]).run();
        }
        bare(&scene, "k -q --wait 50ms").status(75).run();
        assert_eq!(scene.runs(), 1);

        gate.open();
        until("the group is gone", || scene.state("k") == "interrupted");
        scene.behave("echo second");
        bare(&scene, "k").stdout("second\n").note(&["interrupted"]).run();
        bare(&scene, "k").stdout("second\n").run();
        assert_eq!(scene.runs(), 2);
    }
}

#[test]
fn a_waiter_for_such_a_command_runs_when_it_is_gone() {
    let scene = orphaned();
    let mut gate = scene.gate();
    scene.behave("echo second");
    let call = bare(&scene, "k -q --wait forever --log log");
    let waiter = call.stdout("second\n").spawn();
    bare(&scene, "k -q --wait 100ms").status(75).run();
    assert_eq!(scene.runs(), 1);
    gate.open();
    waiter.finish();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn what_lives_is_named_to_a_person_who_decides_and_not_who_is_gone() {
    let scene = orphaned();
    let mut gate = scene.gate();
    let lives = format!("its command lives: process group {}", scene.command_pid());
    let call = scene.call("forget k").status(75);
    call.note(&["k", "its doubletap is gone", &lives, "--force"]).run();
    let call = scene.call("complete k --unresolved").status(69);
    call.note(&["k", "its doubletap is gone", &lives, "end it"]).run();
    bare(&scene, "k --wait 50ms").status(75).note(&["still busy", &lives]).run();
    gate.open();
    until("the group is gone", || scene.state("k") == "interrupted");
    scene.call("complete k --unresolved").run();
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn from_a_sibling_pid_namespace_the_lease_decides_about_such_a_command() {
    const LEASE: Duration = Duration::from_secs(6);
    let scene = Scene::new();
    scene.behave(PATRICIDE);
    let began = Instant::now();
    let first = bare(&scene, "k --claim-ttl 6s").through(APART).through(["sh"]).unchecked().spawn();
    until("the wrapper is gone", || scene.read("ended") == "137\n");
    until("the command is ready", || scene.path("ready").exists());
    let gate = scene.gate();

    let apart = ["unshare", "-p", "-f", "--mount-proc"];
    scene.behave("echo second");
    let call = bare(&scene, "k --claim-ttl 6s").through(apart);
    call.status(75).note(&["k"]).run();
    assert!(began.elapsed() < LEASE, "this machine is too slow for this sentence");
    assert_eq!(scene.runs(), 1);

    let call = bare(&scene, "k -q --claim-ttl 6s --wait forever").through(apart);
    call.stdout("second\n").run();
    let took = began.elapsed();
    assert!(took >= LEASE, "it was taken over after {took:?}");
    assert_eq!(scene.runs(), 2);
    drop(gate);
    first.finish();
}
