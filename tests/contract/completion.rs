//! Ends of attempts.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use doubletap::claim::attempt::{Extent, OutputSummary, Promise};
use doubletap::claim::outcome::Outcome;
use doubletap::store::{Completion, Frames, Keep, KeepUntil, Output, Spool, Verdict};

/// A success, recorded for ever because nobody said otherwise.
pub(crate) fn recorded() -> Completion {
    kept(None, Promise::Default)
}

/// A success, recorded for a while.
pub(crate) fn kept(span: Option<Duration>, promise: Promise) -> Completion {
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
        verdict: Verdict::Failed { rest },
        outcome: Some(Outcome::Exited(3)),
        ..recorded()
    }
}

/// The same end, with these frames for its output.
pub(crate) fn with_output(frames: &[u8], completion: Completion) -> Completion {
    output_of(Frames::Bytes(frames.to_vec()), completion)
}

/// The same end, with these frames in its spool for its output.
pub(super) fn with_spooled(spool: &Spool, frames: &[u8], completion: Completion) -> Completion {
    let mut file = spool.create().unwrap();
    file.write_all(frames).unwrap();
    output_of(Frames::File(Arc::new(file), frames.len() as u64), completion)
}

fn output_of(frames: Frames, completion: Completion) -> Completion {
    let summary = OutputSummary { bytes: frames.length(), extent: Extent::Whole };
    Completion { output: Some(Output { frames, summary, draft: None }), ..completion }
}
