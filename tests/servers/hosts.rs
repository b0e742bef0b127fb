//! Hosts reach their network's servers until they are cut off.

use crate::support::servers::{Host, Network, Persistence};
use crate::support::{Call, Scene, until};

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
#[ignore = "needs root, iproute2 and libfaketime: cargo test --features full -- --ignored servers::"]
fn hosts_have_names_and_clocks_of_their_own() {
    let scene = Scene::new();
    let network = Network::new();
    let [one, other] = [network.host(1, "one"), network.host(2, "two")];
    let uname = |through| scene.call("-n").program("uname".as_ref()).through(through);
    uname(one.through()).stdout("one\n").run();
    uname(other.through()).stdout("two\n").run();
    let time = |through| -> i64 {
        let date = scene.call("+%s").program("date".as_ref()).through(through);
        date.any_stdout().run().text().trim().parse().unwrap()
    };
    let (before, late) = (time(one.through()), time(other.with_clock(180)));
    assert!((180..220).contains(&(late - before)), "{before} and {late}");
    assert!(time(other.with_clock(-180)) < before);
}
