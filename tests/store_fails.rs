//! A store that fails while a command runs: the output is delivered, and what
//! can be recorded is; else 74, and a line that settles it by hand.

use rusqlite::Connection;

use crate::support::{Call, Done, Scene, until};

/// The line that settles it, as it was printed.
fn settling_line(complaint: &str) -> String {
    let line = complaint.lines().find(|line| line.contains("to record it by hand: ")).unwrap();
    line.rsplit("by hand: ").next().unwrap().to_owned()
}

/// Types what was printed; then the key must be replayed with that status.
#[track_caller]
fn settle(scene: &Scene, printed: &Done, status: i32) {
    let line = settling_line(&printed.complaint());
    assert!(line.starts_with("doubletap complete k --unresolved"), "{line}");
    let script = line.replacen("doubletap", "\"$BIN\"", 1);
    scene.call("-c").program("sh".as_ref()).arg(script).run();
    let runs = scene.runs();
    scene.attempt("k --record any").status(status).run();
    assert_eq!((scene.state("k").as_str(), scene.runs()), ("done", runs));
}

/// Another program's write lock.
fn foreign_lock(scene: &Scene) -> Connection {
    let connection = Connection::open(scene.store()).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

/// An attempt with a short lease that says something and ends with 3.
fn brief(scene: &Scene) -> Call<'_> {
    scene.behave("read x <gate; echo out; exit 3");
    scene.attempt("k --record any --claim-ttl 2s --store-timeout 100ms")
}

#[test]
fn a_foreign_lock_that_outlasts_the_lease_gives_74_and_the_line_that_settles_it() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let running = scene.begun(brief(&scene).stdout("out\n").status(74).notes(&["k", "locked"]));
    let lock = foreign_lock(&scene);
    gate.open();
    let done = running.finish();
    drop(lock);
    settle(&scene, &done, 3);
}

#[test]
fn a_foreign_lock_that_is_let_go_of_in_time_costs_a_warning_and_nothing_else() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo out");
    let call = scene.attempt("k --claim-ttl 30s --store-timeout 50ms").stdout("out\n");
    let running = scene.begun(call.note(&["k", "cannot be recorded yet", "locked"]));
    let lock = foreign_lock(&scene);
    gate.open();
    until("it has told of the lock", || running.stderr_so_far().ends_with(b"\n"));
    drop(lock);
    running.finish();
    scene.attempt("k").stdout("out\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_renewal_that_fails_is_told_once_and_the_command_goes_on() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let call = scene.hanging("k --claim-ttl 2s --store-timeout 50ms");
    let running = scene.begun(call.note(&["k", "cannot be renewed at present", "locked"]));
    let lock = foreign_lock(&scene);
    until("it has told of the lock", || running.stderr_so_far().ends_with(b"\n"));
    drop(lock);
    let before = scene.lease_end("k");
    until("it is renewed again", || scene.lease_end("k") > before);
    gate.open();
    running.finish();
    assert_eq!(scene.state("k"), "done");
}

/// Files of the store, made immutable by the command itself.
#[track_caller]
fn immutable(files: &str) {
    let scene = Scene::new();
    let chattr = |sign: &str| {
        format!("for end in {files}; do chattr {sign}i $STATE/store.db$end || exit 99; done")
    };
    scene.behave(&format!("{}; echo out; exit 3", chattr("+")));
    let call = scene.attempt("k --record any --claim-ttl 2s --store-timeout 100ms");
    let done = call.stdout("out\n").status(74).notes(&["k", "cannot be written"]).run();
    scene.call("-c").program("sh".as_ref()).arg(chattr("-")).run();
    settle(&scene, &done, 3);
}

#[test]
#[ignore = "needs root and chattr on the temporary folder: cargo test -- --ignored"]
fn a_store_that_becomes_immutable_gives_74_and_the_line_that_settles_it() {
    immutable("'' -wal -shm .live");
    immutable("''");
    immutable("-wal");
    immutable("-shm");
}

#[test]
#[ignore = "needs root and chattr on the temporary folder: cargo test -- --ignored"]
fn a_large_output_of_an_immutable_store_can_still_be_looked_at() {
    let scene = Scene::new();
    scene.behave("chattr +i $STATE/store.db-wal || exit 99; yes | head -c 3000000");
    let call = scene.attempt("k --claim-ttl 2s --store-timeout 100ms").any_stdout();
    let done = call.status(74).notes(&["k", "cannot be written"]).run();
    assert_eq!(done.stdout.len(), 3_000_000);
    let wal = scene.state_folder().join("store.db-wal");
    scene.call("-i").program("chattr".as_ref()).arg(wal).run();
    assert_eq!(scene.call("logs k").any_stdout().run().stdout.len(), 3_000_000);
}
