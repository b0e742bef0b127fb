//! Where a report goes: what the file says of a call that wrote no line, and of one that never ran.

use serde_json::Value;

use crate::support::{Call, Scene};

/// Runs a call and reads the one line of its report.
#[track_caller]
fn reported(scene: &Scene, call: Call<'_>) -> Value {
    call.run();
    let report = scene.read("report");
    assert_eq!(report.lines().count(), 1, "one line: {report}");
    serde_json::from_str(&report).expect("the line is JSON")
}

#[test]
fn the_report_of_a_call_that_was_killed_is_empty_and_not_that_of_the_call_before() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.attempt("before --report report").run();
    assert_ne!(scene.read("report"), "");
    let running = scene.begun(scene.hanging("k --report report").unchecked());
    assert_eq!(scene.read("report"), "", "a call that is under way has come to nothing yet");
    running.kill();
    assert!(scene.path("report").exists());
    assert_eq!(scene.read("report"), "");
}

#[test]
fn a_longer_report_leaves_nothing_behind_under_a_shorter_one() {
    let scene = Scene::new();
    let long = format!("{} --report report", "k".repeat(900));
    reported(&scene, scene.attempt(&long));
    let report = reported(&scene, scene.attempt("k --report report"));
    assert_eq!(report["key"], "k");
}

#[test]
fn an_empty_log_is_no_log() {
    let scene = Scene::new();
    scene.attempt("option").env("DOUBLETAP_LOG", scene.path("log")).run();
    scene.attempt("option --log=").env("DOUBLETAP_LOG", scene.path("log")).run();
    assert_eq!(scene.read("log").lines().count(), 1, "the option won");
    scene.attempt("variable").env("DOUBLETAP_LOG", "").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_mismatch_has_no_exit_code_since_nothing_ran() {
    let scene = Scene::new();
    for (key, script) in [("done", "exit 0"), ("failed", "exit 3")] {
        let words = format!("{key} --record any --report report");
        let done = scene.once(&words).sh(script).unchecked().run();
        let call = scene.once(&words).sh("echo else").status(65).note(&["argv"]);
        let report = reported(&scene, call);
        assert_eq!(report["outcome"], "mismatch");
        assert_eq!(report["exit_code"], Value::Null, "{report} after {}", done.status);
        assert_eq!(report["signal"], Value::Null);
        assert_eq!(report["output_bytes"], Value::Null);
    }
}

#[test]
fn an_input_that_cannot_be_read_is_reported_as_an_error() {
    let scene = Scene::new();
    scene.write("broken", "{");
    for what in ["file:absent", "file:.", "json:absent", "json:broken"] {
        scene.write("report", "of an earlier call\n");
        let words = format!("k --fingerprint {what} --report report --log log");
        let report = reported(&scene, scene.attempt(&words).status(125).note(&[what]));
        assert_eq!(report["outcome"], "error", "{what}");
        assert_eq!(report["exit_code"], Value::Null, "{what}");
        assert_eq!((&report["key"], &report["verb"]), (&"k".into(), &"once".into()));
    }
    assert_eq!(scene.read("log").lines().count(), 4);
    assert_eq!(scene.runs(), 0);
}

#[test]
fn a_report_to_a_stream_of_ours_does_not_empty_the_file_behind_it() {
    let scene = Scene::new();
    let script = r#"echo before >log; "$@" >>log 2>&1"#;
    for (stream, at) in [("/dev/stdout", 1), ("/dev/stderr", 2), ("/dev/fd/2", 3)] {
        let call = scene.once(&format!("k{at} --report {stream}")).command(["echo", "out"]);
        call.through_sh(script).run();
        let log = scene.read("log");
        assert!(log.starts_with("before\nout\n{"), "{stream}: {log}");
    }
}
