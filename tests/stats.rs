//! `stats` says what a store comes to, for people, for programs and for Prometheus.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Metrics, Scene, until};

/// How many keys `list` shows in which state, by kind and state.
fn listed(scene: &Scene) -> BTreeMap<(String, String), u64> {
    let mut keys = BTreeMap::new();
    for key in scene.json("list --json").as_array().unwrap() {
        let word = |field: &str| key[field].as_str().unwrap().to_owned();
        *keys.entry((word("kind"), word("state"))).or_default() += 1;
    }
    keys
}

/// The same as `stats` has it, without what is 0.
fn counted(stats: &Value) -> BTreeMap<(String, String), u64> {
    let mut keys = BTreeMap::new();
    for (kind, states) in stats["keys"].as_object().unwrap() {
        for (state, count) in states.as_object().unwrap() {
            keys.insert((kind.clone(), state.clone()), count.as_u64().unwrap());
        }
    }
    keys.retain(|_, count| *count > 0);
    keys
}

/// Makes the attempts of a key look as if their commands had run so long.
fn ran(scene: &Scene, key: &str, ms: u32) {
    let store = Connection::open(scene.store()).unwrap();
    let set = "UPDATE attempt SET run_ms = ? WHERE key = ?";
    assert!(store.execute(set, (ms, key)).unwrap() > 0);
}

/// What the metrics say.
#[track_caller]
fn metrics(scene: &Scene, options: &str) -> Metrics {
    let call = scene.call(&format!("stats --prometheus {options}")).any_stdout();
    Metrics::read(&call.run().text())
}

