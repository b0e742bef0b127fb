//! A power cut: of the write-ahead log only what had been synced is left.
//!
//! `strace` tells how far the log was written when it was last synced. The log is cut
//! back to that, the wrapper and its command are killed, and the next call must find
//! what had been promised.

use std::fs;
use std::path::PathBuf;

use crate::support::damage::settled;
use crate::support::{Call, Scene};

fn wal(scene: &Scene) -> PathBuf {
    scene.state_folder().join("store.db-wal")
}

/// The call, with its writes and syncs noted in the file `trace`.
fn traced(call: Call<'_>) -> Call<'_> {
    let calls = "trace=pwrite64,lseek,write,ftruncate,fdatasync,fsync";
    call.through(["strace", "-f", "-y", "-s", "0", "-o", "trace", "-e", calls])
}

/// How many bytes of the log were certainly on the disk, by the trace.
fn synced_bytes(trace: &str) -> u64 {
    let (mut position, mut written, mut synced) = (0, 0, 0);
    for line in trace.lines() {
        let Some((_, call)) = line.split_once(' ') else { continue };
        let Some((name, arguments)) = call.trim_start().split_once('(') else { continue };
        if !arguments.split(',').next().is_some_and(|file| file.contains("store.db-wal>")) {
            continue;
        }
        let numbers = numbers(arguments);
        match (name, numbers.as_slice()) {
            ("lseek", [offset, ..]) => position = *offset,
            ("write", [length]) => {
                position += length;
                written = written.max(position);
            }
            ("pwrite64", [length, offset]) => written = written.max(offset + length),
            ("ftruncate", _) => (written, synced) = (0, 0),
            ("fdatasync" | "fsync", _) => synced = written,
            _ => panic!("not understood: {line}"),
        }
    }
    synced
}

/// The arguments that are numbers, without the result.
fn numbers(arguments: &str) -> Vec<u64> {
    let end = arguments.find(" <unfinished").or_else(|| arguments.rfind(')'));
    arguments[..end.unwrap_or(arguments.len())]
        .split(", ")
        .filter_map(|argument| argument.parse().ok())
        .collect()
}

/// Puts the database back as it was, with only the synced part of its log.
fn cut_power(scene: &Scene, database: &[u8], log: &[u8], synced: u64) {
    let kept = usize::try_from(synced).unwrap().min(log.len());
    fs::write(scene.store(), database).unwrap();
    fs::write(wal(scene), &log[..kept]).unwrap();
    let _ = fs::remove_file(scene.state_folder().join("store.db-shm"));
}

#[test]
fn the_trace_is_understood() {
    let trace = "\
        17 pwrite64(4</t/store.db-wal>, \"\"..., 32, 0) = 32\n\
        17 pwrite64(4</t/store.db-wal>, \"\"..., 24, 32) = 24\n\
        17 pwrite64(4</t/store.db-wal>, \"\"..., 4096, 56 <unfinished ...>\n\
        17 <... pwrite64 resumed>) = 4096\n\
        17 fdatasync(4</t/store.db-wal>) = 0\n\
        17 pwrite64(3</t/store.db>, \"\"..., 4096, 9000) = 4096\n\
        18 pwrite64(4</t/store.db-wal>, \"\"..., 24, 4152) = 24\n";
    assert_eq!(synced_bytes(trace), 4152);

    let trace = "\
        17 lseek(4</t/store.db-wal>, 4152, SEEK_SET) = 4152\n\
        17 write(4</t/store.db-wal>, \"\"..., 24) = 24\n\
        17 write(4</t/store.db-wal>, \"\"..., 4096) = 4096\n\
        17 fdatasync(4</t/store.db-wal>) = 0\n";
    assert_eq!(synced_bytes(trace), 4152 + 24 + 4096);
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn a_power_cut_during_the_run_does_not_lose_the_idempotency_key() {
    let scene = Scene::new();
    settled(&scene);
    let _gate = scene.gate();
    let running = scene.begun(traced(scene.hanging("k").unchecked()));
    let synced = synced_bytes(&scene.read("trace"));
    let database = fs::read(scene.store()).unwrap();
    let log = fs::read(wal(&scene)).unwrap();
    scene.kill_everybody();
    running.finish();
    assert!(synced > 0, "nothing had been synced when the command ran");

    cut_power(&scene, &database, &log, synced);
    scene.behave(":");
    scene.attempt("k -q").run();
    let keys = scene.keys();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1], "the operation's key was lost");
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn a_power_cut_on_a_fresh_store_loses_nothing_either() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let running = scene.begun(traced(scene.hanging("k").unchecked()));
    let synced = synced_bytes(&scene.read("trace"));
    let database = fs::read(scene.store()).unwrap();
    let log = fs::read(wal(&scene)).unwrap();
    scene.kill_everybody();
    running.finish();

    cut_power(&scene, &database, &log, synced);
    scene.behave(":");
    scene.attempt("k -q").run();
    let keys = scene.keys();
    assert_eq!(keys[0], keys[1], "the operation's key was lost");
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn a_power_cut_after_success_does_not_lose_the_record() {
    let scene = Scene::new();
    scene.behave("echo precious");
    traced(scene.attempt("k")).stdout("precious\n").run();
    let synced = synced_bytes(&scene.read("trace"));
    let database = fs::read(scene.store()).unwrap();
    let log = fs::read(wal(&scene)).unwrap_or_default();
    cut_power(&scene, &database, &log, synced);
    scene.attempt("k").stdout("precious\n").run();
    assert_eq!(scene.runs(), 1, "the record was lost");
}
