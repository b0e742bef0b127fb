//! `--validate`: a command of the caller's looks at what was captured, before
//! the end is recorded. It runs under the claim and the supervision of the
//! command itself, and what it prints on standard output is not wanted.

use std::ffi::OsString;
use std::fs::File;
use std::io::PipeWriter;
use std::os::fd::OwnedFd;
use std::thread;

use crate::claim::attempt::Extent;
use crate::claim::duration::for_people;
use crate::claim::held::Claim;
use crate::claim::outcome::Outcome;
use crate::exit;
use crate::process::capture::Captured;
use crate::process::launch::{Newborn, Streams};
use crate::process::rules::Transacting;
use crate::process::supervise::{Ended, Stopped};
use crate::process::tenure::Tenure;
use crate::store::Frames;

use super::super::call::environment::late_variables;
use super::super::call::keeper::Keeper;
use super::Once;
use crate::commands::playing::{Targets, play};

/// Whether the result of a command may be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    /// It may, as far as the validator goes.
    Valid,
    /// It may not, for this reason: half a sentence about it.
    Refused(String),
}

impl Once<'_> {
    /// Has the result of a command that succeeded looked at, if that was asked
    /// for. What ends the validator for a reason that is not its own becomes the
    /// end of the attempt.
    pub(super) fn validate(
        &mut self,
        claim: &Claim,
        ended: &mut Ended,
        rules: (&Transacting, Option<&Tenure>),
        keeper: &mut Keeper,
    ) -> anyhow::Result<Validity> {
        let succeeded = ended.stopped.is_none() && ended.outcome.is_success();
        let (Some(validator), true) = (&self.args.validate, succeeded) else {
            return Ok(Validity::Valid);
        };
        let argv = ["/bin/sh".into(), "-c".into(), validator.clone()];
        let newborn = match self.fork_validator(&argv, ended.captured.as_ref()) {
            Ok(newborn) => newborn,
            Err(error) => return Ok(not_begun(&format!("{error:#}"))),
        };
        let running = match newborn.let_go(&late_variables(claim.attempt(), claim.subject().kind)) {
            Ok(running) => running,
            Err(why) => return Ok(not_begun(&why.to_string())),
        };
        let judged = self.call.see_through(running, None, rules, |waker| keeper.begin(waker))?;
        Ok(match (self.verdict(ended, &judged), &ended.captured) {
            (Validity::Refused(why), Some(captured)) if is_cut(captured) => {
                let kept = captured.recording.output.summary.bytes;
                Validity::Refused(format!(
                    "{why}; it saw only the first {kept} bytes of its output, and a larger --max-output would show it more"
                ))
            }
            (validity, _) => validity,
        })
    }

    fn fork_validator(
        &self,
        argv: &[OsString],
        captured: Option<&Captured>,
    ) -> anyhow::Result<Newborn> {
        let mut newborn = self.call.fork_under_claim(argv, Streams::Fed)?;
        if let (Some(feed), Some(captured)) = (newborn.take_feed(), captured) {
            feed_with(captured.recording.output.frames.clone(), feed)?;
        }
        Ok(newborn)
    }

    fn verdict(&self, ended: &mut Ended, judged: &Ended) -> Validity {
        let told = judged.told.is_some() && matches!(judged.outcome, Outcome::Signaled(_));
        match judged.stopped {
            Some(Stopped::Lost) => ended.stopped = Some(Stopped::Lost),
            Some(Stopped::TimedOut) => {
                let limit = for_people(self.args.run.timeout.unwrap_or_default());
                return refused(&format!("the validator ran for longer than {limit}"));
            }
            // Nothing was said of the result.
            None if told => {
                ended.outcome = judged.outcome;
                ended.told = judged.told;
            }
            None if judged.outcome == Outcome::Exited(exit::NOT_FOUND) => {
                return refused("exit status 127: was the validator found?");
            }
            None if !judged.outcome.is_success() => {
                return refused(&judged.outcome.to_string());
            }
            None => {}
        }
        Validity::Valid
    }
}

fn refused(why: &str) -> Validity {
    Validity::Refused(format!("--validate refused its result ({why})"))
}

/// Nobody has judged, which is no better than a refusal.
fn not_begun(why: &str) -> Validity {
    Validity::Refused(format!("--validate could not be run on its result ({why})"))
}

fn is_cut(captured: &Captured) -> bool {
    captured.recording.output.summary.extent == Extent::Truncated
}

/// Feeds the validator from a thread: it may be slow, or not read at all.
fn feed_with(frames: Frames, feed: PipeWriter) -> std::io::Result<()> {
    let target = Targets::out_to(File::from(OwnedFd::from(feed)));
    thread::Builder::new().name("feed".into()).stack_size(64 << 10).spawn(move || {
        // A validator that has seen enough reads no further, and one that is fed
        // too little judges that.
        let _ = play(&frames, target);
    })?;
    Ok(())
}
