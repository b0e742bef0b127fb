//! A replay gives the same bytes on the same streams, in the same order, and runs nothing.

use std::fs::OpenOptions;
use std::io::Seek;

use crate::support::{Scene, input_of, until};

#[test]
fn the_second_call_replays_both_streams_and_the_status() {
    let scene = Scene::new();
    for _ in 0..3 {
        scene
            .once("deploy --record any")
            .sh("echo run >>runs; echo out; echo err >&2; exit 3")
            .stdout("out\n")
            .stderr("err\n")
            .status(3)
            .run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn every_byte_is_exact_nul_0xff_and_escapes_too() {
    let scene = Scene::new();
    let all: Vec<u8> = (0..=255_u8).cycle().take(256 * 40).collect();
    std::fs::write(scene.path("all"), &all).unwrap();
    for _ in 0..2 {
        scene
            .once("bytes")
            .sh("echo run >>runs; cat all; cat all >&2")
            .stdout(&all)
            .stderr(&all)
            .run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn output_without_a_last_newline_and_no_output_at_all_are_exact() {
    let scene = Scene::new();
    for _ in 0..2 {
        scene.once("bare").sh("printf 'no newline'").stdout("no newline").run();
        scene.once("none").sh("true").run();
        scene.once("err").sh("printf x >&2").stderr("x").run();
    }
}

#[test]
fn streams_are_interleaved_in_a_replay_as_they_arrived() {
    let scene = Scene::new();
    // The command goes on only when it sees its last line come out, so the order is known.
    let script = r#"
        say() { echo "$1" >&"$2"; until grep -q "^$1$" "$OUT"; do :; done; }
        say 1 1; say 2 2; say 3 2; say 4 1; say 5 2; say 6 1
        echo run >>runs"#;
    for _ in 0..3 {
        scene.once("order").sh(script).merged().stdout("1\n2\n3\n4\n5\n6\n").run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_replay_interleaves_exactly_as_the_live_run_did_even_in_a_rush() {
    let scene = Scene::new();
    let script = "i=0; while test $i -lt 300; do echo out$i; echo err$i >&2; i=$((i+1)); done";
    let live = scene.once("rush").sh(script).merged().any_stdout().run();
    assert_eq!(live.text().lines().count(), 600);
    scene.once("rush").sh(script).merged().stdout(&live.stdout).run();
}

#[test]
fn output_arrives_while_the_command_runs() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let running = scene
        .once("live")
        .sh("echo one; echo two >&2; read x <gate; echo three")
        .stdout("one\nthree\n")
        .stderr("two\n")
        .spawn();
    until("the first line has come out", || running.stdout_so_far() == b"one\n");
    gate.open();
    running.finish();
}

#[test]
fn a_few_hundred_kilobytes_on_both_streams_do_not_deadlock_and_replay_exactly() {
    let scene = Scene::new();
    let line = "0123456789abcdef0123456789abcde\n";
    let big = line.repeat(12_000);
    std::fs::write(scene.path("big"), &big).unwrap();
    for _ in 0..2 {
        scene
            .once("big")
            .sh("echo run >>runs; cat big >&2 & cat big; wait")
            .stdout(&big)
            .stderr(&big)
            .run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn stdin_reaches_the_command_and_is_not_read_on_a_replay() {
    let scene = Scene::new();
    let mut first = input_of(&scene, b"from stdin\n");
    let stdin = first.try_clone().unwrap();
    scene.once("cat").command(["cat"]).stdin(stdin).stdout("from stdin\n").run();
    assert_eq!(first.stream_position().unwrap(), 11, "the command read it all");

    let mut second = input_of(&scene, b"other input\n");
    let stdin = second.try_clone().unwrap();
    scene.once("cat").command(["cat"]).stdin(stdin).stdout("from stdin\n").run();
    assert_eq!(second.stream_position().unwrap(), 0, "a replay reads nothing");
}

#[test]
fn a_replay_does_not_wait_for_a_stdin_that_never_ends() {
    let scene = Scene::new();
    scene.once("k").command(["echo", "hi"]).stdout("hi\n").run();
    // Both ends of the FIFO are open: a read would block for ever.
    let gate = OpenOptions::new().read(true).write(true).open(scene.path("gate")).unwrap();
    scene.once("k").command(["echo", "hi"]).stdin(gate).stdout("hi\n").run();
}

#[test]
fn replay_status_gives_the_status_alone() {
    let scene = Scene::new();
    let script = "echo out; echo err >&2; exit 4";
    let first = scene.once("k --record any --replay status").sh(script);
    first.stdout("out\n").stderr("err\n").status(4).run();
    scene.once("k --record any --replay status").sh(script).status(4).run();
    let output = scene.once("k --record any --replay output").sh(script);
    output.stdout("out\n").stderr("err\n").status(4).run();
}

#[test]
fn no_output_keeps_the_status_alone_and_hands_the_streams_through() {
    let scene = Scene::new();
    let script = "echo run >>runs; echo secret; echo err >&2";
    let first = scene.once("k --no-output").sh(script);
    first.stdout("secret\n").stderr("err\n").run();
    scene.once("k --no-output").sh(script).run();
    assert_eq!(scene.runs(), 1);
    for file in scene.state_files() {
        let bytes = std::fs::read(scene.state_folder().join(&file)).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"secret\n"), "{file} holds the output");
    }
}

#[test]
fn a_reader_that_leaves_a_replay_early_is_no_error() {
    let scene = Scene::new();
    let big = "a line of some length, so that a pipe fills up\n".repeat(9000);
    std::fs::write(scene.path("big"), &big).unwrap();
    scene.once("big").command(["cat", "big"]).stdout(&big).run();
    scene
        .once("big")
        .command(["cat", "big"])
        .through_sh(r#"{ "$@"; echo "ended with $?" >&2; } | head -c 6"#)
        .stdout("a line")
        .stderr("ended with 0\n")
        .run();
}

#[test]
fn a_full_stdout_gives_73_and_the_outcome_is_recorded() {
    let scene = Scene::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let call = scene.once("k").sh("echo run >>runs; echo hello");
    call.stdout_into(full).status(73).note(&["k"]).run();
    let again = scene.once("k").sh("echo run >>runs; echo hello");
    again.stdout("hello\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_replay_onto_a_full_stdout_gives_73_too() {
    let scene = Scene::new();
    scene.once("k").command(["echo", "hello"]).stdout("hello\n").run();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let call = scene.once("k").command(["echo", "hello"]);
    call.stdout_into(full).status(73).note(&["k"]).run();
}
