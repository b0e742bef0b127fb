//! Has a result looked at by a command of the caller's (`--validate`).

use std::ffi::OsString;
use std::fs::File;
use std::io::PipeWriter;
use std::os::fd::OwnedFd;
use std::thread;

use anyhow::{Context as _, anyhow};

use crate::claim::attempt::Attempt;
use crate::claim::outcome::Outcome;
use crate::exit::{self, Ending};
use crate::process::launch::Streams;
use crate::process::rules::{AfterLoss, Limits, Rules, Transacting};
use crate::process::signals::Signals;
use crate::process::supervise::supervise;
use crate::store::Frames;

use super::call::Call;
use super::call::environment::late_variables;
use super::playing::{Targets, play};

/// Whether the result of a command may be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    /// It may, as far as the validator goes.
    Valid,
    /// It may not, for this reason: half a sentence about it.
    Refused(String),
}

/// The command line of a validator.
pub(super) fn validator(command: &OsString) -> [OsString; 3] {
    ["/bin/sh".into(), "-c".into(), command.clone()]
}

/// What a validator has said by its end.
pub(super) fn judgement(outcome: Outcome) -> Validity {
    match outcome {
        Outcome::Exited(0) => Validity::Valid,
        Outcome::Exited(exit::NOT_FOUND) => refused("exit status 127: was the validator found?"),
        other => refused(&other.to_string()),
    }
}

/// It may not be recorded.
pub(super) fn refused(why: &str) -> Validity {
    Validity::Refused(format!("--validate refused its result ({why})"))
}

/// Nobody has judged, which is no better than a refusal.
pub(super) fn not_begun(why: &str) -> Validity {
    Validity::Refused(format!("--validate could not be run on its result ({why})"))
}

/// Feeds the validator from a thread: it may be slow, or not read at all.
pub(super) fn feed_with(frames: Frames, feed: PipeWriter) -> std::io::Result<()> {
    let target = Targets::out_to(File::from(OwnedFd::from(feed)));
    thread::Builder::new().name("feed".into()).stack_size(64 << 10).spawn(move || {
        // A validator that has seen enough reads no further, and one that is fed
        // too little judges that.
        let _ = play(&frames, target);
    })?;
    Ok(())
}

/// Has a result judged that no command of ours has written; or ends the call, where a
/// signal has told us and the validator to end.
pub(super) fn judge<R>(
    call: &mut Call<'_, R>,
    attempt: &Attempt,
    (command, frames): (&OsString, Frames),
) -> anyhow::Result<Result<Validity, Ending>> {
    if call.signals.is_none() {
        call.signals = Some(Signals::take_over()?);
    }
    let mut newborn = call.fork_under_claim(&validator(command), Streams::Fed)?;
    if let Some(feed) = newborn.take_feed() {
        feed_with(frames, feed)?;
    }
    let running = match newborn.let_go(&late_variables(attempt, call.request.subject.kind)) {
        Ok(running) => running,
        Err(why) => return Ok(Ok(not_begun(&why.to_string()))),
    };
    let limits = Limits { timeout: None, kill_after: None, after_loss: AfterLoss::Graceful };
    let rules = Rules { limits, transacting: &Transacting::default(), tenure: None };
    let Some(signals) = &mut call.signals else {
        return Err(anyhow!("signals were not taken over"));
    };
    let ended = supervise(running, None, signals, &mut call.waker, rules, |_| ())
        .context("the validator could not be waited for")?;
    Ok(match (ended.told, ended.outcome) {
        (Some(signal), Outcome::Signaled(_)) => Err(Ending::Signal(signal as u8)),
        (_, outcome) => Ok(judgement(outcome)),
    })
}
