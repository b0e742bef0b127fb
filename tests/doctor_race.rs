//! `doctor --race N`: the classic race, in the caller's own place.

use crate::support::{Scene, Signal, until};

/// The folders that races were run in.
fn rings(scene: &Scene) -> Vec<String> {
    scene.state_files().into_iter().filter(|name| name.contains("race")).collect()
}

#[test]
fn of_twenty_processes_exactly_one_runs_and_all_traces_are_gone() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    let before = scene.state_files();
    let checkup = scene.examined_with("--race 20");
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    let race = &checkup.document["race"];
    assert_eq!(race["processes"], 20);
    assert_eq!(race["doubletap_ran"], 1);
    assert_eq!(race["replay_is_exact"], true);
    let number = |name: &str| race[name].as_u64().unwrap();
    assert_eq!(1 + number("doubletap_replayed") + number("doubletap_busy"), 20, "{race}");
    assert!((1..=20).contains(&number("naive_ran")), "{race}");
    assert_eq!(race["folder"].as_str().unwrap(), scene.state_folder().to_str().unwrap());
    let found = checkup.found("race", "ok");
    let naive = format!("{}: {} of 20 ran", race["naive"].as_str().unwrap(), number("naive_ran"));
    assert!(found.starts_with("doubletap: 1 of 20 ran (") && found.contains(&naive), "{found}");
    assert_eq!(scene.state_files(), before);
}

#[test]
fn without_a_folder_of_a_store_it_takes_place_in_the_temporary_one() {
    let scene = Scene::new();
    let store = scene.root().join("nowhere/store.db");
    let call = scene.call("doctor --race 2 --json --store").arg(&store);
    let done = call.env("TMPDIR", scene.state_folder()).any_stdout().run();
    assert!(done.text().contains(r#""doubletap_ran": 1"#), "{}", done.text());
    assert!(done.text().contains(scene.state_folder().to_str().unwrap()), "{}", done.text());
    assert_eq!(scene.state_files(), Vec::<String>::new());
    assert!(!scene.root().join("nowhere").exists());
}

#[test]
fn neither_options_in_variables_nor_a_claim_above_are_the_racers() {
    let scene = Scene::new();
    let call = scene.once("k").command([crate::support::BIN, "doctor", "--race", "4"]);
    let call = call.env("DOUBLETAP_LOG", scene.path("log"));
    let call = call.env("DOUBLETAP_NAMESPACE", "other");
    let text = call.any_stdout().run().text();
    assert!(text.contains("doubletap: 1 of 4 ran"), "{text}");
    assert_eq!(scene.read("log").lines().count(), 1, "of the call around it alone");
}

#[test]
fn the_umask_is_no_obstacle() {
    for umask in ["000", "777"] {
        let scene = Scene::new();
        let call = scene.call("doctor --race 3");
        let call = call.through_sh(&format!(r#"umask {umask}; exec "$@""#));
        let text = call.any_stdout().run().text();
        assert!(text.contains("doubletap: 1 of 3 ran"), "{text}");
    }
}

#[test]
fn told_to_end_it_ends_everybody_and_leaves_nothing() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let scene = Scene::new();
        let running = scene.call("doctor --race 500").dies_of(signal).spawn();
        until("the race has a place", || !rings(&scene).is_empty());
        running.signal(signal);
        running.finish();
        assert_eq!(rings(&scene), Vec::<String>::new());
        until("nobody is left of it", || scene.wrappers().is_empty());
    }
}

#[test]
fn a_race_that_cannot_be_won_is_bad_and_says_why() {
    let scene = Scene::new();
    // Files cannot grow beyond 2 KiB, and no store is as small.
    let script = r#"said=$(ulimit -f 4; "$@"); status=$?; echo "$said"; exit $status"#;
    let call = scene.call("doctor --race 3").through_sh(script).status(1);
    let text = call.any_stdout().run().text();
    let line = text.lines().find(|line| line.starts_with("bad")).unwrap();
    assert!(line.contains("race") && line.contains("doubletap: 0 of 3 ran"), "{text}");
    assert!(line.contains("exit status 125: doubletap: "), "{text}");
    assert_eq!(scene.state_files(), Vec::<String>::new());
}

#[test]
fn what_hangs_in_a_race_is_ended_with_it() {
    let scene = Scene::new();
    let hanging = "#!/bin/sh\necho $$ >>\"$STATE/../work/hanging\"\nexec sleep 1000\n";
    std::fs::create_dir(scene.path("bin")).unwrap();
    std::fs::write(scene.path("bin/touch"), hanging).unwrap();
    crate::support::damage::mode(&scene.path("bin/touch"), 0o755);
    let path = format!("{}:/usr/bin:/bin", scene.path("bin").display());
    let call = scene.call("doctor --race 3").env("PATH", path);
    let running = call.dies_of(Signal::SIGTERM).spawn();
    until("somebody hangs", || !scene.read("hanging").is_empty());
    running.signal(Signal::SIGTERM);
    running.finish();
    for pid in scene.read("hanging").lines() {
        let pid = pid.parse().unwrap();
        until("it is gone", || !crate::support::processes::is_alive(pid));
    }
    assert_eq!(rings(&scene), Vec::<String>::new());
}