#[test]
fn stats_counts_keys_as_list_shows_them() {
    let scene = Scene::new();
    scene.once("done").sh("echo out").stdout("out\n").run();
    scene.once("expired --ttl 1ms").sh("true").run();
    scene.once("failed").sh("exit 3").status(3).run();
    scene.once("failed").sh("exit 3").status(3).run();
    scene.interrupted("interrupted");
    scene.once("dropped").sh("true").run();
    scene.call("forget dropped").run();
    scene.lease("released").sh("true").run();
    scene.lease("resting --min-hold 1h").sh("true").run();
    let mut gate = scene.gate();
    scene.behave("trap '' TERM; echo ready >ready; read x <gate");
    let orphaned = scene.begun(scene.attempt("orphaned"));
    until("the command is ready", || scene.path("ready").exists());
    orphaned.kill();
    let running = scene.holder("running");
    let held = scene.begun(scene.hanging_lease("held"));
    until("the record has expired", || scene.state("expired") == "expired");
    let stats = scene.json("stats --json");
    assert_eq!(counted(&stats), listed(&scene));
    assert_eq!(counted(&stats).len(), 10, "{stats}");
    assert_eq!(stats["attempts"]["count"], 11, "the tombstone is none: {stats}");
    assert_eq!(stats["attempts"]["output_bytes"], 4);
    let metrics = metrics(&scene, "");
    for ((kind, state), count) in listed(&scene) {
        let series = format!(r#"doubletap_keys{{kind="{kind}",state="{state}"}}"#);
        assert_eq!(metrics.value(&series).to_string(), count.to_string(), "{series}");
    }
    for _ in 0..3 {
        gate.open();
    }
    running.finish();
    held.finish();
}

#[test]
fn an_absent_store_counts_nothing_and_is_not_made() {
    let scene = Scene::new();
    let stats = scene.json("stats --json");
    assert_eq!(stats["keys"]["once"]["done"], 0);
    assert_eq!(stats["keys"]["lease"]["held"], 0);
    assert_eq!(stats["attempts"]["count"], 0);
    assert_eq!((&stats["attempts"]["oldest_start"], &stats["log"]), (&Value::Null, &Value::Null));
    assert_eq!(stats["run_times"]["by_prefix"], json!([]));
    assert_eq!(metrics(&scene, "").value("doubletap_attempts").to_string(), "0");
    let table = scene.call("stats").any_stdout().run().text();
    assert!(table.lines().any(|line| line.split_whitespace().eq(["keys", "0"])), "{table}");
    assert_eq!(scene.state_files(), Vec::<String>::new());
}

#[test]
fn run_times_are_told_by_namespace_and_prefix_with_a_lease_for_the_next_run() {
    let scene = Scene::new();
    for (key, ms) in [("deploy-1", 100), ("deploy_2", 1000), ("deploy3", 20_001), ("backup", 5)] {
        scene.once(key).sh("true").run();
        ran(&scene, key, ms);
    }
    scene.once("deploy-1 --namespace other").sh("true").run();
    let stats = scene.json("stats --json");
    let times = &stats["run_times"];
    let deploy = &times["by_prefix"][0];
    assert_eq!(deploy["prefix"], "deploy", "{stats}");
    assert_eq!((&deploy["kind"], &deploy["namespace"]), (&json!("once"), &json!("default")));
    assert_eq!(deploy["runs"], 3);
    assert_eq!(deploy["p50_ms"], 1000);
    assert_eq!(deploy["p99_ms"], 20_001);
    assert_eq!(deploy["suggested_lease"], "1m10s");
    assert_eq!(deploy["suggested_lease_ms"], 70_000);
    assert_eq!(times["by_prefix"].as_array().unwrap().len(), 3, "{stats}");
    let namespaces = times["by_namespace"].as_array().unwrap();
    let runs: Vec<_> = namespaces.iter().map(|of| (&of["namespace"], &of["runs"])).collect();
    assert_eq!(runs, [(&json!("default"), &json!(4)), (&json!("other"), &json!(1))]);
    assert_eq!(times["other_prefixes"], Value::Null);
    let metrics = metrics(&scene, "");
    let labels = r#"kind="once",namespace="default",prefix="deploy""#;
    let at = |percent| {
        let name = "doubletap_prefix_run_time_seconds";
        metrics.value(&format!(r#"{name}{{{labels},percentile="{percent}"}}"#))
    };
    assert_eq!([at(50), at(90), at(99)].map(|s| s.to_string()), ["1", "20.001", "20.001"]);
    let lease = metrics.value(&format!("doubletap_prefix_suggested_lease_seconds{{{labels}}}"));
    assert_eq!(lease.to_string(), "70");
    let table = scene.call("stats").any_stdout().run().text();
    let row = table.lines().find(|line| line.contains("deploy")).unwrap_or_default();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words, ["once", "default", "deploy", "3", "1.0s", "20.0s", "20.0s", "1m10s"]);
}

#[test]
fn more_prefixes_than_are_told_apart_are_counted_together() {
    let scene = Scene::new();
    scene.once("often-1").sh("true").run();
    scene.once("often-2").sh("true").run();
    let letters = ('a'..='y').map(|letter| format!("{letter}-1"));
    for key in letters {
        scene.once(&key).sh("true").run();
    }
    let stats = scene.json("stats --json");
    let told = stats["run_times"]["by_prefix"].as_array().unwrap();
    assert_eq!(told.len(), 20, "{stats}");
    assert_eq!((&told[0]["prefix"], &told[0]["runs"]), (&json!("often"), &json!(2)));
    assert_eq!(stats["run_times"]["other_prefixes"]["runs"], 6);
    assert_eq!(stats["run_times"]["other_prefixes"]["prefix"], Value::Null);
    let metrics = metrics(&scene, "");
    assert_eq!(metrics.all("doubletap_prefix_runs{").len(), 20);
    assert_eq!(metrics.value("doubletap_prefix_runs_of_others").to_string(), "6");
    let table = scene.call("stats").any_stdout().run().text();
    assert!(table.contains("(others)"), "{table}");
}

#[test]
fn a_named_namespace_is_all_that_is_counted() {
    let scene = Scene::new();
    scene.once("k --namespace a --log log").sh("true").run();
    scene.once("k --namespace b --log log").sh("true").run();
    scene.once("l --namespace b --log log").sh("true").run();
    let stats = scene.json("stats --json --namespace b --log log");
    assert_eq!(stats["namespace"], "b");
    assert_eq!(stats["keys"]["once"]["done"], 2);
    assert_eq!(stats["attempts"]["count"], 2);
    assert_eq!((&stats["log"]["lines"], &stats["log"]["skipped_lines"]), (&json!(2), &json!(0)));
    assert_eq!(scene.json("stats --json --log log")["log"]["lines"], 3);
}

#[test]
fn sizes_and_ages_are_told() {
    let scene = Scene::new();
    let large = "head -c 2000000 /dev/zero";
    scene.once("large").sh(large).stdout(vec![0; 2_000_000]).run();
    let hour_ago = "UPDATE attempt SET started_ms = started_ms - 3600000";
    let store = Connection::open(scene.store()).unwrap();
    assert_eq!(store.execute(hour_ago, []).unwrap(), 1);
    scene.once("small").sh("echo small").stdout("small\n").run();
    let stats = scene.json("stats --json");
    let length = |name: &str| scene.state_folder().join(name).metadata().unwrap().len();
    assert_eq!(stats["store"]["path"], scene.store().to_str().unwrap());
    assert_eq!(stats["store"]["file_bytes"], length("store.db"));
    assert_eq!(stats["store"]["log_bytes"], length("store.db-wal"));
    assert_eq!(stats["store"]["output_files"], 1);
    assert!(stats["store"]["output_file_bytes"].as_u64() > Some(2_000_000), "{stats}");
    assert_eq!(stats["attempts"]["output_bytes"], 2_000_006);
    let metrics = metrics(&scene, "");
    let start = |which| metrics.value(&format!("doubletap_{which}_attempt_timestamp_seconds"));
    let apart = start("newest") - start("oldest");
    assert!((3600.0..3700.0).contains(&apart), "{apart}");
    let table = scene.call("stats").any_stdout().run().text();
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    assert!(row("oldest start").ends_with("1h ago"), "{table}");
    assert!(row("output kept").ends_with("1.9 MiB"), "{table}");
}

#[test]
fn numbers_have_one_form_at_a_time_and_a_reader_may_leave() {
    let scene = Scene::new();
    scene.call("stats --json --prometheus").status(64).note(&["--json", "--prometheus"]).run();
    for form in ["", "--json", "--prometheus"] {
        let call = scene.call(&format!("stats {form}"));
        call.through_sh(r#"{ "$@"; echo "ended with $?" >&2; } | true"#)
            .stderr("ended with 0\n")
            .run();
    }
}
