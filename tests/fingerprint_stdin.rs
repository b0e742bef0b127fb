//! `--fingerprint stdin`: what a command is fed is part of what is asked for.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::thread;

use crate::support::processes::{peak_memory_kb, state};
use crate::support::{Call, Scene, input_of, until};

/// What a wrapper may take up, whatever it reads.
const MEMORY_KB: u64 = 16 << 10;

/// A call whose command counts its runs and gives back what it is fed.
fn fed<'scene>(scene: &'scene Scene, options: &str, bytes: &[u8]) -> Call<'scene> {
    let call = scene.once(&format!("k --fingerprint stdin {options}"));
    call.sh("echo run >>runs; cat").stdin(input_of(scene, bytes))
}

#[test]
fn the_same_input_is_replayed_and_another_is_a_mismatch_that_names_stdin() {
    let scene = Scene::new();
    for _ in 0..2 {
        fed(&scene, "", b"order 17\n").stdout("order 17\n").run();
    }
    fed(&scene, "", b"order 18\n").status(65).note(&["k", "stdin differs"]).run();
    fed(&scene, "", b"").status(65).note(&["k", "stdin differs"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn input_that_is_not_asked_about_may_differ() {
    let scene = Scene::new();
    let call = |bytes: &[u8]| scene.once("k").sh("cat").stdin(input_of(&scene, bytes));
    call(b"one").stdout("one").run();
    call(b"two").stdout("one").run();
}

#[test]
fn the_command_is_fed_every_byte_from_a_pipe_too() {
    let scene = Scene::new();
    let bytes: Vec<u8> = (0..=255_u8).cycle().take(3_000_001).collect();
    for _ in 0..2 {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let call = scene.once("k --fingerprint stdin").sh("echo run >>runs; cat");
        let running = call.stdin(File::from(OwnedFd::from(reader))).stdout(&bytes).spawn();
        // It is read to its end on a replay too, or this would break the pipe.
        writer.write_all(&bytes).unwrap();
        drop(writer);
        running.finish();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn it_may_be_named_twice_and_no_input_is_an_input() {
    let scene = Scene::new();
    fed(&scene, "--fingerprint stdin", b"x").stdout("x").run();
    fed(&scene, "", b"x").stdout("x").run();
    let empty = || scene.once("none --fingerprint stdin").sh("echo run >>runs; cat");
    empty().run();
    empty().through_sh(r#""$@" <&-"#).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn an_input_of_any_size_takes_bounded_memory() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("wc -c; read x <gate");
    let (reader, mut writer) = std::io::pipe().unwrap();
    let call = scene.attempt("k --fingerprint stdin").stdin(File::from(OwnedFd::from(reader)));
    let call = call.stdout("67108864\n");
    let feeding = thread::spawn(move || {
        for _ in 0..64 {
            writer.write_all(&vec![0; 1 << 20]).unwrap();
        }
    });
    let running = scene.begun(call);
    feeding.join().unwrap();
    let peak = peak_memory_kb(running.pid());
    gate.open();
    running.finish();
    assert!(peak < MEMORY_KB, "it took {peak} kB");
}

#[test]
fn input_that_cannot_be_read_or_kept_runs_nothing_and_is_told() {
    let scene = Scene::new();
    let call = scene.attempt("k --fingerprint stdin").stdin(File::open("/").unwrap());
    call.status(125).note(&["k", "--fingerprint stdin", "directory"]).run();
    let call = scene.attempt("k --fingerprint stdin").env("TMPDIR", "/nonexistent");
    call.status(125).note(&["k", "--fingerprint stdin", "/nonexistent", "TMPDIR"]).run();
    assert_eq!(scene.runs(), 0);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn input_for_which_there_is_no_room_runs_nothing_and_is_told() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("tmp")).unwrap();
    let script = r#"mount -t tmpfs -o size=1m none tmp || exit 99; exec "$@""#;
    let call = scene.attempt("k --fingerprint stdin").env("TMPDIR", scene.path("tmp"));
    let call = call.stdin(input_of(&scene, &vec![1; 2 << 20]));
    let call = call.through(["unshare", "-m", "sh", "-c", script, "sh"]);
    call.status(125).note(&["k", "--fingerprint stdin", "no room", "TMPDIR"]).run();
    assert_eq!(scene.runs(), 0);
}

#[test]
fn without_a_store_fail_open_still_feeds_the_command() {
    let scene = Scene::new();
    std::fs::write(scene.store(), "no store at all, and long enough to be seen as such").unwrap();
    let call = fed(&scene, "--fail-open", b"fed all the same\n");
    call.stdout("fed all the same\n").notes(&["unguarded"]).run();
}

#[test]
fn a_signal_while_the_input_is_awaited_ends_the_call_at_once() {
    let scene = Scene::new();
    let fifo = OpenOptions::new().read(true).write(true).open(scene.path("gate")).unwrap();
    let signal = crate::support::Signal::SIGTERM;
    let call = scene.attempt("k --fingerprint stdin").stdin(fifo.try_clone().unwrap());
    let running = call.dies_of(signal).spawn();
    until("it waits", || state(running.pid()) == Some('S'));
    running.signal(signal);
    running.finish();
    assert_eq!(scene.state("k"), "absent");
}

#[test]
fn a_file_that_is_read_from_its_middle_is_fed_from_there() {
    let scene = Scene::new();
    let mut file = input_of(&scene, b"head\ntail\n");
    file.seek(std::io::SeekFrom::Start(5)).unwrap();
    let call = scene.once("k --fingerprint stdin").sh("cat").stdin(file.try_clone().unwrap());
    call.stdout("tail\n").run();
    let mut rest = String::new();
    file.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "all of it was read");
}
