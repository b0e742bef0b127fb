//! Spends a claim on how its command ended, and ends as the command did.

use std::mem;
use std::thread;
use std::time::{Duration, Instant};

use crate::claim::attempt::Extent;
use crate::claim::decide::{Terms, UnresolvedWhy};
use crate::claim::duration::for_people;
use crate::claim::held::Claim;
use crate::claim::outcome::Outcome;
use crate::claim::time::{BootMs, WallMs};
use crate::cli::once::OnCrashArg;
use crate::exit::{self, Ending};
use crate::place::Place;
use crate::process::capture::Captured;
use crate::process::clock;
use crate::process::recorder::Recording;
use crate::process::signals::Signals;
use crate::process::source::Delivery;
use crate::process::supervise::{Ended, Stopped};
use crate::process::tenure::until;
use crate::report::line::CallOutcome;
use crate::report::unrecorded::{Next, Unwritten};
use crate::store::{Completion, LostWhy, Owned, Store, StoreError, Trouble, Unrecorded, Verdict};

use super::super::call::running::ending;
use super::super::judging::Validity;
use super::super::keeping::keep;
use super::Once;
use super::cgi::answers;

/// The pause between two tries to record an end.
const PAUSE: Duration = Duration::from_millis(100);

impl Once<'_> {
    /// Spends the claim on how the command ended.
    pub(super) fn end(
        &mut self,
        store: Box<dyn Store>,
        claim: Claim,
        give_up_at: BootMs,
        mut ended: Ended,
        validity: &Validity,
    ) -> Ending {
        let mut captured = ended.captured.take();
        let mut delivery = captured.as_ref().map_or(Delivery::Complete, |c| c.delivery.clone());
        let held_back = captured.as_mut().map(|captured| mem::take(&mut captured.held_back));
        if let Some(captured) = &captured {
            self.tell_of_trouble(&captured.recording);
        }
        let unfit = self.look_at_answer(captured.as_mut(), &ended);
        self.hear_once_more(&mut ended);
        let judged = (validity, unfit);
        let completion = self.completion(claim.attempt().started, &ended, captured, judged);
        let extent = completion.output.as_ref().map(|o| (o.summary.bytes, o.summary.extent));
        self.call.account.ended(Some(ended.outcome));
        self.call.account.ran(ended.run, extent);
        let is_record = matches!(completion.verdict, Verdict::Recorded { .. });
        let number = claim.attempt().number;
        let began = Instant::now();
        let spent = self.spend(store, claim, completion, give_up_at);
        self.call.account.in_store(began);
        if let Some(held_back) = held_back {
            let handed_on = held_back.hand_on(self.call.signals.as_mut(), &ended);
            delivery = delivery.and(handed_on);
        }
        if let Delivery::Failed(why) = &delivery {
            let key = self.call.request.title();
            self.call.context.voice.warn(&format!("{key}: its output could not be written: {why}"));
        }
        match spent {
            Ok(Owned::Yes) if ended.stopped == Some(Stopped::Lost) => {
                let next = self.after_failure(number);
                self.not_renewed(ended.outcome, next)
            }
            Err(_) if ended.stopped == Some(Stopped::Lost) => {
                let next = self.after_crash(number);
                self.not_renewed(ended.outcome, next)
            }
            Ok(Owned::Yes) if ended.stopped == Some(Stopped::TimedOut) => {
                self.call.timed_out(&ended)
            }
            Ok(Owned::Yes) => match validity {
                Validity::Valid => self.written(&ended, is_record, &delivery),
                Validity::Refused(why) => self.refused(why),
            },
            Ok(Owned::Lost(why)) => self.lost(ended.outcome, why),
            Err(error) => {
                let next = self.after_crash(number);
                let unwritten =
                    if is_record { Unwritten::Record } else { Unwritten::Failure(next) };
                let outcome = told_outcome(&ended, validity);
                self.not_recorded((outcome, unwritten), next, &error)
            }
        }
    }

    /// Who tells everybody of a service to end may have reached the command first, and us
    /// only when it had ended of that.
    fn hear_once_more(&mut self, ended: &mut Ended) {
        let Outcome::Signaled(number) = ended.outcome else { return };
        let told = self.call.signals.as_mut().and_then(Signals::told_to_end_so_far);
        ended.told = ended.told.or(told.filter(|signal| *signal as i32 == i32::from(number)));
    }

    fn completion(
        &self,
        started: WallMs,
        ended: &Ended,
        captured: Option<Captured>,
        (validity, unfit): (&Validity, Option<String>),
    ) -> Completion {
        let ours = match ended.outcome {
            Outcome::Signaled(number) => {
                ended.told.is_some()
                    || ended.handed_on.iter().any(|signal| *signal as i32 == i32::from(number))
            }
            Outcome::Exited(_) => false,
        };
        let is_record = ended.stopped.is_none()
            && *validity == Validity::Valid
            && unfit.is_none()
            && self.args.outcome.record().keeps(ended.outcome)
            && !ours;
        let verdict = if is_record {
            let calendar = match &self.call.request.terms {
                Terms::Once(terms) => terms.calendar.as_ref(),
                Terms::Lease(_) => None,
            };
            Verdict::Recorded { keep: keep(&self.args.keep, calendar, started) }
        } else {
            Verdict::Failed { rest: self.args.outcome.retry_after }
        };
        let reason = match (ended.stopped, validity) {
            (Some(Stopped::Lost), _) => Some("its claim was lost".to_owned()),
            (Some(Stopped::TimedOut), _) => {
                Some(format!("it ran for {} and was stopped", for_people(ended.run)))
            }
            (None, Validity::Refused(why)) => Some(why.clone()),
            (None, Validity::Valid) => unfit,
        };
        Completion {
            verdict,
            outcome: Some(told_outcome(ended, validity)),
            reason,
            run: Some(ended.run),
            output: captured.map(|captured| captured.recording.output),
        }
    }

    /// Writes the end of the attempt: again and again until its lease ends,
    /// and without the output where only that fits (DESIGN section 8).
    fn spend(
        &mut self,
        mut store: Box<dyn Store>,
        mut claim: Claim,
        mut completion: Completion,
        give_up_at: BootMs,
    ) -> Result<Owned, StoreError> {
        let what = (claim.attempt().fence, claim.attempt().group);
        let mut told = false;
        loop {
            self.call.wait_until(&mut *store, give_up_at);
            let error = match store.complete(claim, &completion) {
                Ok(owned) => {
                    self.call.spent(&mut *store, what, owned);
                    // The end of the process closes the file faster than
                    // SQLite does.
                    mem::forget(store);
                    return Ok(owned);
                }
                Err(Unrecorded { claim: unspent, error }) => {
                    claim = unspent;
                    error
                }
            };
            let is_too_much = matches!(error.trouble(), Trouble::Full | Trouble::Output);
            if is_too_much && self.shed_output(&mut completion, &error) {
                continue;
            }
            let hopeless = matches!(error.trouble(), Trouble::Damaged | Trouble::Refused);
            let left = until(give_up_at, clock::boot());
            if hopeless || left.is_zero() {
                return Err(error);
            }
            if !told {
                told = true;
                let left = for_people(left);
                let key = self.call.request.title();
                let yet = match error.trouble() {
                    Trouble::Unacknowledged => "is not acknowledged yet",
                    _ => "cannot be recorded yet",
                };
                self.call
                    .context
                    .voice
                    .warn(&format!("{key}: its end {yet}, trying for another {left}: {error}"));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Says that the spool could not take the whole output.
    fn tell_of_trouble(&self, recording: &Recording) {
        if let Some(why) = &recording.trouble {
            let (key, kept) = (self.call.request.title(), recording.output.summary.bytes);
            self.call
                .context
                .voice
                .warn(&format!("{key}: only the first {kept} bytes of its output are kept: {why}"));
        }
    }

    /// Gives the output up, so that at least the status fits; says whether
    /// there was any.
    fn shed_output(&mut self, completion: &mut Completion, error: &StoreError) -> bool {
        let shed = completion.output.as_mut().filter(|output| output.frames.length() > 0);
        let Some(output) = shed else { return false };
        let key = self.call.request.title();
        self.call.context.voice.warn(&format!("{key}: its output is not kept: {error}"));
        self.call.account.output_was_shed();
        output.frames.clear();
        output.summary.bytes = 0;
        output.summary.extent = Extent::Truncated;
        if !self.least.is_empty() {
            *output = answers::little(&mem::take(&mut self.least), Extent::Truncated);
        }
        true
    }

    fn written(&mut self, ended: &Ended, is_record: bool, delivery: &Delivery) -> Ending {
        let key = self.call.request.title();
        self.call.context.voice.tell(|| {
            let what = if is_record { "recorded" } else { "not recorded" };
            format!("{key}: ran for {}, {}, {what}", for_people(ended.run), ended.outcome)
        });
        self.call.account.settle(if is_record { CallOutcome::Ran } else { CallOutcome::Failed });
        match delivery {
            Delivery::Failed(_) if is_record => Ending::Status(exit::OUTPUT_LOST),
            Delivery::Failed(_) | Delivery::Complete => ending(ended),
        }
    }

    /// The command succeeded, and its result is none.
    fn refused(&mut self, why: &str) -> Ending {
        let key = self.call.request.title();
        let sentence = format!("{key}: the command succeeded, but {why}; it is not recorded");
        self.call.context.voice.warn(&sentence);
        self.call.account.settle(CallOutcome::Refused);
        Ending::Status(exit::REFUSED)
    }

    fn not_recorded(
        &mut self,
        (outcome, unwritten): (Outcome, Unwritten),
        next: Next,
        error: &StoreError,
    ) -> Ending {
        let topic = self.call.topic();
        let sentence = match error.trouble() {
            Trouble::Unacknowledged => {
                topic.not_acknowledged(outcome, unwritten, (error.what(), next))
            }
            _ => topic.not_recorded(outcome, unwritten, error),
        };
        self.call.context.voice.warn(&sentence);
        self.call.account.settle(CallOutcome::NotRecorded);
        Ending::Status(exit::NOT_RECORDED)
    }

    /// What becomes of a key of which the store knows that this attempt failed.
    fn after_failure(&self, number: u32) -> Next {
        let exhausted = self.args.outcome.history.max_attempts.is_some_and(|most| number >= most);
        if exhausted { Next::Refused(UnresolvedWhy::Exhausted) } else { Next::Runs }
    }

    /// What becomes of one of which it knows only that this attempt had begun.
    fn after_crash(&self, number: u32) -> Next {
        match (self.args.outcome.history.on_crash(), self.after_failure(number)) {
            (OnCrashArg::Stop, _) => Next::Refused(UnresolvedWhy::Interrupted),
            (OnCrashArg::Rerun, Next::Runs) if self.is_on_server() => Next::RunsAfterLease,
            (OnCrashArg::Rerun, next) => next,
        }
    }

    /// Where nobody sees that we have ended.
    fn is_on_server(&self) -> bool {
        matches!(self.call.context.place(), Place::Server(_))
    }

    /// The command was stopped, because somebody else could have begun otherwise.
    fn not_renewed(&mut self, outcome: Outcome, next: Next) -> Ending {
        let lease = self.call.request.lease;
        let topic = self.call.topic();
        self.call.context.voice.warn(&topic.claim_not_renewed(lease, outcome, next));
        self.call.account.settle(CallOutcome::Lost);
        Ending::Status(exit::LOST)
    }

    fn lost(&mut self, outcome: Outcome, why: LostWhy) -> Ending {
        let topic = self.call.topic();
        self.call.context.voice.warn(&topic.lost(outcome, why));
        self.call.account.settle(CallOutcome::Lost);
        Ending::Status(exit::LOST)
    }
}

/// The outcome that those who wait for the command are given: ours.
fn told_outcome(ended: &Ended, validity: &Validity) -> Outcome {
    match (ended.stopped, validity) {
        (Some(Stopped::TimedOut), _) => Outcome::Exited(exit::TIMEOUT),
        (None, Validity::Refused(_)) => Outcome::Exited(exit::REFUSED),
        (Some(Stopped::Lost), _) | (None, Validity::Valid) => ended.outcome,
    }
}
