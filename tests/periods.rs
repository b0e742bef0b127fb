//! `--per`: once per calendar period.

use rusqlite::Connection;

use crate::support::{Scene, until};

#[test]
fn a_second_call_of_the_same_period_is_silent_and_has_the_same_status() {
    let scene = Scene::new();
    scene.behave("echo backed up; exit 3");
    let words = "k --per year --tz UTC --record any";
    scene.attempt(words).stdout("backed up\n").status(3).run();
    scene.attempt(words).status(3).run();
    scene.attempt(&format!("{words} --replay output")).stdout("backed up\n").status(3).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_failure_is_tried_again_within_the_period_under_the_same_idempotency_key() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --per year").status(1).run();
    scene.behave(":");
    scene.attempt("k --per year").run();
    scene.attempt("k --per year").run();
    let keys = scene.keys();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn the_record_is_good_until_the_period_of_its_zone_ends() {
    for (zone, end) in [("UTC", "-01-01T00:00:00.000Z"), ("JST-9", "-12-31T15:00:00.000Z")] {
        let scene = Scene::new();
        scene.attempt("k --per year").env("TZ", zone).run();
        let shown = scene.json("show k --json");
        let expires = shown["attempts"][0]["expires"].as_str().unwrap().to_owned();
        assert!(expires.ends_with(end), "{zone}: {expires}");
    }
}

#[test]
fn every_period_is_taken() {
    let scene = Scene::new();
    for per in ["hour", "day", "week", "month", "year"] {
        scene.attempt(&format!("{per} --per {per}")).run();
        assert_eq!(scene.state(per), "done");
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_the_store_is_opened() {
    for (words, named) in [
        ("k --per day --ttl 1h", "--ttl"),
        ("k --per fortnight", "fortnight"),
        ("k --per day --tz Nowhere/Land", "Nowhere/Land"),
        ("k --tz UTC", "--per"),
    ] {
        let scene = Scene::new();
        scene.attempt(words).status(64).note(&[named]).run();
        assert_eq!(scene.runs(), 0);
        assert!(!scene.store().exists(), "{words}");
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// `TZ` of a zone in which a day begins at this second.
fn begins_a_day(second: i64) -> String {
    let into = second.rem_euclid(86_400);
    format!("DAY{}:{:02}:{:02}", into / 3600, into / 60 % 60, into % 60)
}

#[test]
fn a_day_that_begins_while_a_claim_waits_for_the_store_is_a_new_operation() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --per day --max-attempts 1").status(1).run();
    let midnight = now() + 2;
    let foreign = Connection::open(scene.store()).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    scene.behave(":");
    let call = scene.attempt("k --per day --max-attempts 1 --store-timeout 30s");
    let running = call.env("TZ", begins_a_day(midnight)).spawn();
    // A command is forked before its key is claimed.
    until("the claim has begun", || scene.wrappers().len() == 2);
    until("the day has begun", || now() >= midnight);
    foreign.execute_batch("ROLLBACK").unwrap();
    running.finish();
    let keys = scene.keys();
    assert_ne!(keys[0], keys[1], "a new day is a new operation");
}

#[test]
fn who_waits_for_what_the_day_before_began_runs_for_its_own_day() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k --per day");
    let midnight = now() + 1;
    until("the day has begun", || now() >= midnight);
    scene.behave(":");
    let day = begins_a_day(midnight);
    let waiter = scene.attempt("k --per day -q --wait forever").env("TZ", &day).spawn();
    scene.await_waiters(1);
    gate.open();
    holder.finish();
    waiter.finish();
    let keys = scene.keys();
    assert_eq!(keys.len(), 2, "the new day has its own run");
    assert_ne!(keys[0], keys[1], "a new day is a new operation");
}
