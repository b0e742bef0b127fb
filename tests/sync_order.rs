//! What is on the disk, and in which order it came there: `strace` looks on.

use crate::support::{Call, Scene};

/// The call, with what it does to files and processes noted in the file `trace`.
fn traced(call: Call<'_>) -> Call<'_> {
    let calls = "trace=openat,pwrite64,write,fdatasync,fsync,unlink,unlinkat,execve,exit_group";
    call.through(["strace", "-f", "-y", "-s", "16", "-o", "trace", "-e", calls])
}

/// The lines of a trace, searched from front to back.
struct Trace {
    lines: Vec<String>,
}

impl Trace {
    fn of(scene: &Scene) -> Self {
        let matters = |line: &&str| {
            let words = ["/state", "execve(", "exit_group("];
            words.iter().any(|word| line.contains(word)) && !line.contains("-shm>")
        };
        Self { lines: scene.read("trace").lines().filter(matters).map(str::to_owned).collect() }
    }

    /// The first line from `start` on, of a call that succeeded or whose end is
    /// further down, that has all of these words.
    #[track_caller]
    fn find(&self, start: usize, what: &str, words: &[&str]) -> usize {
        let found = |line: &String| {
            !line.contains(" = -1 ") && words.iter().all(|word| line.contains(word))
        };
        match self.lines[start..].iter().position(found) {
            Some(at) => start + at,
            None => panic!("after line {start} there is no {what}:\n{}", self.lines.join("\n")),
        }
    }

    /// The last line before `end` that has all of these words.
    #[track_caller]
    fn find_last(&self, end: usize, what: &str, words: &[&str]) -> usize {
        let found = |line: &String| words.iter().all(|word| line.contains(word));
        match self.lines[..end].iter().rposition(found) {
            Some(at) => at,
            None => panic!("before line {end} there is no {what}:\n{}", self.lines.join("\n")),
        }
    }

    /// Where the log is written a page of a frame.
    fn frame(&self, start: usize) -> usize {
        self.find(start, "frame in the log", &["write", "store.db-wal>", ", 2048"])
    }

    fn log_synced(&self, start: usize) -> usize {
        self.find(start, "sync of the log", &["fdatasync(", "store.db-wal>"])
    }
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn the_name_of_a_fresh_log_is_on_the_disk_before_what_is_written_to_it() {
    let scene = Scene::new();
    traced(scene.attempt("k")).run();
    let trace = Trace::of(&scene);
    let made = trace.find(0, "log", &["openat(", "store.db-wal\"", "O_CREAT"]);
    let synced = trace.log_synced(trace.frame(made));
    let folder = format!("<{}>", scene.state_folder().display());
    let named = trace.find(made, "sync of the folder", &["fsync(", &folder]);
    assert!(
        named < synced,
        "the log was synced in line {synced}, its folder in {named}:\n{}",
        trace.lines.join("\n")
    );
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn a_claim_is_on_the_disk_before_its_command_and_the_record_before_our_end() {
    let scene = Scene::new();
    scene.attempt("earlier").run();
    traced(scene.once("k").command(["echo", "out"])).stdout("out\n").run();
    let trace = Trace::of(&scene);
    let ours = trace.find(0, "start of ours", &["execve("]);
    let wrapper = trace.lines[ours].split(' ').next().unwrap().to_owned();
    let command = trace.find(ours + 1, "start of the command", &["execve(", "\"out\""]);
    let claimed = trace.frame(0);
    let synced = trace.log_synced(claimed);
    assert!(synced < command, "it was let go first:\n{}", trace.lines.join("\n"));
    // Nothing is written between the sync and the command that the sync does not cover.
    let last = trace.find_last(command, "frame", &["write", "store.db-wal>"]);
    assert!(last < trace.find_last(command, "sync", &["fdatasync(", "store.db-wal>"]));

    let end = trace.find(command, "end of ours", &[&format!("{wrapper} "), "exit_group("]);
    let recorded = trace.find_last(end, "frame", &["write", "store.db-wal>"]);
    assert!(command < recorded, "nothing was recorded:\n{}", trace.lines.join("\n"));
    let synced = trace.find_last(end, "sync", &["fdatasync(", "store.db-wal>"]);
    assert!(recorded < synced, "the record was not synced:\n{}", trace.lines.join("\n"));
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn a_replay_syncs_nothing() {
    let scene = Scene::new();
    scene.attempt("k").run();
    traced(scene.attempt("k")).run();
    let trace = Trace::of(&scene);
    let syncs: Vec<_> = trace.lines.iter().filter(|line| line.contains("sync(")).collect();
    assert!(syncs.is_empty(), "{syncs:?}");
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn a_large_output_and_its_name_are_on_the_disk_before_the_record_that_speaks_of_it() {
    let scene = Scene::new();
    scene.attempt("earlier").run();
    traced(scene.once("k").sh("head -c 3000000 /dev/zero")).any_stdout().run();
    let trace = Trace::of(&scene);
    let made = trace.find(0, "spool", &["openat(", ".out\"", "O_CREAT"]);
    let synced = trace.find(made, "sync of the spool", &["fdatasync(", ".out>"]);
    let folder = format!("<{}>", scene.state_folder().display());
    let named = trace.find(synced, "sync of the folder", &["fsync(", &folder]);
    let recorded = trace.frame(named);
    trace.log_synced(recorded);
    let between = &trace.lines[made..named];
    let early = between.iter().filter(|line| line.contains("store.db-wal>")).count();
    assert_eq!(early, 0, "the record came first:\n{}", trace.lines.join("\n"));
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn what_prune_removes_is_gone_for_good_before_its_file_is() {
    let scene = Scene::new();
    scene.once("k").sh("head -c 3000000 /dev/zero").any_stdout().run();
    crate::support::until("it is old enough", || {
        traced(scene.call("prune --older-than 0s --force")).run();
        scene.state("k") == "absent"
    });
    let trace = Trace::of(&scene);
    let unlinked = trace.find(0, "end of the spool", &["unlink", ".out\""]);
    let synced = trace.find_last(unlinked, "sync", &["fdatasync(", "store.db-wal>"]);
    let written = trace.find_last(unlinked, "frame", &["write", "store.db-wal>", ", 2048"]);
    assert!(written < synced, "it was not synced:\n{}", trace.lines.join("\n"));
}
