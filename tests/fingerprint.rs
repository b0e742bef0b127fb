//! A key stands for one request: something else under it is refused, and named.

use crate::support::{Call, Scene};

/// Runs `first`, then `second`, on one key; the second must be refused and name `field`.
#[track_caller]
fn differ<'a>(scene: &'a Scene, field: &str, first: Call<'a>, second: Call<'a>) {
    first.run();
    second.status(65).note(&[field]).run();
    assert_eq!(scene.runs(), 1, "the second call ran");
}

/// Runs both on one key; the second must be a replay.
#[track_caller]
fn agree<'a>(scene: &'a Scene, first: Call<'a>, second: Call<'a>) {
    first.run();
    second.run();
    assert_eq!(scene.runs(), 1, "the second call ran");
}

const RUN: &str = "echo run >>runs";

#[test]
fn another_command_line_is_a_mismatch_that_names_argv() {
    let scene = Scene::new();
    let other = scene.once("k").sh("echo other >>runs");
    differ(&scene, "argv", scene.once("k").sh(RUN), other);
}

#[test]
fn one_argument_with_a_blank_differs_from_two_arguments() {
    let scene = Scene::new();
    scene.write("a", "#!/bin/sh\necho run >>runs\n");
    let chmod = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(scene.path(name), mode).unwrap();
    };
    chmod("a");
    let one = scene.once("k").command(["sh", "-c", "./a b"]);
    let two = scene.once("k").command(["sh", "-c", "./a", "b"]);
    differ(&scene, "argv", one, two);
}

#[test]
fn an_empty_argument_counts() {
    let scene = Scene::new();
    let with = scene.once("k").command(["sh", "-c", RUN, ""]);
    differ(&scene, "argv", scene.once("k").sh(RUN), with);
}

#[test]
fn mismatch_is_found_before_busy() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let call = scene.once("k").command(["echo", "else"]);
    call.status(65).note(&["k", "argv"]).run();
    gate.open();
    holder.finish();
}

#[test]
fn none_drops_the_command_line() {
    let scene = Scene::new();
    let first = scene.once("k --fingerprint none").sh(RUN);
    let second = scene.once("k --fingerprint none").sh("echo other >>runs");
    agree(&scene, first, second);
}

#[test]
fn text_is_compared() {
    let scene = Scene::new();
    let first = scene.once("k --fingerprint text:v1").sh(RUN);
    let second = scene.once("k --fingerprint text:v2").sh(RUN);
    differ(&scene, "text", first, second);
    scene.once("k --fingerprint text:v1").sh(RUN).run();
}

#[test]
fn fields_do_not_run_into_each_other() {
    let scene = Scene::new();
    let first = scene.once("k --fingerprint text:ab --fingerprint text:c").sh(RUN);
    let second = scene.once("k --fingerprint text:a --fingerprint text:bc").sh(RUN);
    differ(&scene, "text", first, second);
}

#[test]
fn a_field_more_or_less_is_a_mismatch() {
    let scene = Scene::new();
    let more = scene.once("k --fingerprint text:x").sh(RUN);
    differ(&scene, "text", scene.once("k").sh(RUN), more);
}

#[test]
fn a_variable_is_compared_by_value() {
    let scene = Scene::new();
    let call = |value: &str| scene.once("k --fingerprint env:TARGET").sh(RUN).env("TARGET", value);
    differ(&scene, "env:TARGET", call("one"), call("two"));
    call("one").run();
    let unset = scene.once("k --fingerprint env:TARGET").sh(RUN);
    unset.status(65).note(&["env:TARGET"]).run();
}

#[test]
fn an_unset_variable_differs_from_an_empty_one() {
    let scene = Scene::new();
    let unset = scene.once("k --fingerprint env:TARGET").sh(RUN);
    let empty = scene.once("k --fingerprint env:TARGET").sh(RUN).env("TARGET", "");
    differ(&scene, "env:TARGET", unset, empty);
}

#[test]
fn the_working_folder_counts_if_asked_for() {
    let scene = Scene::new();
    let script = format!("echo run >>'{}'", scene.path("runs").display());
    let here = scene.once("k --fingerprint cwd").sh(&script);
    let there = scene.once("k --fingerprint cwd").sh(&script);
    differ(&scene, "cwd", here, there.through_sh(r#"cd /; exec "$@""#));
    let plain = scene.once("plain").sh("true");
    plain.run();
    let elsewhere = scene.once("plain").sh("true");
    elsewhere.through_sh(r#"cd /; exec "$@""#).run();
}

#[test]
fn a_file_is_compared_by_content() {
    let scene = Scene::new();
    let call = || scene.once("k --fingerprint file:input").sh(RUN);
    scene.write("input", "one");
    call().run();
    scene.write("input", "one");
    call().run();
    scene.write("input", "two");
    call().status(65).note(&["file:input"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn json_is_compared_by_meaning() {
    let scene = Scene::new();
    let call = || scene.once("k --fingerprint json:input").sh(RUN);
    scene.write("input", r#"{"a": 1, "b": {"x": [1, 2], "y": "é"}}"#);
    call().run();
    scene.write("input", "{\"b\":{\"y\":\"\\u00e9\",\"x\":[1,2]},\n\"a\":1}\n");
    call().run();
    scene.write("input", r#"{"a": 1, "b": {"x": [2, 1], "y": "é"}}"#);
    call().status(65).note(&["json:input"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn an_input_that_cannot_be_read_or_understood_runs_nothing() {
    let scene = Scene::new();
    scene.write("broken", "{");
    for what in ["file:absent", "json:absent", "json:broken", "file:."] {
        let done = scene.once(&format!("k --fingerprint {what}")).sh(RUN).unchecked().run();
        assert!(matches!(done.code(), 64 | 125), "{what} ended with {}", done.status);
        let complaint = done.complaint();
        assert!(complaint.starts_with("doubletap: "), "{complaint}");
        assert!(complaint.contains(&what[5..]), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
    }
    assert_eq!(scene.runs(), 0);
}

#[test]
fn what_differs_is_named_and_its_value_is_not_shown() {
    let scene = Scene::new();
    let call =
        |value: &str| scene.once("k --fingerprint env:PASSWORD").sh(RUN).env("PASSWORD", value);
    call("hunter2").run();
    let done = call("correct horse").status(65).note(&["env:PASSWORD"]).run();
    let complaint = done.complaint();
    assert!(!complaint.contains("hunter2") && !complaint.contains("correct horse"), "{complaint}");
}

#[test]
fn the_command_line_is_not_stored() {
    let scene = Scene::new();
    let call = scene.once("k").command(["sh", "-c", "true", "s3cret-argument"]);
    call.run();
    for file in scene.state_files() {
        let bytes = std::fs::read(scene.state_folder().join(&file)).unwrap();
        let found = bytes.windows(15).any(|window| window == b"s3cret-argument");
        assert!(!found, "{file} holds an argument");
    }
}
