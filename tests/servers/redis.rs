//! A Redis server does what its owner says.

use crate::support::servers::{Persistence, Redis};
#[cfg(feature = "redis")]
use crate::support::until;
use crate::support::{Call, Scene};

/// `redis-cli` from outside, by a URL without its query.
fn cli<'a>(scene: &'a Scene, url: &str, words: &str) -> Call<'a> {
    let (url, _) = url.split_once('?').unwrap();
    let call = scene.call("").program("redis-cli".as_ref()).arg("-u").arg(url);
    words.split(' ').fold(call, Call::arg).any_stderr()
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn every_store_has_a_prefix_of_its_own() {
    let server = Redis::shared();
    assert_ne!(server.fresh(), server.fresh());
    assert!(server.fresh().contains("?prefix=fresh"));
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn what_was_written_outlives_a_kill_if_it_was_kept_and_no_flush() {
    let scene = Scene::new();
    for (persistence, left) in [
        (Persistence::Memory, "\n"),
        (Persistence::EveryWrite, "v\n"),
        (Persistence::EverySecond, "v\n"),
    ] {
        let mut server = Redis::start(persistence);
        let url = server.url("p");
        cli(&scene, &url, "SET k v").stdout("OK\n").run();
        server.kill();
        cli(&scene, &url, "GET k").any_stdout().status(1).run();
        server.restart();
        cli(&scene, &url, "GET k").stdout(left).run();
        server.flush();
        server.stop();
        server.restart();
        cli(&scene, &url, "GET k").stdout("\n").run();
    }
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn a_user_needs_the_password_and_may_do_what_the_list_says() {
    let scene = Scene::new();
    let server = Redis::start(Persistence::Memory);
    let url = |user: &str, password: &str| {
        server.url("p").replace("redis://", &format!("redis://{user}:{password}@"))
    };
    cli(&scene, &url(Redis::USER, Redis::PASSWORD), "SET k v").stdout("OK\n").run();
    assert_eq!(server.cli(&["ACL", "SETUSER", "reader", "on", ">pw", "~*", "+get"]), "OK");
    cli(&scene, &url("reader", "pw"), "GET k").stdout("v\n").run();
    let refused = cli(&scene, &url("reader", "pw"), "SET k w").unchecked().run();
    assert!(refused.text().contains("NOPERM"), "{}", refused.text());
    let refused = cli(&scene, &url("reader", "wrong"), "GET k").unchecked().run();
    assert!(refused.text().contains("NOAUTH") || refused.complaint().contains("WRONGPASS"));
}

#[cfg(feature = "redis")]
#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn the_rights_that_the_readme_names_are_enough() {
    let line = include_str!("../../README.md").lines().find(|line| line.contains("ACL SETUSER"));
    let rights = line.unwrap().replace(">PASSWORD", ">pw");
    let server = Redis::start(Persistence::Memory);
    assert_eq!(server.cli(&rights.split_whitespace().collect::<Vec<_>>()), "OK");
    let scene = Scene::on(server.url("doubletap").replace("redis://", "redis://app:pw@"));
    scene.call("setup").run();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging("k --redis-wait 0"));
    let waiter = scene.attempt("k -v --wait 1m").any_stderr().spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    gate.open();
    holder.finish();
    waiter.finish();
    scene.once("big").sh("head -c 2000000 /dev/zero").any_stdout().run();
    scene.call("logs big").any_stdout().run();
    scene.lease("n").sh("true").run();
    for words in ["list", "show k", "stats", "forget k", "prune --older-than 1d"] {
        scene.call(words).any_stdout().any_stderr().run();
    }
    scene.call("doctor").any_stdout().unchecked().run();
    assert_eq!(server.cli(&["ACL", "LOG"]), "");
}

#[cfg(feature = "redis")]
#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn a_user_without_rights_is_given_them_as_the_sentence_says() {
    let server = Redis::start(Persistence::Memory);
    let rules = ["ACL", "SETUSER", "poor", "on", ">pw", "~other:*", "+@connection"];
    assert_eq!(server.cli(&rules), "OK");
    let scene = Scene::on(server.url("ours").replace("redis://", "redis://poor:pw@"));
    let said = scene.call("setup").status(125).note(&["NOPERM"]).run().complaint();
    let (_, typed) = said.trim().split_once("ACL SETUSER ").expect(&said);
    assert!(typed.starts_with("poor ~{ours}:* &{ours}:* +"), "{said}");
    let rules: Vec<_> = ["ACL", "SETUSER"].into_iter().chain(typed.split(' ')).collect();
    assert_eq!(server.cli(&rules), "OK");
    scene.call("setup").run();
    scene.once("k").sh("true").run();
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn its_certificate_is_of_its_own_authority() {
    let scene = Scene::new();
    let server = Redis::shared();
    let stranger = Redis::start(Persistence::Memory);
    let url = server.tls_url("p");
    let asked = |authority: &Redis| {
        let root = authority.authority();
        cli(&scene, &url, &format!("--cacert {} PING", root.display())).unchecked().run()
    };
    assert_eq!(asked(server).text(), "PONG\n");
    let by_another = asked(&stranger);
    assert!(by_another.complaint().contains("certificate verify failed"), "{}", by_another.text());
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn nobody_answers_in_a_pause_and_everybody_after_it() {
    let scene = Scene::new();
    let mut server = Redis::start(Persistence::Memory);
    server.pause();
    let hasty = cli(&scene, &server.url("p"), "PING").through(["timeout", "0.3"]);
    hasty.status(124).run();
    server.resume();
    cli(&scene, &server.url("p"), "PING").stdout("PONG\n").run();
}

#[test]
#[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
fn a_replica_takes_the_place_of_a_dead_primary_without_what_it_has_not_heard() {
    let scene = Scene::new();
    let mut primary = Redis::start(Persistence::EveryWrite);
    let mut replica = primary.replica();
    let url = primary.url("p");
    cli(&scene, &url, "SET k v").stdout("OK\n").run();
    assert_eq!(primary.cli(&["WAIT", "1", "0"]), "1");
    // What is written while the replica hears nothing is lost with the primary.
    replica.pause();
    assert_eq!(primary.cli(&["CLIENT", "KILL", "TYPE", "replica"]), "1");
    cli(&scene, &url, "SET k lost").stdout("OK\n").run();
    primary.kill();
    replica.resume();
    replica.take_over(&primary);
    cli(&scene, &url, "GET k").stdout("v\n").run();
    cli(&scene, &url, "SET k w").stdout("OK\n").run();
}
