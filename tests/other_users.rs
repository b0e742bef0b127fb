//! Another user's store: root may read it and leaves no trace, everybody else is refused.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rusqlite::Connection;

use crate::support::damage::mode;
use crate::support::{BIN, Call, Scene};

/// A user who owns nothing else.
const SOMEBODY: &str = "65534";

/// A copy of the program where every user can reach it.
fn shared_program(scene: &Scene) -> PathBuf {
    mode(&scene.root(), 0o755);
    mode(&scene.work(), 0o1777);
    mode(&scene.root().join("out"), 0o1777);
    let program = scene.root().join("doubletap");
    fs::copy(BIN, &program).unwrap();
    mode(&program, 0o755);
    program
}

/// Makes the call as another user.
fn run_as<'scene>(user: &str, call: Call<'scene>) -> Call<'scene> {
    call.through(["setpriv", "--reuid", user, "--regid", user, "--clear-groups"])
}

/// A scene with a store of `SOMEBODY`'s that holds one record.
fn scene_of_somebody() -> (Scene, PathBuf) {
    let scene = Scene::new();
    let program = shared_program(&scene);
    let owner: u32 = SOMEBODY.parse().unwrap();
    std::os::unix::fs::chown(scene.state_folder(), Some(owner), Some(owner)).unwrap();
    let call = scene.once("k").sh("echo hi").program(&program);
    run_as(SOMEBODY, call).stdout("hi\n").run();
    (scene, program)
}

/// Name, owner and mode of everything in the store's folder.
fn inventory(scene: &Scene) -> BTreeMap<String, (u32, u32)> {
    let entry = |name: String| {
        let metadata = fs::metadata(scene.state_folder().join(&name)).unwrap();
        (name, (metadata.uid(), metadata.mode()))
    };
    scene.state_files().into_iter().map(entry).collect()
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn root_reads_another_users_store_and_creates_nothing() {
    let (scene, program) = scene_of_somebody();
    let before = inventory(&scene);
    assert_eq!(scene.state("k"), "done");
    assert_eq!(scene.json("list --json")[0]["key"], "k");
    assert_eq!(inventory(&scene), before);
    let call = scene.once("k").sh("echo hi").program(&program);
    run_as(SOMEBODY, call).stdout("hi\n").run();
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn root_does_not_run_on_another_users_store() {
    let (scene, _) = scene_of_somebody();
    let before = inventory(&scene);
    scene.attempt("fresh").status(125).note(&["store.db"]).run();
    assert_eq!(scene.runs(), 0);
    scene.call("forget k").status(125).note(&["store.db"]).run();
    scene.call("prune --older-than 1s --force").status(125).note(&["store.db"]).run();
    assert_eq!(inventory(&scene), before);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn another_user_is_refused() {
    let (scene, program) = scene_of_somebody();
    mode(&scene.state_folder(), 0o755);
    let before = inventory(&scene);
    for words in ["show k", "list", "forget k"] {
        let call = scene.call(words).program(&program);
        run_as("65533", call).status(125).note(&["store.db"]).run();
    }
    let call = scene.attempt("k").program(&program);
    run_as("65533", call).status(125).note(&["store.db"]).run();
    assert_eq!(scene.runs(), 0);
    assert_eq!(inventory(&scene), before);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_store_of_ours_in_somebody_elses_sticky_folder_is_ours() {
    let scene = Scene::new();
    let program = shared_program(&scene);
    mode(&scene.state_folder(), 0o1777);
    let call = scene.once("k").sh("echo hi").program(&program);
    run_as(SOMEBODY, call).stdout("hi\n").run();
    let call = scene.once("k").sh("echo hi").program(&program);
    run_as(SOMEBODY, call).stdout("hi\n").run();
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn an_ordinary_user_runs_and_replays() {
    let scene = Scene::new();
    let program = shared_program(&scene);
    let owner: u32 = SOMEBODY.parse().unwrap();
    std::os::unix::fs::chown(scene.state_folder(), Some(owner), Some(owner)).unwrap();
    for _ in 0..2 {
        let call = scene.once("k").sh("echo run >>ordinary; id -u");
        let call = run_as(SOMEBODY, call.program(&program));
        call.stdout(format!("{SOMEBODY}\n")).run();
    }
    assert_eq!(scene.read("ordinary"), "run\n");
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn root_reads_another_users_store_of_an_older_version_and_changes_nothing() {
    let scene = Scene::new();
    let owner: u32 = SOMEBODY.parse().unwrap();
    std::os::unix::fs::chown(scene.state_folder(), Some(owner), Some(owner)).unwrap();
    let store = Connection::open(scene.store()).unwrap();
    store.execute_batch(include_str!("data/v1.sql")).unwrap();
    store.close().unwrap();
    std::os::unix::fs::chown(scene.store(), Some(owner), Some(owner)).unwrap();
    mode(&scene.store(), 0o600);
    let (before, bytes) = (inventory(&scene), fs::read(scene.store()).unwrap());
    assert_eq!(scene.json("list --json").as_array().map(Vec::len), Some(5));
    assert_eq!(scene.json("stats --json")["attempts"]["count"], 6);
    assert_eq!(scene.state("done"), "expired");
    let call = scene.call("logs done").status(125).stdout("hello\n");
    call.note(&["6 of its 13 bytes"]).run();
    scene.call("begin k --claim-ttl 1h").status(125).note(&["store.db"]).run();
    assert_eq!(inventory(&scene), before);
    assert!(fs::read(scene.store()).unwrap() == bytes, "its bytes changed");
}
