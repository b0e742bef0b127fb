//! `logs`: the output of the newest attempt, whatever became of it.

use crate::large_output::spools;
use crate::support::processes::{destroy, is_alive};
use crate::support::{Scene, until};

/// Writes to both streams, with bytes that no terminal likes.
const BOTH: &str = r"printf 'out\0\377\33[31m\n'; printf 'err\n' >&2; printf 'more'";

#[test]
fn each_stream_comes_back_on_its_own_byte_for_byte_whatever_became_of_the_attempt() {
    let scene = Scene::new();
    scene.once("done").sh(BOTH).unchecked().run();
    scene.once("failed").sh(&format!("{BOTH}; exit 3")).unchecked().run();
    for key in ["done", "failed"] {
        let call = scene.call(&format!("logs {key}"));
        call.stdout(b"out\0\xff\x1b[31m\nmore").stderr("err\n").run();
        scene.call(&format!("logs {key} --stdout")).stdout(b"out\0\xff\x1b[31m\nmore").run();
        scene.call(&format!("logs {key} --stderr")).stdout("err\n").run();
    }
}

#[test]
fn the_output_of_a_running_command_can_be_read_once_it_lasts() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("echo first; echo error >&2; read x <gate; echo last");
    let running = scene.begun(scene.attempt("k").unchecked());
    let logs = || scene.call("logs k").unchecked().run();
    until("what it has written can be seen", || logs().text() == "first\n");
    assert_eq!(logs().complaint(), "error\n");
    assert_eq!(spools(&scene).len(), 1);
    gate.open();
    running.finish();
    scene.call("logs k").stdout("first\nlast\n").stderr("error\n").run();
    assert_eq!(spools(&scene).len(), 0, "it was taken into the store");
}

#[test]
fn what_a_quick_command_has_written_a_lot_of_can_be_read_at_once() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("dd if=/dev/zero bs=64K count=32 2>/dev/null; read x <gate");
    let running = scene.begun(scene.attempt("k").any_stdout());
    until("some of it can be seen", || {
        scene.call("logs k").unchecked().run().stdout.len() >= 1 << 20
    });
    gate.open();
    running.finish();
}

#[test]
fn what_a_running_command_writes_beyond_what_is_kept_is_told_to_be_missing() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("yes | head -c 200000; read x <gate");
    let running = scene.begun(scene.attempt("k --max-output 100000B").any_stdout());
    let logs = || scene.call("logs k").unchecked().run();
    until("all that is kept can be seen", || logs().stdout.len() == 100_000);
    until("the rest is told to be missing", || logs().complaint().contains("first 100000 bytes"));
    gate.open();
    running.finish();
}

#[test]
fn a_running_command_without_output_has_none_yet() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    scene.call("logs k").note(&["k", "so far"]).run();
    gate.open();
    holder.finish();
    scene.call("logs k").run();
}

#[test]
fn what_an_interrupted_command_had_written_stays() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("echo so far; read x <gate");
    let running = scene.begun(scene.attempt("k").unchecked());
    until("it can be seen", || scene.call("logs k").unchecked().run().text() == "so far\n");
    running.kill();
    let command = scene.command_pid();
    destroy(-command);
    until("the command is gone", || !is_alive(command));
    scene.call("logs k").stdout("so far\n").run();
    scene.call("complete k --unresolved").run();
    scene.call("prune --older-than 1h").run();
    scene.call("logs k").stdout("so far\n").run();
}

#[test]
fn it_is_the_newest_attempt_that_is_printed_and_a_forgotten_one_still_is() {
    let scene = Scene::new();
    scene.behave("echo first; exit 1");
    scene.attempt("k").stdout("first\n").status(1).run();
    scene.behave("echo second");
    scene.attempt("k").stdout("second\n").run();
    scene.call("logs k").stdout("second\n").run();
    scene.call("forget k").run();
    scene.call("logs k").stdout("second\n").run();
}

#[test]
fn an_absent_key_is_an_error_and_output_that_was_not_kept_is_told() {
    let scene = Scene::new();
    scene.call("logs k").status(1).note(&["k", "no such key"]).run();
    scene.once("other --no-output").sh("echo x").stdout("x\n").run();
    scene.call("logs k").status(1).note(&["k", "no such key"]).run();
    scene.call("logs other").note(&["other", "none of its output was kept"]).run();
    scene.call("logs other -q").run();
    scene.once("cut --max-output 1").sh("printf xyz").stdout("xyz").run();
    scene.call("logs cut").stdout("x").note(&["cut", "first 1 bytes"]).run();
    scene.call("logs cut --stdout --stderr").status(64).note(&["--stderr"]).run();
}

#[test]
fn a_reader_that_leaves_early_is_no_error_and_a_full_disk_is_one() {
    let scene = Scene::new();
    scene.once("k").sh("yes | head -c 300000").any_stdout().run();
    let call = scene.call("logs k").through_sh(r#"{ "$@"; echo $? >&2; } | head -n 1"#);
    call.stdout("y\n").stderr("0\n").run();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let call = scene.call("logs k").stdout_into(full);
    call.status(125).note(&["k", "could not be written"]).run();
}
