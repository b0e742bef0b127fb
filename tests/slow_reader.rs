//! A slow reader slows the command, and neither cuts it short nor keeps us from
//! anything else.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, fcntl};

use crate::support::processes::state;
use crate::support::{Scene, Signal, narrow_pipe, until};

/// What a pipe may be enlarged to by anybody (`/proc/sys/fs/pipe-max-size`).
const PIPE: i32 = 1 << 20;

/// More than twice what a pipe and a buffer of ours hold.
const OUTPUT: usize = 900_000;

/// What the reader takes before it rests: more than is on its way when the
/// command ends.
const FIRST: usize = 200_000;

/// Longer than output is waited for that comes after a command's end.
const PAST_THE_GRACE: Duration = Duration::from_millis(1500);

/// Set for the child that this test makes of itself.
const CHILD: &str = "WRITE_INTO_DESCRIPTOR_3";

const NAME: &str = "slow_reader::every_byte_of_an_enlarged_pipe_arrives_live_and_replayed";

fn output() -> Vec<u8> {
    (0..251).flat_map(|byte| [byte; 7]).cycle().take(OUTPUT).collect()
}

/// The command: enlarges its standard output, writes all of it at once, and ends.
fn write_all_at_once() {
    let mut pipe = OpenOptions::new().write(true).open("/proc/self/fd/3").unwrap();
    fcntl(&pipe, FcntlArg::F_SETPIPE_SZ(PIPE)).unwrap();
    std::fs::write("pid", std::process::id().to_string()).unwrap();
    pipe.write_all(&output()).unwrap();
    std::fs::write("written", "").unwrap();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that is its own child, and is told so")]
fn every_byte_of_an_enlarged_pipe_arrives_live_and_replayed() {
    if std::env::var_os(CHILD).is_some() {
        return write_all_at_once();
    }
    let scene = Scene::new();
    // The harness of the tests has words of its own for standard output.
    let script = format!(r#"exec "$TESTS" --exact {NAME} 3>&1 >/dev/null"#);
    let call = || {
        let call = scene.once("k").sh(&script).env(CHILD, "yes");
        call.env("TESTS", std::env::current_exe().unwrap()).any_stdout()
    };
    let (mut reader, writer) = std::io::pipe().unwrap();
    let running = call().stdout_into(File::from(OwnedFd::from(writer))).spawn();
    until("the command has written everything", || scene.path("written").exists());
    let command = scene.command_pid();
    until("the command has ended", || state(command).is_none());
    let mut live = vec![0; FIRST];
    reader.read_exact(&mut live).unwrap();
    let began = Instant::now();
    until("the reader has rested", || began.elapsed() > PAST_THE_GRACE);
    reader.read_to_end(&mut live).unwrap();
    running.finish();
    assert!(live == output(), "{} of {OUTPUT} bytes arrived", live.len());

    let replay = call().run().stdout;
    assert!(replay == live, "{} of {OUTPUT} bytes were replayed", replay.len());
}

#[test]
fn a_reader_that_does_not_read_delays_no_renewal_and_no_signal() {
    let scene = Scene::new();
    let (reader, writer) = std::io::pipe().unwrap();
    scene.behave("exec yes");
    let call = scene.attempt("k --claim-ttl 2s").dies_of(Signal::SIGTERM);
    let running = scene.begun(call.stdout_into(File::from(OwnedFd::from(writer))));
    let command = scene.command_pid();
    until("the command waits for the reader", || state(command) == Some('S'));
    let lease_end = || scene.lease_end("k");
    for _ in 0..2 {
        let before = lease_end();
        until("the lease is renewed", || lease_end() > before);
    }
    assert_eq!(state(command), Some('S'), "it is slowed, not failed");
    running.signal(Signal::SIGTERM);
    running.finish();
    drop(reader);
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn what_a_command_had_written_is_recorded_though_nobody_reads_it_and_its_call_is_told_to_end() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let half = "head -c 20000 /dev/zero";
    scene.behave(&format!("{half}; echo >half; read x <gate; {half}"));
    let (reader, writer) = narrow_pipe();
    let running = scene.attempt("k").stdout_into(writer).spawn();
    until("the reader takes no more", || {
        scene.path("half").exists() && running.waits_for_its_reader()
    });
    gate.open();
    until("the command has ended", || state(scene.command_pid()).is_none());
    running.signal(Signal::SIGTERM);
    running.finish();
    drop(reader);
    let replay = scene.attempt("k").any_stdout().run().stdout;
    assert_eq!((replay.len(), scene.runs()), (40_000, 1));
}

#[test]
fn a_timeout_is_one_though_nobody_reads() {
    let scene = Scene::new();
    let (reader, writer) = std::io::pipe().unwrap();
    scene.behave("exec yes");
    let call = scene.attempt("k --timeout 500ms").status(124).note(&["k", "500ms"]);
    call.stdout_into(File::from(OwnedFd::from(writer))).run();
    drop(reader);
    assert_eq!(state(scene.command_pid()), None);
}
