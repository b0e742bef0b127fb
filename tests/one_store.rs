//! A store is one store whatever it is called by, and only as long as it is there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::processes::state;
use crate::support::{Scene, Signal, Stopped, until};

/// Longer than the shortest lease there is.
const PAST_THE_LEASE: Duration = Duration::from_millis(2600);

/// The store's path, and two more that lead to it: by a link to the file and by
/// one to its folder.
fn names(scene: &Scene) -> [PathBuf; 3] {
    let (file, folder) = (scene.path("linked.db"), scene.path("linked"));
    symlink(scene.store(), &file).unwrap();
    symlink(scene.state_folder(), &folder).unwrap();
    [scene.store(), file, folder.join("store.db")]
}

#[test]
fn a_holder_by_one_name_is_not_superseded_by_another() {
    let scene = Scene::new();
    scene.attempt("earlier").run();
    let names = names(&scene);
    let call = |at: usize, key: &str| {
        let call = scene.hanging(&format!("{key} --claim-ttl 2s"));
        call.env("DOUBLETAP_STORE", &names[at % names.len()])
    };
    let mut gate = scene.gate();
    let keys = ["path", "file", "folder"];
    let begin = |(at, key): (usize, &&str)| scene.begun(call(at, key));
    let holders: Vec<_> = keys.iter().enumerate().map(begin).collect();
    for holder in &holders {
        holder.signal(Signal::SIGSTOP);
        until("the wrapper has stopped", || state(holder.pid()) == Some('T'));
    }

    let start = Instant::now();
    until("the leases have run out", || {
        for (at, key) in keys.iter().enumerate() {
            call(at + 1, key).status(75).note(&[key]).run();
            call(at + 2, key).status(75).note(&[key]).run();
        }
        start.elapsed() > PAST_THE_LEASE
    });
    for holder in &holders {
        holder.signal(Signal::SIGCONT);
        gate.open();
    }
    crate::support::finished(holders);
    for (at, key) in keys.iter().enumerate() {
        call(at + 1, key).run();
    }
    assert_eq!(scene.runs(), 4, "each was replayed by another name");
    assert!(!scene.path("linked.db.live").exists());
}

/// Does something to the store while a command runs; its end must not be 0.
#[track_caller]
fn bereft(what: &str, mishap: impl Fn(&Scene)) {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo out");
    let call = scene.attempt("k").stdout("out\n").status(74);
    let running =
        scene.begun(call.notes(&["k", "doubletap complete k --unresolved --exit-code 0"]));
    mishap(&scene);
    gate.open();
    let done = running.finish();
    assert!(done.complaint().contains("store.db"), "{what}: {}", done.complaint());
}

#[test]
fn a_store_that_is_removed_in_mid_run_gives_74_and_the_line_that_settles_it() {
    bereft("the database alone", |scene| fs::remove_file(scene.store()).unwrap());
    bereft("every file", |scene| {
        for name in scene.state_files() {
            fs::remove_file(scene.state_folder().join(name)).unwrap();
        }
    });
    bereft("the whole folder", |scene| fs::remove_dir_all(scene.state_folder()).unwrap());
}

#[test]
fn a_store_that_another_has_taken_the_place_of_gives_74_too() {
    bereft("a fresh store in its place", |scene| {
        fs::remove_dir_all(scene.state_folder()).unwrap();
        fs::create_dir(scene.state_folder()).unwrap();
        scene.once("other").sh("true").run();
    });
    bereft("a copy in its place", |scene| {
        let copy = scene.state_folder().join("copy");
        fs::copy(scene.store(), &copy).unwrap();
        fs::rename(copy, scene.store()).unwrap();
    });
}

#[test]
fn what_such_a_command_failed_with_is_in_the_line_that_settles_it() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; exit 7");
    let call = scene.attempt("k --record any").status(74);
    let running = scene.begun(call.notes(&["complete k --unresolved --exit-code 7"]));
    fs::remove_dir_all(scene.state_folder()).unwrap();
    gate.open();
    running.finish();
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn a_store_that_is_replaced_while_it_is_opened_is_not_taken_for_the_new_one() {
    let scene = Scene::new();
    scene.attempt("earlier").run();
    let beside = |suffix: &str| scene.state_folder().join(format!("store.db{suffix}"));
    let call = scene.attempt("k").status(125).note(&["store.db", "removed or replaced"]);
    // The last of its files that is opened.
    let opening = Stopped::after(&scene, call, "openat", Some(&beside("-shm")));
    for suffix in ["", "-wal", "-shm"] {
        fs::rename(beside(suffix), scene.path(&format!("old{suffix}"))).unwrap();
    }
    scene.attempt("k").run();
    opening.go_on().finish();
    assert_eq!(scene.runs(), 2, "what is in the new store was run again");
}
