//! Waiting for a condition, with a deadline that fails in a sentence.

use std::thread;
use std::time::{Duration, Instant};

use super::{Done, Running};

/// How long anything may take on a slow, busy machine before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// Polls until `condition` holds; fails with a sentence if it never does.
#[track_caller]
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain until {what}");
        thread::sleep(Duration::from_millis(4));
    }
}

/// Waits for all of them, checking each as its call was told to.
#[track_caller]
pub(crate) fn finished(running: impl IntoIterator<Item = Running>) -> Vec<Done> {
    running.into_iter().map(Running::finish).collect()
}
