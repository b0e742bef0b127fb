//! `stats --log` counts the calls in a log, and every line of it is whole.

use serde_json::{Value, json};

use crate::support::{Metrics, Scene, finished};

/// A line of a log, as a call writes it.
fn line(verb: &str, outcome: &str, store_ms: u64, source: &Value) -> String {
    json!({
        "ts": "2026-11-30T00:00:00.000Z", "verb": verb, "namespace": "default", "key": "k",
        "outcome": outcome, "exit_code": 0, "store_ms": store_ms, "run_ms": null,
        "source": source, "version": "0.1.0", "of_a_later_version": [1],
    })
    .to_string()
}

/// What `stats` says of the log.
#[track_caller]
fn told(scene: &Scene) -> Value {
    scene.json("stats --json --log log")["log"].clone()
}

#[track_caller]
fn metrics(scene: &Scene) -> Metrics {
    Metrics::read(&scene.call("stats --prometheus --log log").any_stdout().run().text())
}

#[test]
fn many_calls_at_once_leave_only_whole_lines_and_all_of_them_are_counted() {
    let scene = Scene::new();
    // Far longer than what a pipe takes at once.
    let label = "a label that is long ".repeat(500);
    let calls = (0..40).map(|number| {
        let words = format!("k{} --wait forever --log log", number % 10);
        let call = scene.once(&words).sh("true");
        if number % 2 == 0 { call.env("DOUBLETAP_SOURCE", &label) } else { call }.spawn()
    });
    finished(calls.collect::<Vec<_>>());
    let log = scene.read("log");
    assert!(log.ends_with('\n') && log.lines().count() == 40);
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
    let told = told(&scene);
    assert_eq!((&told["lines"], &told["skipped_lines"]), (&json!(40), &json!(0)), "{told}");
    let count = |wanted: &dyn Fn(&Value) -> bool| -> u64 {
        let calls = told["calls"].as_array().unwrap().iter();
        calls.filter(|call| wanted(call)).map(|call| call["count"].as_u64().unwrap()).sum()
    };
    assert_eq!(count(&|call| call["outcome"] == "ran"), 10, "{told}");
    assert_eq!(count(&|call| call["outcome"] == "replayed"), 30, "{told}");
    assert_eq!(count(&|call| call["source"] == label), 20, "{told}");
    assert_eq!(count(&|call| call["source"] == ""), 20, "{told}");
    assert_eq!(told["store_times"]["count"], 40);
}

