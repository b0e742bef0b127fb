//! A command whose claim is lost goes, and all that came from it.

use crate::support::processes::{destroy, is_alive};
use crate::support::{Call, Scene, Terminal, until};

/// Nobody in it heeds what asks for an end, and each is a child of the one before.
/// Who comes last says that all are there.
const DEAF: &str = r#"trap '' HUP INT QUIT TERM
    echo $$ >pids
    sh -c 'echo $$ >>pids; sh -c "echo \$\$ >>pids; echo ready >ready; read x <gate" & wait' &
    wait; read x <gate"#;

/// Has a call lose its claim in mid-run, and expects that nobody of it is left.
#[track_caller]
fn lose(scene: &Scene, call: Call<'_>) {
    let running = scene.begun(call);
    until("all are there", || scene.path("ready").exists());
    scene.call("forget k --force").run();
    running.finish();
    let pids = scene.read("pids");
    let pids: Vec<i32> = pids.lines().map(|line| line.parse().unwrap()).collect();
    let left: Vec<&i32> = pids.iter().filter(|pid| is_alive(**pid)).collect();
    assert!(left.is_empty(), "{left:?} of {pids:?} are left");
    assert_eq!(scene.state("k"), "forgotten");
}

#[test]
fn nobody_of_the_group_is_left_after_a_loss_whatever_it_traps() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(DEAF);
    let call = scene.attempt("k --claim-ttl 2s --kill-after 50ms --report report");
    lose(&scene, call.status(69).note(&["k", "lost"]));
    assert_eq!(scene.read("pids").lines().count(), 3);
    let report = scene.read("report");
    assert!(report.contains(r#""outcome":"lost""#) && report.contains(r#""signal":9"#), "{report}");
}

#[test]
fn at_a_terminal_nobody_who_came_from_the_command_is_left_either() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let mut terminal = Terminal::new();
    // One with a session of its own, and one whose parent has gone.
    scene.behave(&format!(
        r#"setsid sh -c 'trap "" HUP TERM; echo $$ >>others; read x <gate' &
        (sh -c 'trap "" HUP TERM; echo $$ >>others; read x <gate' &)
        until test "$(grep -c . others)" = 2; do :; done 2>&-
        {DEAF}"#
    ));
    let call = scene.attempt("k --claim-ttl 2s --kill-after 50ms").at(&terminal);
    lose(&scene, call.status(69));
    for pid in scene.read("others").lines() {
        assert!(!is_alive(pid.parse().unwrap()), "{pid} is left");
    }
    terminal.await_text("lost");
}

#[test]
fn who_outlives_a_command_that_heeds_the_end_goes_too() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(
        r#"sh -c 'trap "" TERM; echo $$ >pids; echo ready >ready; read x <gate' >&- 2>&- & wait"#,
    );
    let call = scene.attempt("k --claim-ttl 2s --kill-after 50ms");
    lose(&scene, call.status(69).note(&["k", "lost"]));
}

#[test]
fn a_stopped_command_goes_at_once() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("echo $$ >pids; echo ready >ready; kill -STOP $$; read x <gate");
    // It would be killed in an hour.
    let call = scene.attempt("k --claim-ttl 2s --kill-after 1h");
    lose(&scene, call.status(69).note(&["k", "lost"]));
}

#[test]
fn a_command_is_given_time_to_end_by_itself() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("trap 'echo told >told' TERM; echo $$ >pids; echo ready >ready; while :; do read x <gate; done");
    let running = scene.begun(scene.attempt("k --claim-ttl 2s").unchecked());
    until("the trap is set", || scene.path("ready").exists());
    scene.call("forget k --force").run();
    until("it is told", || scene.path("told").exists());
    assert!(is_alive(scene.command_pid()), "and has time");
    destroy(scene.command_pid());
    assert_eq!(running.finish().code(), 69);
}
