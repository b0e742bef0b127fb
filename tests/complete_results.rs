//! `complete --result`: any bytes, any number of them, and a command that judges them.

use std::io::{PipeWriter, Read as _, Write as _};
use std::os::fd::OwnedFd;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::large_output::spools;
use crate::support::processes::peak_memory_kb;
use crate::support::{Running, Scene, finished, input_of, until};

/// What a call may take up, whatever the result.
const MEMORY_KB: u64 = 16 << 10;

/// More than the tables take.
const LARGE: usize = 2_000_000;

fn large() -> Vec<u8> {
    (0..=255_u8).chain(0..=250).cycle().take(LARGE).collect()
}

#[test]
fn a_result_comes_from_a_file_or_from_standard_input() {
    let scene = Scene::new();
    let bytes = b"\x00\xfe\xff\n";
    scene.write("result", bytes);
    let token = scene.token("file");
    scene.with_token("complete file --result result", &token).run();
    let token = scene.token("stdin");
    let call = scene.with_token("complete stdin --result -", &token);
    call.stdin(input_of(&scene, bytes)).run();
    for key in ["file", "stdin"] {
        scene.begin(&format!("{key} --claim-ttl 1h")).status(10).stdout(bytes).run();
        scene.call(&format!("logs {key}")).stdout(bytes).run();
    }
}

#[test]
fn a_result_that_cannot_be_read_records_nothing_and_the_claim_stays() {
    let scene = Scene::new();
    let token = scene.token("k");
    let call = scene.with_token("complete k --result absent", &token);
    call.status(125).note(&["k: its result absent"]).run();
    let call = scene.with_token("complete k --result .", &token);
    call.status(74).note(&["k: its result .", "cannot be kept"]).run();
    let call = scene.call("complete k --token").arg(&token).arg("--result=").status(64);
    call.note(&["--result"]).run();
    assert_eq!(scene.state("k"), "running");
    scene.with_token("complete k", &token).run();
}

#[test]
fn a_large_result_is_a_file_and_given_again_byte_for_byte() {
    let scene = Scene::new();
    let result = large();
    scene.write("result", &result);
    let token = scene.token("k");
    for _ in 0..2 {
        scene.with_token("complete k --result result", &token).run();
    }
    assert_eq!(spools(&scene).len(), 1);
    scene.begin("k --claim-ttl 1h").status(10).stdout(&result).run();
    scene.write("result", &result[1..]);
    let call = scene.with_token("complete k --result result", &token).status(69);
    call.note(&["already_done"]).run();
    scene.begin("k --claim-ttl 1h").status(10).stdout(&result).run();
}

#[test]
fn a_hundred_megabytes_take_no_memory_neither_recorded_nor_given_again() {
    const PIECES: usize = 100;
    let scene = Scene::new();
    let piece: Vec<u8> = large().into_iter().take(1 << 20).collect();
    let token = scene.token("k");
    let (reader, mut writer) = std::io::pipe().unwrap();
    let call = scene.with_token("complete k --result -", &token);
    let running = call.stdin(OwnedFd::from(reader).into()).spawn();
    for _ in 0..PIECES {
        writer.write_all(&piece).unwrap();
    }
    let recorded = peak_memory_kb(running.pid());
    drop(writer);
    running.finish();

    let (mut reader, writer) = std::io::pipe().unwrap();
    let call = scene.begin("k --claim-ttl 1h").status(10);
    let running = call.stdout_into(OwnedFd::from(writer).into()).spawn();
    let mut given = vec![0; 1 << 20];
    for _ in 0..PIECES - 1 {
        reader.read_exact(&mut given).unwrap();
        assert!(given == piece, "it is not what was recorded");
    }
    let played = peak_memory_kb(running.pid());
    given.clear();
    reader.read_to_end(&mut given).unwrap();
    assert!(given == piece, "it is not what was recorded");
    running.finish();
    assert!(recorded < MEMORY_KB && played < MEMORY_KB, "{recorded} kB, then {played} kB");
}

/// A call that reads a large result from a pipe whose end is still to come.
#[track_caller]
fn half_read(scene: &Scene, token: &str) -> (Running, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let call = scene.with_token("complete k --result -", token).unchecked();
    let running = call.stdin(OwnedFd::from(reader).into()).spawn();
    writer.write_all(&large()).unwrap();
    (running, writer)
}

#[test]
fn a_call_that_was_killed_while_it_read_hinders_no_other() {
    let scene = Scene::new();
    let token = scene.token("k");
    let (running, writer) = half_read(&scene, &token);
    running.kill();
    drop(writer);
    assert_eq!(scene.state("k"), "running");
    let result = large();
    scene.write("result", &result);
    scene.with_token("complete k --result result", &token).run();
    scene.begin("k --claim-ttl 1h").status(10).stdout(&result).run();
    scene.call("prune --older-than 1h --force").run();
    assert_eq!(spools(&scene).len(), 1, "and leaves nothing once it is pruned");
}

