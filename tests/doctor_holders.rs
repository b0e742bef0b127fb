//! What `doctor` says of holders who are gone.

use rusqlite::Connection;

use crate::support::{Scene, Signal, until};

/// Types a command into a shell, where nothing tells which store is meant.
#[track_caller]
fn typed(scene: &Scene, line: &str) {
    let line = format!(r#"cd /; PATH="${{BIN%/*}}:$PATH"; {line}"#);
    scene.call("-c").program("sh".as_ref()).arg(line).without_env("DOUBLETAP_STORE").run();
}

#[test]
fn an_interrupted_attempt_is_named_with_what_settles_it() {
    let scene = Scene::new();
    scene.interrupted("k");
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    let found = checkup.found("holder", "note");
    assert!(found.starts_with("k: interrupted: its holder died (pid "), "{found}");
    let remedy = checkup.remedy("holder", "note");
    let (settle, forget) = remedy.split_once(", or to run it again: ").unwrap();
    let (next, settle) = settle.split_once(": ").unwrap();
    assert_eq!(next, "the next call runs it again; where that has --on-crash stop");
    assert!(settle.starts_with("doubletap complete k --unresolved --exit-code N --store "));
    assert!(forget.starts_with("doubletap forget k --store "), "{forget}");
    typed(&scene, &settle.replace("code N", "code 7"));
    assert!(scene.examined().found("holder", "ok").starts_with("0 running"));
}

#[test]
fn what_settles_a_key_of_another_namespace_names_it() {
    let scene = Scene::new();
    scene.interrupted("k --namespace it's");
    let remedy = scene.examined().remedy("holder", "note");
    let (_, forget) = remedy.split_once(", or to run it again: ").unwrap();
    typed(&scene, forget);
    scene.examined().found("holder", "ok");
    let elsewhere = scene.examined_with("--namespace other");
    elsewhere.found("holder", "ok");
}

#[test]
fn an_interrupted_lease_is_named_with_what_forgets_it() {
    let scene = Scene::new();
    let gate = scene.gate();
    scene.begun(scene.hanging_lease("n").unchecked()).kill();
    drop(gate);
    until("nobody is left of it", || scene.lease_state("n") == "interrupted");
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    let remedy = checkup.remedy("holder", "note");
    assert!(remedy.starts_with("doubletap forget n --kind lease --store "), "{remedy}");
    typed(&scene, &remedy);
    scene.examined().found("holder", "ok");
}

#[test]
fn a_command_without_its_wrapper_is_named_with_what_ends_it() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("trap '' TERM; kill -9 $PPID; echo >ready; read x <gate");
    scene.attempt("k").dies_of(Signal::SIGKILL).run();
    until("the command is ready", || scene.path("ready").exists());
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    assert!(checkup.found("holder", "note").starts_with("k: orphaned: "));
    let remedy = checkup.remedy("holder", "note");
    assert_eq!(remedy, format!("kill -- -{}", scene.command_pid()));
    typed(&scene, &remedy.replace("kill", "kill -s KILL"));
    until("nobody is left of it", || scene.state("k") == "interrupted");
}

#[test]
fn living_holders_are_counted_and_not_named() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let running = scene.holder("k");
    let found = scene.examined().found("holder", "ok");
    assert!(found.starts_with("1 running or held"), "{found}");
    gate.open();
    running.finish();
}

#[test]
fn after_ten_stale_holders_the_others_are_counted() {
    let scene = Scene::new();
    scene.interrupted("k");
    let store = Connection::open(scene.store()).unwrap();
    store.execute_batch("CREATE TEMP TABLE copy AS SELECT * FROM attempt").unwrap();
    for number in 1..=12 {
        store
            .execute_batch(&format!(
                "UPDATE copy SET fence = fence + 1, key = 'copy-{number}';
                 INSERT INTO attempt SELECT * FROM copy"
            ))
            .unwrap();
    }
    let checkup = scene.examined();
    let holders = checkup.all("holder");
    assert_eq!(holders.len(), 11, "{}", checkup.document);
    assert_eq!(holders[10]["found"], "and 3 more like these");
    let remedy = holders[10]["remedy"].as_str().unwrap().strip_prefix("doubletap ").unwrap();
    let listed = scene.call(remedy).any_stdout().run().text();
    assert_eq!(listed.lines().count(), 14, "a head and 13 keys: {listed}");
}

#[test]
fn what_came_from_outside_cannot_move_the_cursor() {
    let scene = Scene::new();
    scene.interrupted("k");
    let store = Connection::open(scene.store()).unwrap();
    store.execute("UPDATE attempt SET host = char(27) || '[2J'", []).unwrap();
    let text = scene.call("doctor").any_stdout().run().text();
    assert!(text.contains(r"\u{1b}[2J") && !text.contains('\u{1b}'), "{text}");
}
