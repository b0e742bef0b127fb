//! Ends of attempts.

use std::time::Duration;

use doubletap::claim::attempt::{Extent, OutputSummary, Promise};
use doubletap::claim::outcome::Outcome;
use doubletap::store::{Completion, Keep, KeepUntil, Output, Verdict};

/// A success, recorded for ever because nobody said otherwise.
pub(super) fn recorded() -> Completion {
    kept(None, Promise::Default)
}

/// A success, recorded for a while.
pub(super) fn kept(span: Option<Duration>, promise: Promise) -> Completion {
    Completion {
        verdict: Verdict::Recorded {
            keep: Keep { until: span.map_or(KeepUntil::Pruned, KeepUntil::For), promise },
        },
        outcome: Some(Outcome::Exited(0)),
        reason: None,
        run: Some(Duration::from_millis(1234)),
        output: None,
    }
}

/// A failure, after which the next call may run at once.
pub(super) fn failed() -> Completion {
    rested(None)
}

/// A failure, after which the key rests.
pub(super) fn rested(rest: Option<Duration>) -> Completion {
    Completion {
        verdict: Verdict::Released { rest },
        outcome: Some(Outcome::Exited(3)),
        ..recorded()
    }
}

/// The same end, with these frames for its output.
pub(super) fn with_output(frames: &[u8], completion: Completion) -> Completion {
    let summary = OutputSummary { bytes: frames.len() as u64, extent: Extent::Whole };
    Completion { output: Some(Output { frames: frames.to_vec(), summary }), ..completion }
}
