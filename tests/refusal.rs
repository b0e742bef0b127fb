//! A store that cannot be used: a sentence that names the remedy, 125, and nothing runs.

use rusqlite::Connection;

use crate::support::Scene;
use crate::support::damage::{DAMAGES, mode};

#[test]
fn nothing_runs_on_a_store_that_cannot_be_used() {
    for damage in &DAMAGES {
        let scene = Scene::new();
        damage.inflict(&scene);
        let done = scene.attempt("k").unchecked().run();
        let complaint = done.complaint();
        assert_eq!(done.code(), 125, "{}: {complaint}", damage.name);
        assert_eq!(scene.runs(), 0, "the command ran on {}", damage.name);
        assert!(
            complaint.starts_with("doubletap: ")
                && complaint.lines().count() == 1
                && complaint.contains(damage.remedy),
            "about {} it said, without {:?}: {complaint}",
            damage.name,
            damage.remedy
        );
        assert!(done.stdout.is_empty(), "{}", damage.name);
    }
}

#[test]
fn every_verb_refuses_a_store_that_cannot_be_used() {
    for damage in DAMAGES.iter().filter(|damage| damage.remedy != "state") {
        let scene = Scene::new();
        damage.inflict(&scene);
        for words in ["forget k", "complete k --unresolved", "prune --older-than 30d"] {
            if damage.name == "a folder that everybody may write in" && !scene.store().exists() {
                continue;
            }
            let done = scene.call(words).unchecked().run();
            let complaint = done.complaint();
            assert_eq!(done.code(), 125, "{words} on {}: {complaint}", damage.name);
            assert!(complaint.starts_with("doubletap: "), "{complaint}");
        }
    }
}

#[test]
fn a_damaged_store_is_left_as_it_is() {
    let scene = Scene::new();
    let garbage = "precious, though no database\n".repeat(300);
    std::fs::write(scene.store(), &garbage).unwrap();
    scene.attempt("k").status(125).note(&["store.db"]).run();
    assert_eq!(std::fs::read_to_string(scene.store()).unwrap(), garbage);
}

#[test]
fn a_world_writable_folder_with_the_sticky_bit_is_fine() {
    let scene = Scene::new();
    mode(&scene.state_folder(), 0o1777);
    scene.attempt("k").run();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn an_empty_file_becomes_a_store() {
    let scene = Scene::new();
    std::fs::write(scene.store(), "").unwrap();
    mode(&scene.store(), 0o600);
    scene.attempt("k").run();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_folder_that_may_not_be_written_runs_nothing() {
    let scene = Scene::new();
    mode(&scene.state_folder(), 0o500);
    if std::fs::write(scene.state_folder().join("probe"), "").is_ok() {
        std::fs::remove_file(scene.state_folder().join("probe")).unwrap();
        return; // Root may write everywhere; `disk` shows a read-only medium to it.
    }
    scene.attempt("k").status(125).note(&["state"]).run();
    assert_eq!(scene.runs(), 0);
    scene.attempt("k --fail-open").notes(&["state"]).run();
    assert_eq!(scene.runs(), 1);
    mode(&scene.state_folder(), 0o700);
}

#[test]
fn a_store_that_stays_locked_is_given_up_after_the_store_timeout() {
    let scene = Scene::new();
    scene.once("earlier").sh("true").run();
    let foreign = Connection::open(scene.store()).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    let call = scene.attempt("k --store-timeout 200ms");
    call.status(125).note(&["store"]).run();
    assert_eq!(scene.runs(), 0);
    foreign.execute_batch("ROLLBACK").unwrap();
    scene.attempt("k --store-timeout 200ms").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_store_that_is_locked_for_a_moment_is_waited_for() {
    let scene = Scene::new();
    scene.once("earlier").sh("true").run();
    let foreign = Connection::open(scene.store()).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut blocked = scene.attempt("k --store-timeout 60s").spawn();
    let start = std::time::Instant::now();
    crate::support::until("it has been blocked for a while", || {
        assert!(blocked.is_under_way(), "it did not wait for the store");
        start.elapsed() > std::time::Duration::from_millis(300)
    });
    assert_eq!(scene.runs(), 0);
    foreign.execute_batch("ROLLBACK").unwrap();
    blocked.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_replay_needs_no_write_lock() {
    let scene = Scene::new();
    scene.attempt("k").run();
    let foreign = Connection::open(scene.store()).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    scene.attempt("k --store-timeout 200ms").run();
    foreign.execute_batch("ROLLBACK").unwrap();
    assert_eq!(scene.runs(), 1);
}
