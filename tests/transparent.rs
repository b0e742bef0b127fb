//! Arguments, stdin, working folder and environment are the command's own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::support::{Scene, input_of};

#[test]
fn arguments_reach_the_command_byte_for_byte() {
    let scene = Scene::new();
    let odd = OsString::from_vec(b"\xff\xfe\x80 raw".to_vec());
    let call = scene.once("k").command(["printf", "[%s]", "a b", "", "--", "-n", "$HOME", "*"]);
    let mut wanted = b"[a b][][--][-n][$HOME][*][".to_vec();
    wanted.extend_from_slice(b"\xff\xfe\x80 raw][]");
    call.arg(odd).arg("").stdout(wanted).run();
}

#[test]
fn an_option_after_the_two_dashes_belongs_to_the_command() {
    let scene = Scene::new();
    scene
        .once("k")
        .command(["printf", "[%s]", "--rerun", "--store", "/nowhere", "-q", "--help"])
        .stdout("[--rerun][--store][/nowhere][-q][--help]")
        .run();
}

#[test]
fn newlines_quotes_and_control_characters_are_plain_bytes_in_arguments() {
    let scene = Scene::new();
    let argument = "two\nlines\t'\"\\ \x1b[0m";
    let call = scene.once("k").command(["printf", "%s", argument]);
    call.stdout(argument).run();
}

#[test]
fn a_command_whose_name_is_not_utf_8_is_run() {
    let scene = Scene::new();
    let name = OsStr::from_bytes(b"tool-\xff");
    std::os::unix::fs::symlink("/bin/echo", scene.work().join(name)).unwrap();
    let mut path = OsString::from("./");
    path.push(name);
    scene.once("k").arg("--").arg(path).arg("hi").stdout("hi\n").run();
}

#[test]
fn no_shell_stands_between() {
    let scene = Scene::new();
    let call = scene.once("k").command(["echo", "$(id)", "`id`", ";", "exit", "1"]);
    call.stdout("$(id) `id` ; exit 1\n").run();
}

#[test]
fn stdin_is_the_commands_to_the_byte() {
    let scene = Scene::new();
    let all: Vec<u8> = (0..=255_u8).cycle().take(70_000).collect();
    let call = scene.once("k").command(["cat"]).stdin(input_of(&scene, &all));
    call.stdout(&all).run();
}

#[test]
fn what_the_command_leaves_of_stdin_is_left_to_the_next_program() {
    let scene = Scene::new();
    scene
        .once("k")
        .sh("read line; echo \"first $line\"")
        .through_sh(r#""$@"; cat"#)
        .stdin(input_of(&scene, b"one\n"))
        .stdout("first one\n")
        .run();
    let script = r#"exec <lines; "$@" <&0; read line; echo "then $line""#;
    scene.write("lines", "one\ntwo\n");
    scene.once("j").sh("head -c 0; true").through_sh(script).stdout("then one\n").run();
}

#[test]
fn the_working_folder_and_the_umask_are_inherited() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("deep")).unwrap();
    let call = scene.once("k").sh("pwd -P; umask");
    let wanted = format!("{}\n0027\n", scene.path("deep").display());
    call.through_sh(r#"cd deep; umask 027; exec "$@""#).stdout(wanted).run();
}

#[test]
fn the_environment_is_inherited_odd_values_too() {
    let scene = Scene::new();
    scene
        .once("k")
        .sh("printf '%s|%s|%s' \"$ODD\" \"$EMPTY\" \"${EMPTY-unset}\"")
        .env("ODD", OsString::from_vec(b"x\xff\ny".to_vec()))
        .env("EMPTY", "")
        .stdout(b"x\xff\ny||")
        .run();
}

#[test]
fn an_open_descriptor_reaches_the_command_and_none_of_ours_does() {
    let scene = Scene::new();
    scene.write("seven", "through fd 7\n");
    let script = "cat <&7; for fd in /proc/self/fd/*; do readlink $fd; done | grep -c store.db";
    scene
        .once("k --record any")
        .sh(script)
        .through_sh(r#"exec "$@" 7<seven"#)
        .stdout("through fd 7\n0\n")
        .status(1)
        .run();
}

#[test]
fn the_program_is_looked_up_on_the_path_the_caller_has() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/echo", scene.path("bin/my-echo")).unwrap();
    let script = r#"PATH="$PWD/bin:$PATH" exec "$@""#;
    let call = scene.once("k").command(["my-echo", "found"]).through_sh(script);
    call.stdout("found\n").run();
}

#[test]
fn a_closed_stdin_stdout_or_stderr_harms_nothing() {
    let scene = Scene::new();
    for (key, closed, stdout, stderr) in [
        ("in", "<&-", "out\n", "err\n"),
        ("out", ">&-", "", "err\n"),
        ("err", "2>&-", "out\n", ""),
        ("all", "<&- >&- 2>&-", "", ""),
    ] {
        for _ in 0..2 {
            let script = format!(r#"exec "$@" {closed}"#);
            let call = scene.once(key).sh("echo >>runs; echo out; echo err >&2");
            call.through_sh(&script).stdout(stdout).stderr(stderr).run();
        }
    }
    assert_eq!(scene.runs(), 4);
    assert_eq!(scene.json("show in --json")["state"], "done", "the store took no stray byte");
}
