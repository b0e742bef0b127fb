//! Two hosts whose clocks are minutes apart, and one store.

use std::time::Duration;

use jiff::{Timestamp, tz::TimeZone};

use super::engine::Engine;
use crate::support::processes::{destroy, is_alive};
use crate::support::servers::{Host, Network};
use crate::support::{Call, Scene, dynamic, until};

every_server_of_hosts!(
    one_host_runs_and_the_other_waits_and_replays,
    what_a_dead_host_held_is_taken_when_its_lease_is_over_and_no_sooner,
    a_period_is_the_same_on_both_sides_of_midnight,
);

/// Half of how far the two clocks are apart, in seconds.
const AHEAD: i32 = 90;

/// A command that says when it begins, by a clock that nobody moves.
const WITNESS: &str = "read now rest </proc/uptime; echo $now >>witness";

/// When commands began, in their order.
fn witness(scene: &Scene) -> Vec<Duration> {
    let text = scene.read("witness");
    text.lines().map(|line| Duration::from_secs_f64(line.parse().unwrap())).collect()
}

/// A call by a host whose clock is this many seconds off.
fn by<'a>(host: &Host<'_>, seconds: i32, call: Call<'a>) -> Call<'a> {
    call.program(dynamic()).through(host.with_clock(seconds))
}

fn one_host_runs_and_the_other_waits_and_replays<E: Engine>() {
    let network = Network::new();
    let server = E::within(&network);
    let [one, other] = [network.host(1, "one"), network.host(2, "two")];
    for ahead in [AHEAD, -AHEAD] {
        let scene = server.scene_of(&one);
        let mut gate = scene.gate();
        scene.behave("read x <gate; echo out");
        let call = |words: &str| scene.attempt(&format!("k --claim-ttl 4s {words}"));
        let holder = scene.begun(by(&one, ahead, call("")).stdout("out\n"));
        let busy = by(&other, -ahead, call("")).status(75).note(&["held by", "on one"]).run();
        assert!(busy.complaint().contains("s ago"), "{}", busy.complaint());
        let waiter = by(&other, -ahead, call("-v --wait 30s")).stdout("out\n").any_stderr();
        let waiter = waiter.spawn();
        until("it waits", || !waiter.stderr_so_far().is_empty());
        gate.open();
        holder.finish();
        waiter.finish();
        by(&one, ahead, call("")).stdout("out\n").run();
        assert_eq!(scene.runs(), 1);
    }
}

fn what_a_dead_host_held_is_taken_when_its_lease_is_over_and_no_sooner<E: Engine>() {
    const LEASE: Duration = Duration::from_secs(3);
    let network = Network::new();
    let server = E::within(&network);
    let [one, other] = [network.host(1, "one"), network.host(2, "two")];
    for ahead in [AHEAD, -AHEAD] {
        let scene = server.scene_of(&other);
        let _gate = scene.gate();
        scene.behave(&format!("{WITNESS}; read x <gate"));
        let holder = scene.begun(by(&one, ahead, scene.attempt("k --claim-ttl 3s")).unchecked());
        until("it has said so", || witness(&scene).len() == 1);
        holder.kill();
        let command = scene.command_pid();
        destroy(-command);
        until("all of it is gone", || !is_alive(command));
        scene.behave(WITNESS);
        by(&other, -ahead, scene.attempt("k")).status(75).note(&["held by", "on one"]).run();
        let next = by(&other, -ahead, scene.attempt("k --wait 30s"));
        next.note(&["was interrupted", "same idempotency key"]).run();
        let began = witness(&scene);
        // The claim is a little older than the command. `/proc/uptime` counts hundredths.
        let after = began[1].saturating_sub(began[0]) + Duration::from_millis(500);
        assert!(after >= LEASE, "it was taken {after:?} after the claim");
        assert!(after <= 3 * LEASE, "it was taken {after:?} after the claim");
        let keys = scene.keys();
        assert_eq!(keys[0], keys[1], "it is one operation");
    }
}

fn a_period_is_the_same_on_both_sides_of_midnight<E: Engine>() {
    let network = Network::new();
    let server = E::within(&network);
    let [one, other] = [network.host(1, "one"), network.host(2, "two")];
    let scene = server.scene_of(&one);
    // A zone where it is about noon: no day ends there while this runs.
    let now = Timestamp::now().to_zoned_datetime(TimeZone::UTC);
    let zone = format!("Etc/GMT{:+}", now.hour() - 12);
    let second = i32::from(now.minute()) * 60 + i32::from(now.second());
    let to_midnight = 12 * 3600 - second;
    let run = |host: &Host<'_>, seconds| {
        by(host, seconds, scene.attempt(&format!("k --per day --tz {zone}"))).run();
    };
    let date = |host: &Host<'_>, seconds| {
        let date = scene.call("+%F").program("date".as_ref()).env("TZ", &zone);
        date.through(host.with_clock(seconds)).any_stdout().run().text()
    };
    let [before, after] = [to_midnight - AHEAD, to_midnight + AHEAD];
    assert_ne!(date(&one, before), date(&other, after));
    run(&one, before);
    run(&other, after);
    assert_eq!(scene.runs(), 1);
    scene.call("forget k").through(one.through()).run();
    run(&other, after);
    run(&one, before);
    assert_eq!(scene.runs(), 2);
}
