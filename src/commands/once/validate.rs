//! `--validate`: a command of the caller's looks at what was captured, before
//! the end is recorded. It runs under the claim and the supervision of the
//! command itself, and what it prints on standard output is not wanted.
//!
//! The row in the store names the command's processes, not the validator's: what
//! a validator has started may outlive a wrapper that is killed, and hinders
//! nobody.

use std::ffi::OsString;

use crate::claim::attempt::Extent;
use crate::claim::duration::for_people;
use crate::claim::held::Claim;
use crate::claim::outcome::Outcome;
use crate::process::capture::Captured;
use crate::process::launch::{Newborn, Streams};
use crate::process::rules::Transacting;
use crate::process::signals::Signals;
use crate::process::supervise::{Ended, Stopped};
use crate::process::tenure::Tenure;

use super::super::call::environment::late_variables;
use super::super::call::keeper::Keeper;
use super::super::judging::{
    Validity, feed_with, judgement, not_begun, refused, validator as argv_of,
};
use super::Once;

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
        let (Some(validator), true) = (&self.args.outcome.validate, succeeded) else {
            return Ok(Validity::Valid);
        };
        let newborn = match self.fork_validator(&argv_of(validator), ended.captured.as_ref()) {
            Ok(newborn) => newborn,
            Err(error) => return Ok(not_begun(&format!("{error:#}"))),
        };
        // There was nobody whom we could have told of it since the command's end.
        if let Some(signal) = self.call.signals.as_mut().and_then(Signals::told_to_end) {
            ended.outcome = Outcome::Signaled(u8::try_from(signal as i32).unwrap_or(u8::MAX));
            ended.told = Some(signal);
            return Ok(Validity::Valid);
        }
        let running = match newborn.let_go(&late_variables(claim.attempt(), claim.subject().kind)) {
            Ok(running) => running,
            Err(why) => return Ok(not_begun(&why.to_string())),
        };
        let judged = self.call.see_through(running, None, rules, |waker| keeper.begin(waker))?;
        if was_cut_off(ended, &judged) {
            return Ok(Validity::Valid);
        }
        Ok(match (self.judgement(&judged), &ended.captured) {
            (Validity::Refused(why), Some(captured)) if self.saw_a_part(captured) => {
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

    /// What the validator said.
    fn judgement(&self, judged: &Ended) -> Validity {
        if judged.stopped == Some(Stopped::TimedOut) {
            let limit = for_people(self.args.run.timeout.unwrap_or_default());
            return refused(&format!("the validator ran for longer than {limit}"));
        }
        judgement(judged.outcome)
    }

    /// Whether there was more output than `--max-output` let us keep.
    fn saw_a_part(&self, captured: &Captured) -> bool {
        let (summary, limit) = (captured.recording.output.summary, self.args.outcome.max_output());
        summary.extent == Extent::Truncated && limit == Some(summary.bytes)
    }
}

/// Whether something else ended the validator before it had judged; that is the
/// end of the attempt then, and nothing is recorded.
fn was_cut_off(ended: &mut Ended, judged: &Ended) -> bool {
    if judged.stopped == Some(Stopped::Lost) {
        ended.stopped = judged.stopped;
        return true;
    }
    let told = judged.told.is_some() && matches!(judged.outcome, Outcome::Signaled(_));
    if told && judged.stopped.is_none() {
        ended.outcome = judged.outcome;
        ended.told = judged.told;
    }
    told && judged.stopped.is_none()
}
