//! `doctor` on a server.

use super::engine::Engine;
use crate::support::Scene;

every_server!(
    a_store_that_is_not_set_up_is_found,
    the_clocks_are_compared_and_the_holders_looked_at,
    a_name_whose_time_is_over_and_a_key_that_runs_again_need_nobody,
    a_race_has_one_winner_and_leaves_nothing,
);

/// The checks of one name.
fn checks(scene: &Scene, words: &str, name: &str) -> Vec<serde_json::Value> {
    let done = scene.call(&format!("doctor --json {words}")).unchecked().run();
    let document: serde_json::Value = serde_json::from_slice(&done.stdout).expect("a document");
    let checks = document["checks"].as_array().expect("checks").iter();
    checks.filter(|check| check["name"] == name).cloned().collect()
}

fn a_store_that_is_not_set_up_is_found<E: Engine>() {
    let scene = Scene::on(E::shared().fresh());
    let done = scene.call("doctor").unchecked().run();
    assert_eq!(done.code(), 1);
    assert!(done.text().contains("doubletap setup"), "{}", done.text());
}

fn the_clocks_are_compared_and_the_holders_looked_at<E: Engine>() {
    let scene = E::shared().scene();
    scene.interrupted("k --claim-ttl 2s");
    let clock = checks(&scene, "", "clock");
    assert!(clock[0]["found"].as_str().unwrap().starts_with("within "), "{clock:?}");
    crate::support::until("the lease is over", || {
        let holder = checks(&scene, "", "holder");
        holder[0]["found"].as_str().unwrap().contains("interrupted: its holder has not renewed it")
    });
}

fn a_name_whose_time_is_over_and_a_key_that_runs_again_need_nobody<E: Engine>() {
    let scene = E::shared().scene();
    scene.acquire("n --ttl 2s").any_stdout().run();
    crate::support::until("its time is over", || scene.lease_state("n") == "expired");
    let holder = checks(&scene, "", "holder");
    assert_eq!(holder[0]["verdict"], "ok", "{holder:?}");
    assert!(holder[0]["found"].as_str().unwrap().starts_with("0 running or held"), "{holder:?}");
    let rows = checks(&scene, "", "rows");
    assert!(!rows[0]["found"].as_str().unwrap().contains("running"), "nothing runs: {rows:?}");

    scene.interrupted("k --claim-ttl 2s");
    crate::support::until("its lease is over", || scene.state("k") == "interrupted");
    let holder = checks(&scene, "", "holder");
    let remedy = holder[0]["remedy"].as_str().unwrap();
    assert!(remedy.starts_with("the next call runs it again"), "{holder:?}");
}

fn a_race_has_one_winner_and_leaves_nothing<E: Engine>() {
    let scene = E::shared().scene();
    let race = checks(&scene, "--race 12", "race");
    assert!(race[0]["found"].as_str().unwrap().contains("doubletap: 1 of 12 ran"), "{race:?}");
    // Whether it is forgotten and swept in one millisecond is a matter of luck.
    for _ in 0..10 {
        checks(&scene, "--race 2", "race");
    }
    assert_eq!(scene.json("list --json"), serde_json::Value::Array(Vec::new()));
}