#[test]
fn whoever_reads_a_large_result_for_long_does_not_touch_what_another_recorded_meanwhile() {
    let scene = Scene::new();
    let token = scene.token("k");
    let (running, mut writer) = half_read(&scene, &token);
    let result = vec![7; LARGE];
    scene.write("result", &result);
    scene.with_token("complete k --result result", &token).run();
    writer.write_all(b"and more").unwrap();
    drop(writer);
    let done = running.finish();
    assert_eq!(done.code(), 69, "{}", done.complaint());
    assert!(done.complaint().contains("k: already_done"), "{}", done.complaint());
    scene.begin("k --claim-ttl 1h").status(10).stdout(&result).run();
}

#[test]
fn a_small_result_beside_a_large_one_is_whole_too() {
    let scene = Scene::new();
    let token = scene.token("k");
    let (running, writer) = half_read(&scene, &token);
    scene.write("result", "small");
    scene.with_token("complete k --result result", &token).run();
    drop(writer);
    assert_eq!(running.finish().code(), 69);
    scene.begin("k --claim-ttl 1h").status(10).stdout("small").run();
}

#[test]
fn a_validator_sees_the_result_and_accepts_it_in_silence() {
    let scene = Scene::new();
    scene.write("result", "result\n");
    let token = scene.token("k");
    let call = scene
        .call("complete k --result result --token")
        .arg(&token)
        .arg("--validate")
        .arg("echo not wanted; cat >seen; grep -q . seen");
    call.run();
    assert_eq!(scene.read("seen"), "result\n");
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn a_refused_result_is_a_failed_attempt_and_the_next_begin_is_fresh() {
    let scene = Scene::new();
    scene.write("result", "result\n");
    let token = scene.token("k");
    let refuse = || {
        let call = scene.call("complete k --json --result result --token").arg(&token);
        call.arg("--validate").arg("cat >/dev/null; exit 4").any_stdout()
    };
    let done =
        refuse().status(76).note(&["k: --validate refused", "exit status 4", "not recorded"]).run();
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["status"], "refused");
    let attempt = &scene.json("show k --json")["attempts"][0];
    assert_eq!((&attempt["state"], &attempt["exit_code"]), (&"failed".into(), &76.into()));
    scene.call("logs k").stdout("result\n").run();
    refuse().status(69).note(&["k: already_done"]).run();
    scene.token("k");
    assert_eq!(scene.json("show k --json")["attempts"][0]["attempt"], 2);
}

#[test]
fn only_a_success_is_judged_and_only_what_there_is() {
    let scene = Scene::new();
    scene.write("result", "result\n");
    let token = scene.token("k");
    let call = scene.call("complete k --exit-code 3 --result result --token").arg(&token);
    call.arg("--validate").arg("exit 1").run();
    assert_eq!(scene.state("k"), "done");
    let token = scene.token("other");
    let call = scene.call("complete other --token").arg(&token).arg("--validate").arg("true");
    call.status(64).note(&["--result"]).run();
    assert_eq!(scene.state("other"), "running");
}

#[test]
fn a_result_that_is_still_being_written_is_waited_for() {
    let scene = Scene::new();
    mkfifo(&scene.path("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let token = scene.token("k");
    let running = scene.with_token("complete k --result pipe", &token).spawn();
    let mut writer = std::fs::OpenOptions::new().write(true).open(scene.path("pipe")).unwrap();
    writer.write_all(b"first ").unwrap();
    assert_eq!(scene.state("k"), "running");
    writer.write_all(b"last").unwrap();
    drop(writer);
    finished([running]);
    until("it is recorded", || scene.state("k") == "done");
    scene.begin("k --claim-ttl 1h").status(10).stdout("first last").run();
}

#[test]
fn a_result_that_is_not_recorded_leaves_no_file() {
    let scene = Scene::new();
    let token = scene.token("k");
    let store = rusqlite::Connection::open(scene.store()).unwrap();
    scene.write("result", vec![b'x'; 3 << 20]);
    let before = scene.state_files();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    let words = "complete k --result result --store-timeout 100ms";
    scene.with_token(words, &token).status(74).note(&["k: its end could not be recorded"]).run();
    store.execute_batch("ROLLBACK").unwrap();
    assert_eq!(scene.state_files(), before);
    scene.with_token("complete k --json", &token).stdout_into(full()).status(73).any_stderr().run();
    assert_eq!(scene.state("k"), "done");
}

fn full() -> std::fs::File {
    std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
}