#[test]
fn calls_are_counted_by_verb_outcome_and_source() {
    let scene = Scene::new();
    scene.once("k --log log --source cron").sh("true").run();
    scene.once("k --log log --source cron").sh("true").run();
    scene.once("fails --log log").sh("exit 3").status(3).run();
    scene.lease("n --log log").sh("true").run();
    let metrics = metrics(&scene);
    let calls = |outcome, source, verb| {
        let labels = format!(r#"outcome="{outcome}",source="{source}",verb="{verb}""#);
        metrics.value(&format!("doubletap_calls_total{{{labels}}}")).to_string()
    };
    assert_eq!(calls("ran", "cron", "once"), "1");
    assert_eq!(calls("replayed", "cron", "once"), "1");
    assert_eq!(calls("failed", "", "once"), "1");
    assert_eq!(calls("ran", "", "lease"), "1");
    assert_eq!(metrics.all("doubletap_calls_total").len(), 4);
    let table = scene.call("stats --log log").any_stdout().run().text();
    let has = |row: [&str; 4]| table.lines().any(|line| line.split_whitespace().eq(row));
    assert!(has(["once", "replayed", "cron", "1"]) && has(["lease", "ran", "-", "1"]), "{table}");
}

#[test]
fn times_in_the_store_are_a_histogram() {
    let scene = Scene::new();
    let times = [0, 0, 1, 7, 10, 9_999, 10_000, 60_000];
    let lines: Vec<_> = times.map(|ms| line("once", "ran", ms, &Value::Null) + "\n").into();
    scene.write("log", lines.concat());
    let metrics = metrics(&scene);
    let name = "doubletap_store_time_seconds";
    let up_to = |le| metrics.value(&format!(r#"{name}_bucket{{le="{le}"}}"#)).to_string();
    // A whole number of milliseconds is less than the next.
    let counts = ["0.001", "0.002", "0.005", "0.01", "0.02", "5", "10", "+Inf"].map(up_to);
    assert_eq!(counts, ["2", "3", "3", "4", "5", "5", "6", "8"]);
    assert_eq!(metrics.all(&format!("{name}_bucket")).len(), 14);
    assert_eq!(metrics.value(&format!("{name}_sum")).to_string(), "80.017");
    assert_eq!(metrics.value(&format!("{name}_count")).to_string(), "8");
}

#[test]
fn lines_of_others_and_parts_of_lines_are_skipped_and_their_number_is_told() {
    let scene = Scene::new();
    let whole = line("once", "ran", 1, &json!("s"));
    let (half, _) = whole.split_at(whole.len() / 2);
    let foreign = [
        String::new(),
        "Nov 30 cron[1]: started".to_owned(),
        "{}".to_owned(),
        "[1]".to_owned(),
        half.to_owned() + &whole,
        line("delete", "ran", 1, &Value::Null),
        line("once", "vanished", 1, &Value::Null),
        whole.replace(r#""store_ms":1"#, r#""store_ms":-1"#),
        format!(r#"{{"long":"{}"}}"#, "x".repeat(3 << 20)),
    ];
    let mut log = whole.clone().into_bytes();
    for text in &foreign {
        log.extend(b"\n");
        log.extend(text.as_bytes());
    }
    log.extend(b"\n\xff\xfe\n");
    // The last line has no end: a full disk may have kept just that from it.
    log.extend(whole.as_bytes());
    scene.write("log", log);
    let told = told(&scene);
    assert_eq!(told["lines"], 2, "{told}");
    assert_eq!(told["skipped_lines"], 10, "{told}");
    let skipped = metrics(&scene).value("doubletap_log_lines_skipped_total");
    assert_eq!(skipped.to_string(), "10");
    let table = scene.call("stats --log log").any_stdout().run().text();
    let is_it = |line: &str| line.starts_with("lines skipped") && line.ends_with(" 10");
    assert!(table.lines().any(is_it), "{table}");
}

#[test]
fn only_so_many_sources_are_told_apart_and_no_call_is_lost() {
    let scene = Scene::new();
    let mut log = String::new();
    for number in 0..3000 {
        let source = if number % 3 == 0 { "cron".to_owned() } else { format!("s{number}") };
        log += &(line("once", "ran", 1, &json!(source)) + "\n");
    }
    scene.write("log", log);
    let told = told(&scene);
    let calls = told["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 20, "{told}");
    let count = |calls: &Value| -> u64 {
        let calls = calls.as_array().unwrap().iter();
        calls.map(|call| call["count"].as_u64().unwrap()).sum()
    };
    let cron = calls.iter().find(|call| call["source"] == "cron").unwrap();
    assert_eq!(cron["count"], 1000);
    assert_eq!(count(&told["calls"]) + count(&told["other_calls"]), 3000);
    let metrics = metrics(&scene);
    let total: f64 = metrics.all("doubletap_calls_total").iter().map(|(_, count)| count).sum();
    assert_eq!(total.to_string(), "3000");
    assert_eq!(metrics.all("doubletap_calls_total").len(), 21);
}

#[test]
fn a_label_of_any_characters_stays_one_label() {
    let scene = Scene::new();
    let label = "a \"quoted\" \\ one\nof two lines {le=\"1\"}";
    scene.once("k --log log").sh("true").env("DOUBLETAP_SOURCE", label).run();
    assert_eq!(told(&scene)["calls"][0]["source"], label);
    let metrics = metrics(&scene);
    let escaped = r#"a \"quoted\" \\ one\nof two lines {le=\"1\"}"#;
    let series =
        format!(r#"doubletap_calls_total{{outcome="ran",source="{escaped}",verb="once"}}"#);
    assert_eq!(metrics.value(&series).to_string(), "1");
    let table = scene.call("stats --log log").any_stdout().run().text();
    assert!(table.contains(r"\n"), "a line stays one line: {table}");
}

#[test]
fn a_log_that_is_not_there_is_named_unless_a_variable_says_where_it_will_be() {
    let scene = Scene::new();
    scene.call("stats --log absent").status(125).note(&["absent"]).run();
    scene.call("stats --log .").status(125).note(&["the log ."]).run();
    let absent = scene.path("absent");
    let call = scene.call("stats --json").env("DOUBLETAP_LOG", &absent).any_stdout();
    let stats: Value = serde_json::from_slice(&call.run().stdout).unwrap();
    assert_eq!(stats["log"]["lines"], 0, "{stats}");
    scene
        .call("stats --log absent")
        .env("DOUBLETAP_LOG", &absent)
        .status(125)
        .note(&["absent"])
        .run();
    assert!(!absent.exists());
    let stats = scene.json("stats --json --log=");
    assert_eq!(stats["log"], Value::Null, "the empty name is no log");
}
