//! Many at once.

use super::engine::Engine;
use crate::support::{Done, Scene, finished};

every_server!(
    of_a_hundred_callers_of_one_key_one_runs_and_all_have_its_end,
    of_a_hundred_callers_who_do_not_wait_one_runs_and_the_others_are_told,
    of_thirty_holders_of_a_name_never_two_at_a_time,
);

/// What commands leave behind that find another one at work: a folder is made once.
pub(super) const ALONE: &str = "mkdir held || echo two at a time >>overlaps";

fn of_a_hundred_callers_of_one_key_one_runs_and_all_have_its_end<E: Engine>() {
    let scene = E::shared().scene();
    scene.behave("sleep 0.2; echo out; echo err >&2; exit 3");
    let words = "k --record any --wait 1m --store-timeout 30s --log log";
    let call = || scene.attempt(words).stdout("out\n").stderr("err\n").status(3).spawn();
    finished((0..100).map(|_| call()).collect::<Vec<_>>());
    assert_eq!(scene.runs(), 1);
    assert_eq!((outcomes(&scene, "ran"), outcomes(&scene, "replayed")), (1, 99));
}

fn of_a_hundred_callers_who_do_not_wait_one_runs_and_the_others_are_told<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    scene.behave("read x <gate");
    let call = || scene.attempt("k --store-timeout 30s").unchecked().spawn();
    let all: Vec<_> = (0..100).map(|_| call()).collect();
    let told = |all: &[crate::support::Running]| {
        all.iter().filter(|one| !one.stderr_so_far().is_empty()).count()
    };
    crate::support::until("all others are told", || told(&all) == 99);
    gate.open();
    let ends = finished(all);
    let busy = |done: &&Done| done.code() == 75 && done.complaint().contains("busy: held by");
    assert_eq!(ends.iter().filter(busy).count(), 99);
    assert_eq!(ends.iter().filter(|done| done.code() == 0).count(), 1);
    assert_eq!(scene.runs(), 1);
}

fn of_thirty_holders_of_a_name_never_two_at_a_time<E: Engine>() {
    let scene = E::shared().scene();
    scene.behave(&format!("{ALONE}; sleep 0.02; rmdir held"));
    let call = || scene.held("n --wait 1m --store-timeout 30s").spawn();
    finished((0..30).map(|_| call()).collect::<Vec<_>>());
    assert_eq!(scene.read("overlaps"), "");
    assert_eq!(scene.runs(), 30);
}

/// How many lines of the log tell of this outcome.
fn outcomes(scene: &Scene, name: &str) -> usize {
    let wanted = format!(r#""outcome":"{name}""#);
    scene.read("log").lines().filter(|line| line.contains(&wanted)).count()
}
