//! What has to be acknowledged by a copy of a Redis, and is not.

use crate::support::servers::{Persistence, Redis};
use crate::support::{Scene, until};

/// A server with a copy that can be made deaf, and a scene on it.
struct Copied {
    scene: Scene,
    server: Redis,
    copy: Redis,
}

impl Copied {
    fn new() -> Self {
        let server = Redis::start(Persistence::EveryWrite);
        let copy = server.replica();
        let login = format!("redis://{}:{}@", Redis::USER, Redis::PASSWORD);
        let scene = Scene::on(server.fresh().replace("redis://", &login));
        scene.call("setup").run();
        Self { scene, server, copy }
    }

    /// Has the copy hear nothing more.
    fn deafen(&mut self) {
        assert_eq!(self.server.cli(&["WAIT", "1", "0"]), "1");
        self.copy.pause();
        assert_eq!(self.server.cli(&["CLIENT", "KILL", "TYPE", "replica"]), "1");
    }
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn a_claim_that_no_copy_has_heard_of_is_given_back_and_its_key_named() {
    let mut copied = Copied::new();
    copied.deafen();
    let scene = &copied.scene;
    let words = "--redis-wait 1 --store-timeout 1s --claim-ttl 1h --on-crash stop";
    let said = ["k: ", "given back", "0 of 1 replicas", "--redis-wait"];
    scene.attempt(&format!("k {words}")).status(125).note(&said).run();
    assert_eq!(scene.runs(), 0);
    // Nothing has run, so nobody has anything to decide, and nobody to wait.
    scene.attempt("k --on-crash stop").run();
    scene
        .begin("j --redis-wait 1 --store-timeout 1s --claim-ttl 1h")
        .status(125)
        .note(&["j: ", "given back"])
        .run();
    scene.attempt("j").run();
    let call = scene.held("n --redis-wait 1 --store-timeout 1s --ttl 1h");
    call.status(125).note(&["n: ", "given back"]).run();
    scene.held("n").run();
    assert_eq!(scene.runs(), 3);
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn what_waits_for_a_claim_that_no_copy_has_heard_of_gives_it_back_at_the_end() {
    let mut copied = Copied::new();
    let mut gate = copied.scene.gate();
    let holder = copied.scene.begun(copied.scene.hanging("k --claim-ttl 1h"));
    copied.deafen();
    let scene = &copied.scene;
    let words = "k -v --wait 4s --rerun --redis-wait 1 --store-timeout 1s --claim-ttl 1h";
    let waiter = scene.attempt(words).status(125).notes(&["k: ", "given back"]).spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    gate.open();
    holder.finish();
    waiter.finish();
    scene.behave(":");
    scene.attempt("k --rerun").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn an_end_that_no_copy_has_heard_of_is_not_called_unrecorded() {
    let mut copied = Copied::new();
    let mut gate = copied.scene.gate();
    let words = "--redis-wait 1 --store-timeout 1s --claim-ttl 4s";
    let call = copied.scene.hanging(&format!("k {words}")).status(74);
    let said = ["exit status 0", "has recorded", "0 of 1 replicas", "if a fail-over forgets it"];
    let holder = copied.scene.begun(call.notes(&said));
    let token = copied.scene.token("j");
    copied.deafen();
    gate.open();
    let told = holder.finish().complaint();
    assert!(!told.contains("complete"), "there is nothing to be settled: {told}");
    assert!(!told.contains("not be recorded"), "it is: {told}");
    assert!(!told.contains("cannot be recorded"), "it is: {told}");
    let scene = &copied.scene;
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1, "it is on record");

    let call = scene.with_token("complete j --redis-wait 1 --store-timeout 1s", &token);
    call.status(74).note(&["j: ", "the server has its end", "0 of 1 replicas"]).run();
    assert_eq!(scene.state("j"), "done");
}
