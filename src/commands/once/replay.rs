//! Gives a recorded end again: the same bytes on the same streams, in the
//! order in which they arrived, and the same exit status.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::time::Instant;

use crate::claim::attempt::{Attempt, Extent, OutputSummary, State};
use crate::claim::duration::for_people;
use crate::claim::outcome::Outcome;
use crate::claim::time::Clock as _;
use crate::cli::once::ReplayArg;
use crate::exit::{self, Ending};
use crate::process::frames::{self, Stream};
use crate::process::signals::Signals;
use crate::process::source::{Delivery, write_all};
use crate::store::Store as _;
use crate::store::sqlite::SqliteStore;

use super::Call;

/// An end to be given again, read whole.
pub(super) struct Recorded {
    attempt: Attempt,
    frames: Option<Vec<u8>>,
}

impl Call<'_> {
    /// Reads what is to be given again; nothing if it is not all there.
    pub(super) fn read_output(
        &mut self,
        store: &mut SqliteStore,
        attempt: Attempt,
    ) -> anyhow::Result<Option<Recorded>> {
        let began = Instant::now();
        let Some(expected) = kept(&attempt).filter(|_| self.args.replay() == ReplayArg::Output)
        else {
            return Ok(Some(Recorded { attempt, frames: None }));
        };
        let frames = store.output(attempt.fence)?;
        self.account.in_store(began);
        let whole = frames.filter(|frames| {
            let bytes: usize = frames::read(frames).map(|(_, bytes)| bytes.len()).sum();
            bytes as u64 == expected.bytes
        });
        Ok(whole.map(|frames| Recorded { attempt, frames: Some(frames) }))
    }

    /// Gives an end again: that of a record, or of a failure that this call has
    /// waited for.
    pub(super) fn replay(&mut self, store: SqliteStore, recorded: &Recorded) -> Ending {
        // Nothing is being read any more, so a slow reader holds nobody up; the
        // end of the process closes the file faster than SQLite does.
        std::mem::forget(store);
        let Recorded { attempt, frames } = recorded;
        self.account.replayed(attempt);
        // There is no command to hand signals on to: they are ours.
        if let Some(signal) = self.signals.take().and_then(Signals::give_back) {
            return Ending::Signal(signal as u8);
        }
        let delivery = frames.as_deref().map_or(Delivery::Complete, play);
        self.remark(attempt, &delivery);
        let outcome = attempt.outcome().unwrap_or(Outcome::Exited(0));
        Ending::Status(match delivery {
            Delivery::Failed(_) if attempt.state == State::Done => exit::OUTPUT_LOST,
            Delivery::Failed(_) | Delivery::Complete => outcome.status(),
        })
    }

    fn remark(&self, attempt: &Attempt, delivery: &Delivery) {
        let (voice, key) = (self.context.voice, &self.request.subject.key);
        let replayed = kept(attempt).filter(|_| self.args.replay() == ReplayArg::Output);
        if let Some(output) = replayed.filter(|output| output.extent == Extent::Truncated) {
            voice.warn(&format!(
                "{key}: only the first {} bytes of its output are on record",
                output.bytes
            ));
        }
        if let Delivery::Failed(why) = delivery {
            voice.warn(&format!("{key}: its recorded output could not be written: {why}"));
        }
        let reason = attempt.end.as_ref().and_then(|end| end.reason.as_deref());
        if let Some(reason) = reason.filter(|_| attempt.state == State::Failed) {
            voice.warn(&format!("{key}: {reason}"));
        }
        voice.tell(|| {
            let now = self.context.clock.now().wall;
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

fn kept(attempt: &Attempt) -> Option<OutputSummary> {
    attempt.end.as_ref().and_then(|end| end.output)
}

/// Writes frames to our own standard output and error. A reader that has gone
/// is no error: it has what it wanted.
fn play(frames: &[u8]) -> Delivery {
    let open = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().ok().map(File::from);
    let mut out = open(io::stdout().as_fd());
    let mut err = open(io::stderr().as_fd());
    let mut delivery = Delivery::Complete;
    for (stream, bytes) in frames::read(frames) {
        let target = match stream {
            Stream::Out => &mut out,
            Stream::Err => &mut err,
        };
        match target.as_mut().map(|file| write_all(file, bytes)) {
            None | Some(Ok(())) => {}
            Some(Err(why)) => {
                *target = None;
                if why.kind() != io::ErrorKind::BrokenPipe {
                    delivery = Delivery::Failed(why.to_string());
                }
            }
        }
    }
    delivery
}
