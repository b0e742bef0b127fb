//! Gives a recorded end again: the same bytes on the same streams, in the
//! order in which they arrived, and the same exit status.

use std::time::Instant;

use crate::claim::attempt::{Attempt, Extent, State};
use crate::claim::duration::for_people;
use crate::claim::outcome::Outcome;
use crate::cli::once::ReplayArg;
use crate::exit::{self, Ending};
use crate::process::signals::Signals;
use crate::process::source::Delivery;
use crate::store::{Frames, Store};

use super::super::call::account::Spoke;
use super::Once;
use super::cgi::again;
use crate::commands::playing::{Targets, are_whole, deliver};

/// An end to be given again: all of it that the store keeps, so that nothing is
/// read from there while somebody slow reads us.
pub(super) struct Recorded {
    attempt: Attempt,
    frames: Option<Frames>,
}

impl Once<'_> {
    /// Reads what is to be given again; nothing if it is not all there.
    pub(super) fn read_output(
        &mut self,
        store: &mut dyn Store,
        attempt: Attempt,
    ) -> anyhow::Result<Option<Recorded>> {
        let began = Instant::now();
        let Some(expected) = attempt.output().filter(|_| self.args.replay() == ReplayArg::Output)
        else {
            return Ok(Some(Recorded { attempt, frames: None }));
        };
        // A wait asks for little, and in haste.
        store.wait_at_most(self.call.context.store_timeout());
        let frames = match store.output(attempt.fence)? {
            // Its end is given all the same, and that its output is gone is told.
            None if attempt.has_let_go_of_output() => Some(Frames::Bytes(Vec::new())),
            frames => frames,
        };
        self.call.account.in_store(began);
        let whole = frames.filter(|frames| are_whole(frames, expected.bytes));
        Ok(whole.map(|frames| Recorded { attempt, frames: Some(frames) }))
    }

    /// Gives an end again: that of a record, or of a failure that this call has
    /// waited for.
    pub(super) fn replay(&mut self, store: Box<dyn Store>, recorded: &Recorded) -> Ending {
        // Nothing is being read any more, so a slow reader holds nobody up; the
        // end of the process closes the file faster than SQLite does.
        std::mem::forget(store);
        let Recorded { attempt, frames } = recorded;
        self.call.account.replayed(attempt);
        // There is no command to hand signals on to: they are ours.
        if let Some(signal) = self.call.signals.take().and_then(Signals::give_back) {
            return Ending::Signal(signal as u8);
        }
        let delivery = match (frames, attempt.output(), self.answers) {
            (Some(frames), Some(expected), None) => deliver(frames, expected, Targets::both),
            (_, _, None) => Delivery::Complete,
            (frames, output, Some(_)) => {
                // A server may end us as soon as it has all of an answer.
                self.call.account.close(self.call.context);
                let (delivery, spoke) = again::give(attempt, frames.as_ref().zip(output));
                if spoke == Spoke::Yes {
                    self.call.account.spoke();
                }
                delivery
            }
        };
        self.remark(attempt, &delivery);
        let outcome = attempt.outcome().unwrap_or(Outcome::Exited(0));
        Ending::Status(match delivery {
            Delivery::Failed(_) if attempt.state == State::Done => exit::OUTPUT_LOST,
            Delivery::Failed(_) | Delivery::Complete => outcome.status(),
        })
    }

    fn remark(&self, attempt: &Attempt, delivery: &Delivery) {
        let (voice, key) = (self.call.context.voice, self.call.request.title());
        let replayed = attempt.output().filter(|_| self.args.replay() == ReplayArg::Output);
        if let Some(output) = replayed.filter(|output| output.extent == Extent::Truncated) {
            voice.warn(&self.call.topic().truncated(output));
        }
        if let Delivery::Failed(why) = delivery {
            voice.warn(&format!("{key}: its recorded output could not be given again: {why}"));
        }
        let reason = attempt.end.as_ref().and_then(|end| end.reason.as_deref());
        if let Some(reason) = reason.filter(|_| attempt.state == State::Failed) {
            voice.warn(&format!("{key}: {reason}"));
        }
        voice.tell(|| {
            let now = self.call.context.now().wall;
            let age = attempt.end.as_ref().map_or(attempt.started, |end| end.at).age(now);
            let outcome = attempt.outcome().map_or_else(String::new, |o| format!(", {o}"));
            format!(
                "{key}: replayed attempt {} of {} ago{outcome}",
                attempt.generation,
                for_people(age)
            )
        });
    }
}
