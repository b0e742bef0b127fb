//! `list` shows the keys that are asked for.

use rusqlite::Connection;

use crate::support::Scene;

/// The keys that a call of `list` shows, in its order.
fn listed(scene: &Scene, options: &str) -> Vec<String> {
    let list = scene.json(&format!("list --json {options}"));
    let keys = list.as_array().unwrap().iter();
    keys.map(|key| format!("{} {}", key["kind"].as_str().unwrap(), key["key"].as_str().unwrap()))
        .collect()
}

/// A scene with a key in each of four states, and a name.
fn varied() -> Scene {
    let scene = Scene::new();
    scene.once("done").sh("true").run();
    scene.once("failed").sh("exit 3").status(3).run();
    scene.interrupted("interrupted");
    scene.lease("name").sh("true").run();
    scene.once("dropped").sh("true").run();
    scene.call("forget dropped").run();
    scene
}

#[test]
fn list_shows_only_the_states_that_are_named() {
    let scene = varied();
    assert_eq!(listed(&scene, "").len(), 5);
    assert_eq!(listed(&scene, "--state done"), ["once done"]);
    assert_eq!(
        listed(&scene, "--state failed --state interrupted"),
        ["once interrupted", "once failed"]
    );
    assert_eq!(listed(&scene, "--state released"), ["lease name"]);
    assert_eq!(listed(&scene, "--state forgotten"), ["once dropped"]);
    assert_eq!(listed(&scene, "--state running"), [""; 0]);
    let call = scene.call("list --state fine").status(64);
    call.note(&["fine", "running", "interrupted", "released"]).run();
}

#[test]
fn list_shows_only_the_kind_that_is_named() {
    let scene = varied();
    assert_eq!(listed(&scene, "--kind lease"), ["lease name"]);
    assert_eq!(listed(&scene, "--kind once").len(), 4);
    let table = scene.call("list --kind lease").any_stdout().run().text();
    let rows: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["STATE", "AGE", "ATTEMPTS", "ENDED", "KIND", "NAMESPACE", "KEY"]);
    assert_eq!(rows.len(), 2, "{table}");
    assert_eq!(rows[1][0], "released");
    assert_eq!(rows[1][rows[1].len() - 3..], ["lease", "default", "name"]);
}

#[test]
fn list_shows_only_what_has_started_since_then() {
    let scene = Scene::new();
    scene.once("old").sh("true").run();
    scene.once("new").sh("true").run();
    let hour_ago = "UPDATE attempt SET started_ms = started_ms - 3600000 WHERE key = 'old'";
    let store = Connection::open(scene.store()).unwrap();
    assert_eq!(store.execute(hour_ago, []).unwrap(), 1);
    assert_eq!(listed(&scene, "--since 30m"), ["once new"]);
    assert_eq!(listed(&scene, "--since 2h"), ["once new", "once old"]);
    scene.call("list --since 0s").status(64).note(&["--since"]).run();
}
