//! What goes wrong with a spool is told, costs the output and nothing else.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::large_output::spools;
use crate::support::{Scene, until};

/// A call of which a system call fails, through `strace`.
const INJECTED: [&str; 5] = ["strace", "-f", "-o", "trace", "-e"];

const MUCH: &str = "echo run >>runs; head -c 12000000 /dev/zero";

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn a_disk_that_fails_while_the_spool_is_written_is_told_and_never_believed() {
    for fault in ["sync_file_range:error=EIO:when=7", "fdatasync:error=EIO:when=2"] {
        let scene = Scene::new();
        scene.once("earlier").sh("true").run();
        let inject = format!("inject={fault}");
        let call = scene.once("k --claim-ttl 3s").sh(MUCH);
        let call = call.through(INJECTED).through([inject]).any_stdout();
        let live = call.notes(&["k", "output", "Input/output error"]).run();
        assert_eq!(live.stdout.len(), 12_000_000, "{fault}: the output is delivered");
        let replay = scene.once("k").sh(MUCH).any_stdout().note(&["of its output"]).run();
        assert!(replay.stdout.len() < 12_000_000);
        assert_eq!(scene.runs(), 1, "{fault}: its end is on record");
    }
}

#[test]
fn a_call_that_lacks_descriptors_says_so_and_never_prints_nothing_as_if_that_were_all() {
    let scene = Scene::new();
    scene.once("k").sh("echo out; echo err >&2").stdout("out\n").stderr("err\n").run();
    let mut whole = 0;
    for limit in 4..24 {
        let script = format!(r#"ulimit -n {limit}; exec "$@""#);
        for call in [scene.once("k").sh("echo out; echo err >&2"), scene.call("logs k")] {
            let done = call.through_sh(&script).unchecked().run();
            if done.code() == 0 {
                assert_eq!((done.text(), done.complaint()), ("out\n".into(), "err\n".into()));
                whole += 1;
            } else {
                assert!(!done.complaint().is_empty(), "at {limit} it said nothing");
            }
        }
    }
    assert!(whole > 10, "with enough of them all is well");
}

#[test]
fn a_time_limit_holds_however_few_descriptors_are_left() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let mut timeouts = 0;
    for limit in 12..40 {
        let script = format!(r#"ulimit -n {limit}; exec "$@""#);
        let call = scene.hanging(&format!("k{limit} --timeout 200ms --kill-after 100ms"));
        let done = call.through_sh(&script).unchecked().run();
        assert!([124, 125].contains(&done.code()), "at {limit} it ended with {}", done.code());
        timeouts += u32::from(done.code() == 124);
    }
    assert!(timeouts > 5, "with enough of them it can be run");
}

#[test]
fn what_has_been_written_can_be_read_though_nobody_reads_us() {
    let scene = Scene::new();
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let mut gate = scene.gate();
    scene.behave("echo hello; echo trouble >&2; read x <gate");
    // Its reader has had as much as a pipe holds, and takes no more.
    std::io::Write::write_all(&mut writer, &vec![b'x'; 65_536]).unwrap();
    let call = scene.attempt("k").stderr("trouble\n");
    let running = scene.begun(call.stdout_into(File::from(OwnedFd::from(writer))));
    until("it can be seen", || scene.call("logs k").unchecked().run().text() == "hello\n");
    let drained = std::thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        all.len()
    });
    gate.open();
    running.finish();
    assert_eq!(drained.join().unwrap(), 65_536 + 6);
}

#[test]
fn what_a_forgotten_command_left_behind_is_pruned_once_it_is_ended() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("head -c 3000000 /dev/zero; read x <gate");
    let call = scene.attempt("k --claim-ttl 2s").any_stdout().status(69).notes(&["lost"]);
    let running = scene.begun(call);
    until("it has spooled", || spools(&scene).len() == 1);
    scene.call("forget k --force").run();
    running.finish();
    until("it is older than that", || {
        scene.call("prune --older-than 0s --force").run();
        scene.state("k") == "absent"
    });
    assert!(spools(&scene).is_empty());
}

#[test]
fn logs_of_a_damaged_output_say_so() {
    let scene = Scene::new();
    scene.once("k").sh("head -c 2000000 /dev/zero").any_stdout().run();
    let [file] = &spools(&scene)[..] else { panic!("{:?}", scene.state_files()) };
    File::options().write(true).open(file).unwrap().set_len(1_000_000).unwrap();
    let call = scene.call("logs k").any_stdout().status(125);
    call.note(&["k", "damaged", "of its 2000000 bytes"]).run();
    fs::remove_file(file).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", file).unwrap();
    scene.call("logs k").status(125).note(&["k"]).run();
}

#[test]
fn a_limit_of_the_files_size_costs_what_is_beyond_it() {
    let scene = Scene::new();
    let script = r#"{ ulimit -f 4000; "$@"; echo "ended with $?" >&2; } | wc -c"#;
    let done = scene.once("k").sh("echo run >>runs; head -c 5000000 /dev/zero");
    let done = done.through_sh(script).unchecked().run();
    assert_eq!(done.text(), "5000000\n", "the output is delivered");
    let told = done.complaint();
    assert!(told.contains("bytes of its output are kept"), "{told}");
    assert!(told.ends_with("ended with 0\n"), "{told}");
    let replay = scene.once("k").sh("echo run >>runs; head -c 5000000 /dev/zero");
    let replay = replay.any_stdout().note(&["only the first"]).run();
    assert!(replay.stdout.len() >= 1 << 20, "{} bytes are kept", replay.stdout.len());
    assert_eq!(scene.runs(), 1);
}

#[test]
fn the_umask_does_not_reach_the_spool() {
    let scene = Scene::new();
    let call = scene.once("k").sh("head -c 2000000 /dev/zero").any_stdout();
    call.through_sh(r#"umask 0777; exec "$@""#).run();
    let replay = scene.once("k").sh("head -c 2000000 /dev/zero").any_stdout().run();
    assert_eq!(replay.stdout.len(), 2_000_000);
    let mode = fs::metadata(&spools(&scene)[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_spools_of_a_store_with_an_odd_name_are_pruned_and_a_name_too_long_is_refused() {
    let scene = Scene::new();
    let mut odd = scene.state_folder().into_os_string().into_vec();
    odd.extend_from_slice(b"/a\xff b.db");
    let odd = std::ffi::OsString::from_vec(odd);
    let call = scene.once("k").sh("head -c 2000000 /dev/zero").any_stdout();
    call.env("DOUBLETAP_STORE", &odd).run();
    assert_eq!(spools(&scene).len(), 1);
    until("it is older than that", || {
        let call = scene.call("prune --older-than 0s --force").env("DOUBLETAP_STORE", &odd);
        call.run();
        spools(&scene).is_empty()
    });
    let long = scene.state_folder().join("x".repeat(201));
    let call = scene.attempt("k").env("DOUBLETAP_STORE", long);
    call.status(125).note(&["longer than 200 bytes", "--store"]).run();
    assert_eq!(scene.runs(), 0);
}
