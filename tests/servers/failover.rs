//! Fail-overs of a Redis are best effort: what its copy has not heard of is undone, and
//! `doctor` says so. Whoever asks for an acknowledgement of every copy loses nothing.

use crate::support::servers::{Persistence, Redis};
use crate::support::{Scene, until};

/// A scene whose store is on this server.
fn scene(server: &Redis) -> Scene {
    let login = format!("redis://{}:{}@", Redis::USER, Redis::PASSWORD);
    let scene = Scene::on(server.fresh().replace("redis://", &login));
    scene.call("setup").run();
    scene
}

/// What `doctor` finds of the copies.
fn found(scene: &Scene, words: &str) -> (String, String) {
    let done = scene.call(&format!("doctor --json {words}")).unchecked().run();
    let document: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let mut checks = document["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["name"] == "replication").unwrap();
    let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
    (text("found"), text("remedy"))
}

/// Has a copy hear nothing more, then.
fn deafen(server: &Redis, copy: &mut Redis) {
    assert_eq!(server.cli(&["WAIT", "1", "0"]), "1");
    copy.pause();
    assert_eq!(server.cli(&["CLIENT", "KILL", "TYPE", "replica"]), "1");
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn a_claim_that_the_copy_has_not_heard_of_is_forgotten_in_a_fail_over_and_two_run() {
    let mut server = Redis::start(Persistence::EveryWrite);
    let mut copy = server.replica();
    let scene = scene(&server);
    let (told, remedy) = found(&scene, "");
    let words = "a fail-over may undo the last claims and records, and then two run";
    assert!(told.contains(words), "{told}");
    assert!(remedy.contains("--redis-wait 1"), "{remedy}");

    let mut gate = scene.gate();
    deafen(&server, &mut copy);
    let first = scene.begun(scene.hanging("k --claim-ttl 20s").status(69).any_stderr());
    server.kill();
    copy.resume();
    copy.take_over(&server);
    scene.behave("echo second");
    scene.attempt("k").stdout("second\n").run();
    assert_eq!(scene.runs(), 2, "it is best effort");
    // The first is told, and the second's record stays.
    gate.open();
    first.finish();
    scene.attempt("k").stdout("second\n").run();
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn whoever_asks_for_acknowledgements_runs_nothing_that_a_fail_over_forgets() {
    let mut server = Redis::start(Persistence::EveryWrite);
    let mut copy = server.replica();
    let scene = scene(&server);
    let (told, _) = found(&scene, "--redis-wait 1");
    assert!(told.contains("acknowledge every claim and every record"), "{told}");

    let mut gate = scene.gate();
    let words = "--claim-ttl 20s --redis-wait 1";
    let first = scene.begun(scene.hanging(&format!("heard {words}")).any_stderr());
    deafen(&server, &mut copy);
    let unheard = scene.attempt(&format!("unheard {words} --store-timeout 2s")).status(125);
    unheard.note(&["0 of 1 replicas", "acknowledged"]).run();
    assert_eq!(scene.runs(), 1, "what the copy has not heard of does not run");
    server.kill();
    copy.resume();
    copy.take_over(&server);
    scene.attempt("heard").status(75).note(&["held by"]).run();
    // There is no copy any more that could acknowledge the end.
    gate.open();
    until("it has tried", || !first.stderr_so_far().is_empty());
    let _next = copy.replica();
    first.finish();
    scene.attempt("heard").run();
    assert_eq!(scene.runs(), 1);
}
