//! What is pruned of keys that more than one host has run.

use super::engine::{ELSEWHERE, Engine};
use crate::support::until;

every_server!(a_key_that_another_host_has_taken_over_is_pruned_like_any_other);

fn a_key_that_another_host_has_taken_over_is_pruned_like_any_other<E: Engine>() {
    let scene = E::shared().scene();
    scene.interrupted("k --claim-ttl 2s");
    let next = scene.attempt("k -q --claim-ttl 2s --wait 30s");
    next.through_sh(&format!(r#"{ELSEWHERE}"$@""#)).run();
    scene.interrupted("interrupted --claim-ttl 2s");
    let prune = |words: &str| {
        let pruned = scene.json(&format!("prune --older-than 2s --json {words}"));
        (pruned["keys"].clone(), pruned["attempts"].clone())
    };
    until("it is older than that", || prune("--dry-run") == (1.into(), 2.into()));
    assert_eq!(prune(""), (1.into(), 2.into()));
    assert_eq!(["k", "interrupted"].map(|key| scene.state(key)), ["absent", "interrupted"]);
}
