//! With too few descriptors nothing runs, and nothing is left behind that a person must decide.

use crate::support::Scene;

/// Descriptors that a process may have open: from too few for anything to more
/// than enough.
const LIMITS: std::ops::RangeInclusive<u32> = 3..=30;

/// One call with so few descriptors, and another without a limit. Says whether
/// the first one ran.
#[track_caller]
fn with_descriptors(scene: &Scene, limit: u32) -> bool {
    let ran = format!("ran-{limit}");
    // No shell: it would need descriptors itself.
    let call = || scene.once(&format!("k{limit} --on-crash stop")).command(["touch", &ran]);
    let script = format!(r#"ulimit -n {limit}; exec "$@""#);
    let done = call().through_sh(&script).unchecked().run();
    let complaint = done.complaint();
    let exists = scene.path(&ran).exists();
    match done.code() {
        0 => assert!(exists && complaint.is_empty(), "with {limit} it said: {complaint}"),
        125 => {
            assert!(!exists, "with {limit} it ran and said: {complaint}");
            assert!(complaint.starts_with("doubletap: "), "with {limit} it said: {complaint}");
        }
        _ => panic!("with {limit} it ended with {} and said: {complaint}", done.status),
    }
    call().run();
    assert!(scene.path(&ran).exists(), "after {limit} it did not run");
    exists
}

#[test]
fn a_call_that_lacks_descriptors_leaves_the_key_free() {
    let scene = Scene::new();
    scene.once("earlier").sh("true").run();
    let ran = LIMITS.filter(|limit| with_descriptors(&scene, *limit)).count();
    assert!(0 < ran && ran < LIMITS.count(), "{ran} ran: the limits show nothing");
}

#[test]
fn a_call_that_lacks_descriptors_leaves_a_fresh_store_usable() {
    for limit in LIMITS {
        with_descriptors(&Scene::new(), limit);
    }
}
