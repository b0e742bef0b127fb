//! Hosts reach their network's servers until they are cut off.

use jiff::Timestamp;

use crate::support::servers::{Host, Network, Persistence};
use crate::support::{Call, Scene, dynamic, until};

/// A statement by `psql`.
fn asked<'a>(scene: &'a Scene, url: &str) -> Call<'a> {
    let call = scene.call("").program("psql".as_ref());
    call.env("PGCONNECT_TIMEOUT", "2").arg(url).arg("-Atc").arg("SELECT 1").any_stderr()
}

#[test]
#[ignore = "needs root, iproute2 and postgresql: cargo test --features full -- --ignored servers::"]
fn a_host_that_is_cut_off_reaches_no_server_until_it_joins_again() {
    let scene = Scene::new();
    let network = Network::new();
    let server = network.postgres();
    let url = server.database();
    let [one, other] = [network.host(1, "one"), network.host(2, "two")];
    let answered =
        |host: &Host<'_>| asked(&scene, &url).through(host.through()).stdout("1\n").run();
    let refused = |host: &Host<'_>| asked(&scene, &url).through(host.through()).status(2).run();
    answered(&one);
    answered(&other);
    // From outside the network there is no way in.
    asked(&scene, &url).status(2).run();

    one.cut_off();
    refused(&one);
    answered(&other);
    one.join();
    answered(&one);
}

#[test]
#[ignore = "needs root, iproute2 and redis-server: cargo test --features full -- --ignored servers::"]
fn a_connection_outlives_a_short_cut() {
    let scene = Scene::new();
    let network = Network::new();
    let server = network.redis(Persistence::Memory);
    let host = network.host(1, "one");
    let url = server.url("p");
    let (address, _) = url.split_once('?').unwrap();
    let client = scene.call("").program("redis-cli".as_ref()).through(host.through());
    let client = client.arg("-u").arg(address).arg("BLPOP").arg("k").arg("0");
    let waiting = client.stdout("k\nv\n").spawn();
    until("the client waits", || server.cli(&["INFO", "clients"]).contains("blocked_clients:1"));
    host.cut_off();
    assert_eq!(server.cli(&["RPUSH", "k", "v"]), "1");
    host.join();
    waiting.finish();
}

#[test]
#[ignore = "needs root and iproute2: cargo test --features full -- --ignored servers::"]
fn hosts_have_names_of_their_own() {
    let scene = Scene::new();
    let network = Network::new();
    let [one, other] = [network.host(1, "one"), network.host(2, "two")];
    let uname = |through| scene.call("-n").program("uname".as_ref()).through(through);
    uname(one.through()).stdout("one\n").run();
    uname(other.through()).stdout("two\n").run();
}

#[test]
#[ignore = "needs root, iproute2 and libfaketime: cargo test --features full -- --ignored servers::"]
fn a_host_has_a_clock_of_its_own_and_what_it_runs_too() {
    let scene = Scene::new();
    let network = Network::new();
    let host = network.host(1, "one");
    let program = dynamic();
    for ahead in [180, -180] {
        let key = format!("k{ahead}");
        let right = Timestamp::now();
        let once = scene.once(&key).program(program).through(host.with_clock(ahead));
        let done = once.command(["date", "+%s"]).any_stdout().run();
        let seen: i64 = done.text().trim().parse().unwrap();
        let shown = scene.json(&format!("show {key} --json"));
        let kept: Timestamp = shown["attempts"][0]["started"].as_str().unwrap().parse().unwrap();
        for second in [seen, kept.as_second()] {
            let off = second - right.as_second() - i64::from(ahead);
            assert!((-1..60).contains(&off), "it was {off} s off");
        }
    }
}
