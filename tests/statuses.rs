//! The exit status is the command's own, live and replayed.

use crate::support::{Scene, Signal};

#[test]
fn every_status_from_0_to_255_is_the_commands_live_and_replayed() {
    let scene = Scene::new();
    for status in 0..=255 {
        for _ in 0..2 {
            let key = format!("status-{status} --record any");
            let script = format!("echo run >>runs; exit {status}");
            scene.once(&key).sh(&script).status(status).run();
        }
    }
    assert_eq!(scene.runs(), 256, "each ran once and was replayed once");
}

#[test]
fn death_by_a_signal_is_128_and_its_number_live_and_replayed() {
    let scene = Scene::new();
    for signal in [
        Signal::SIGKILL,
        Signal::SIGTERM,
        Signal::SIGSEGV,
        Signal::SIGABRT,
        Signal::SIGUSR1,
        Signal::SIGPIPE,
        Signal::SIGHUP,
    ] {
        let number = signal as i32;
        for _ in 0..2 {
            let key = format!("signal-{number} --record any");
            let script = format!("ulimit -c 0; echo run >>runs; echo before; kill -{number} $$");
            let call = scene.once(&key).sh(&script);
            call.stdout("before\n").status(128 + number).run();
        }
    }
    assert_eq!(scene.runs(), 7);
}

#[test]
fn death_by_a_real_time_signal_is_128_and_its_number_too() {
    let scene = Scene::new();
    for number in [34, 50, 64] {
        for _ in 0..2 {
            let key = format!("signal-{number} --record any");
            let script = format!("echo run >>runs; echo before; kill -{number} $$");
            let call = scene.once(&key).sh(&script);
            call.stdout("before\n").status(128 + number).run();
        }
        let shown = scene.json(&format!("show signal-{number} --json"));
        assert_eq!(shown["attempts"][0]["signal"], number, "{shown}");
    }
    assert_eq!(scene.runs(), 3);
}

#[test]
fn death_by_a_signal_is_not_recorded_unless_asked_for() {
    let scene = Scene::new();
    for _ in 0..2 {
        scene.once("k").sh("echo run >>runs; kill -9 $$").status(137).run();
    }
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_command_that_does_not_exist_gives_127_and_nothing_is_recorded() {
    let scene = Scene::new();
    for _ in 0..2 {
        let call = scene.once("k --record any").command(["./late", "x"]);
        call.status(127).note(&["./late"]).run();
        let call = scene.once("p --record any").command(["no-such-program-anywhere"]);
        call.status(127).note(&["no-such-program-anywhere"]).run();
    }
    executable(&scene, "late", "#!/bin/sh\necho now");
    scene.once("k --record any").command(["./late", "x"]).stdout("now\n").run();
}

#[test]
fn a_command_that_cannot_be_executed_gives_126_and_nothing_is_recorded() {
    let scene = Scene::new();
    scene.write("plain", "#!/bin/sh\necho now");
    for _ in 0..2 {
        let call = scene.once("k --record any").command(["./plain"]);
        call.status(126).note(&["./plain"]).run();
        let call = scene.once("folder --record any").command(["/"]);
        call.status(126).note(&["/"]).run();
    }
    executable(&scene, "plain", "#!/bin/sh\necho now");
    scene.once("k --record any").command(["./plain"]).stdout("now\n").run();
}

#[test]
fn a_script_that_names_no_interpreter_is_not_given_to_a_shell() {
    let scene = Scene::new();
    executable(&scene, "script", "echo run >>runs\n");
    executable(&scene, "empty", "");
    for name in ["script", "empty"] {
        let call = scene.once(&format!("{name} --record any")).command([format!("./{name}")]);
        call.status(126).note(&[name]).run();
    }
    let call = scene.once("on-the-path").command(["script"]);
    call.through_sh(r#"PATH="$PWD:$PATH" exec "$@""#).status(126).note(&["script"]).run();
    assert_eq!(scene.runs(), 0);
    executable(&scene, "script", "#!/bin/sh\necho run >>runs\n");
    scene.once("script --record any").command(["./script"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn what_could_not_be_executed_leaves_the_key_free() {
    let scene = Scene::new();
    scene.once("k").command(["./absent"]).status(127).note(&["./absent"]).run();
    let state = scene.state("k");
    assert!(matches!(state.as_str(), "failed" | "absent"), "the key is {state}");
}

#[test]
fn the_commands_own_126_and_127_are_ends_like_any_other() {
    let scene = Scene::new();
    for status in [126, 127] {
        for _ in 0..2 {
            let key = format!("own-{status} --record any");
            let script = format!("echo run >>runs; exit {status}");
            scene.once(&key).sh(&script).status(status).run();
        }
    }
    assert_eq!(scene.runs(), 2);
}

#[test]
fn the_commands_own_status_may_equal_one_of_ours() {
    let scene = Scene::new();
    for status in [64, 65, 69, 70, 73, 74, 75, 76, 124, 125] {
        let script = format!("exit {status}");
        scene.once(&format!("k{status}")).sh(&script).status(status).run();
    }
}

fn executable(scene: &Scene, name: &str, content: &str) {
    use std::os::unix::fs::PermissionsExt;
    scene.write(name, content);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scene.path(name), mode).unwrap();
}
