//! Looking for what is wrong: what has not ended, and what is unsound.

use std::time::Duration;

use doubletap::store::{Force, Grade};

use super::stage::{MS, Stage};

/// The keys of what has not ended, in order.
fn unended(stage: &mut Stage) -> Vec<String> {
    let unended = stage.store.unended().unwrap();
    unended.iter().map(|(subject, _)| subject.key.to_string()).collect()
}

fn what_has_not_ended_is_told_newest_first(stage: &mut Stage) {
    stage.done("done");
    stage.failed("failed");
    let first = stage.won("first");
    stage.clock.pass(MS);
    let second = stage.won("second");
    let _third = stage.won("forgotten");
    let _ = stage.forget("forgotten", Force::Yes);
    assert_eq!(unended(stage), ["second", "first"]);
    let fences: Vec<_> = stage.store.unended().unwrap().iter().map(|(_, a)| a.fence).collect();
    assert_eq!(fences, [second.attempt().fence, first.attempt().fence]);
    stage.complete(second, &super::completion::recorded());
    assert_eq!(unended(stage), ["first"]);
}

fn nothing_is_wrong_with_a_sound_store(stage: &mut Stage) {
    stage.done("done");
    let _claim = stage.won("running");
    stage.clock.pass(Duration::from_secs(1));
    let findings = stage.store.examine();
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!((finding.grade, finding.remedy), (Grade::Ok, None), "{}", finding.found);
    }
}

every_store!(what_has_not_ended_is_told_newest_first, nothing_is_wrong_with_a_sound_store);
