//! The report: one line of JSON for each call, with one named outcome.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Call, Scene, finished};

const FIELDS: &str = "ts verb namespace key step outcome exit_code signal attempt generation fence \
    taken_over retry_after_ms fingerprint wait_ms store_ms run_ms output_bytes truncated source \
    holder version";

/// Runs a call and reads the one line of its report.
#[track_caller]
fn reported(scene: &Scene, call: Call<'_>) -> Value {
    let _ = std::fs::remove_file(scene.path("report"));
    call.run();
    let report = scene.read("report");
    assert_eq!(report.lines().count(), 1, "one line: {report}");
    assert!(report.ends_with('\n'), "a whole line: {report}");
    serde_json::from_str(&report).expect("the line is JSON")
}

#[test]
fn a_run_is_reported_with_every_field() {
    let scene = Scene::new();
    let call = scene.once("k --report report --source ci").command(["echo", "hi"]);
    let report = reported(&scene, call.stdout("hi\n"));
    let fields: BTreeSet<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, FIELDS.split_whitespace().collect::<BTreeSet<_>>());
    assert_eq!(report["verb"], "once");
    assert_eq!(report["namespace"], "default");
    assert_eq!(report["key"], "k");
    assert_eq!(report["outcome"], "ran");
    assert_eq!(report["exit_code"], 0);
    assert_eq!(report["signal"], Value::Null);
    assert_eq!(report["attempt"], 1);
    assert_eq!(report["generation"], 1);
    assert_eq!(report["output_bytes"], 3);
    assert_eq!(report["truncated"], false);
    assert_eq!(report["taken_over"], false);
    assert_eq!(report["source"], "ci");
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert!(report["fence"].as_u64() > Some(1_600_000_000_000), "{report}");
    assert!(report["run_ms"].is_number() && report["store_ms"].is_number(), "{report}");
}

#[test]
fn a_replay_is_reported() {
    let scene = Scene::new();
    let words = "k --record any --report report";
    for outcome in ["ran", "replayed"] {
        let call = scene.once(words).sh("echo hi; exit 3");
        let report = reported(&scene, call.stdout("hi\n").status(3));
        assert_eq!(report["outcome"], outcome);
        assert_eq!(report["exit_code"], 3);
    }
}

#[test]
fn failures_are_reported_with_status_or_signal() {
    let scene = Scene::new();
    let call = scene.once("k --report report").sh("exit 3");
    let report = reported(&scene, call.status(3));
    assert_eq!((&report["outcome"], &report["exit_code"]), (&"failed".into(), &3.into()));
    let call = scene.once("j --report report").sh("kill -9 $$");
    let report = reported(&scene, call.status(137));
    assert_eq!((&report["outcome"], &report["signal"]), (&"failed".into(), &9.into()));
}

#[test]
fn busy_and_mismatch_are_reported() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let call = scene.attempt("k -q --report report");
    let report = reported(&scene, call.status(75));
    assert_eq!(report["outcome"], "busy");
    assert!(!report["holder"].is_null(), "{report}");
    let call = scene.once("k --report report").command(["echo", "else"]);
    let report = reported(&scene, call.status(65).note(&["argv"]));
    assert_eq!(report["outcome"], "mismatch");
    gate.open();
    holder.finish();
}

#[test]
fn a_failure_that_may_be_retried_later_says_when() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --retry-after 1h").status(1).run();
    let call = scene.attempt("k -q --retry-after 1h --report report");
    let report = reported(&scene, call.status(75));
    assert_eq!(report["outcome"], "busy");
    let after = report["retry_after_ms"].as_u64().unwrap();
    assert!((1..=3_600_000).contains(&after), "{report}");
}

#[test]
fn unresolved_and_take_over_are_reported() {
    let scene = Scene::new();
    scene.interrupted("k");
    let call = scene.attempt("k --on-crash stop --report report");
    let report = reported(&scene, call.status(70).note(&["k"]));
    assert_eq!(report["outcome"], "unresolved");
    let call = scene.attempt("k -q --report report");
    let report = reported(&scene, call);
    assert_eq!(report["outcome"], "ran");
    assert_eq!(report["taken_over"], true);
    assert_eq!((&report["attempt"], &report["generation"]), (&2.into(), &2.into()));
}

#[test]
fn a_store_that_cannot_be_used_is_reported() {
    let scene = Scene::new();
    std::fs::write(scene.store(), "this is no store, and never was one\n".repeat(200)).unwrap();
    let call = scene.attempt("k --report report");
    let report = reported(&scene, call.status(125).notes(&["store.db"]));
    assert_eq!(report["outcome"], "error");
}

#[test]
fn a_waiter_that_shares_a_failure_is_reported_as_replayed() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; exit 3");
    let holder = scene.begun(scene.attempt("k").status(3));
    let waiter = scene.attempt("k -q --wait forever --report report").status(3).spawn();
    scene.await_waiters(1);
    gate.open();
    holder.finish();
    waiter.finish();
    let report: Value = serde_json::from_str(&scene.read("report")).unwrap();
    assert_eq!(report["outcome"], "replayed");
    assert_eq!(report["exit_code"], 3);
}

#[test]
fn the_report_may_go_to_a_descriptor() {
    let scene = Scene::new();
    let call = scene.once("k --report fd:7").command(["echo", "hi"]);
    let call = call.through_sh(r#"exec "$@" 7>report"#).stdout("hi\n");
    assert_eq!(reported(&scene, call)["outcome"], "ran");
}

#[test]
fn every_call_appends_a_whole_line_to_the_log() {
    let scene = Scene::new();
    let call = |number| {
        let words = format!("k{number} --log log --source a-label-that-makes-the-line-longer");
        scene.once(&words).sh("true").spawn()
    };
    finished((0..30).map(call).collect::<Vec<_>>());
    let log = scene.read("log");
    let keys: BTreeSet<String> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a whole line")["key"].to_string())
        .collect();
    assert_eq!((log.lines().count(), keys.len()), (30, 30));
}

#[test]
fn the_variables_give_log_and_source() {
    let scene = Scene::new();
    let call = scene.attempt("k").env("DOUBLETAP_LOG", scene.path("log"));
    call.env("DOUBLETAP_SOURCE", "cron").run();
    let line: Value = serde_json::from_str(&scene.read("log")).unwrap();
    assert_eq!(line["source"], "cron");
    assert_eq!(line["outcome"], "ran");
}

#[test]
fn a_report_that_cannot_be_written_does_not_stop_the_command_from_being_recorded() {
    let scene = Scene::new();
    let call = scene.attempt("k --report /nowhere/report").unchecked();
    let first = call.run();
    assert!(first.complaint().starts_with("doubletap: "), "{}", first.complaint());
    let runs = scene.runs();
    assert!(
        (first.code() == 0 && runs == 1) || (first.code() != 0 && runs == 0),
        "ended with {} after {runs} runs",
        first.status
    );
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}
