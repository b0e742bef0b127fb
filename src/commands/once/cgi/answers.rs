//! What becomes of an answer that a handler gives: whether it is kept for replay, and how
//! much of it.

use std::io;

use crate::claim::attempt::{Extent, OutputSummary};
use crate::claim::http::response::{BEGINNING, Response};
use crate::claim::http::statuses::Statuses;
use crate::process::capture::{Captured, Pump};
use crate::process::frames::{FrameWriter, Stream};
use crate::process::launch::Pipes;
use crate::process::recorder::Recorder;
use crate::process::supervise::Ended;
use crate::process::wake::Waker;
use crate::store::{Frames, Output, Spool};

use super::super::Once;

/// What is to be seen to where the output of a command is the answer to a request.
#[derive(Clone, Copy, Debug)]
pub(in crate::commands::once) struct Answers<'a> {
    /// Those that are kept.
    pub(super) statuses: &'a Statuses,
    /// How much of them.
    pub(super) extent: Kept,
}

/// How much of an answer is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// All of it.
    Whole,
    /// Its status: it is private.
    Status,
}

impl Answers<'_> {
    /// What hands an answer on and keeps it. It is kept even if nobody waits for it any
    /// more: who has lost it asks again. It is not whole before it is on record: some
    /// servers end a handler whose answer is.
    pub(in crate::commands::once) fn pump(
        self,
        pipes: Pipes,
        (limit, spool): (Option<u64>, Spool),
        waker: &mut Waker,
    ) -> io::Result<Pump> {
        let recorder = match self.extent {
            Kept::Whole => Recorder::new(limit, spool),
            Kept::Status => Recorder::new(Some(0), Spool::Unnamed),
        };
        let mut pump = Pump::new(pipes, recorder.remembering(BEGINNING), waker)?;
        pump.outlast_readers();
        pump.hold_the_end_back();
        Ok(pump)
    }

    /// What hands an answer on and keeps no more than how it begins.
    pub(in crate::commands::once) fn watch(
        self,
        pipes: Pipes,
        waker: &mut Waker,
    ) -> io::Result<Pump> {
        Answers { extent: Kept::Status, ..self }.pump(pipes, (None, Spool::Unnamed), waker)
    }
}

impl Once<'_> {
    /// Looks at the answer that a command has given, where it was to give one, and says
    /// why it is not to be replayed, if it is not.
    pub(in crate::commands::once) fn look_at_answer(
        &mut self,
        captured: Option<&mut Captured>,
        ended: &Ended,
    ) -> Option<String> {
        let (Some(answers), Some(captured)) = (self.answers, captured) else { return None };
        let recording = &mut captured.recording;
        let is_silent = recording.beginning.is_empty();
        if is_silent {
            self.call.account.kept_silent();
        }
        let response = Response::read(&recording.beginning);
        let has_succeeded = ended.stopped.is_none() && ended.outcome.is_success();
        // Of an attempt that has failed nobody is told a status that it has not given.
        if !is_silent && (response.is_one() || has_succeeded) {
            self.least = response.without_body();
        }
        if answers.extent == Kept::Status {
            recording.output = little(&self.least, Extent::Whole);
        }
        let status = response.status();
        let is_kept = answers.statuses.include(status);
        (!is_kept).then(|| format!("it answered with the HTTP status {status}"))
    }
}

/// An output that is no more than this.
pub(in crate::commands::once) fn little(text: &[u8], extent: Extent) -> Output {
    let mut frames = FrameWriter::default();
    if !text.is_empty() {
        frames.push(Stream::Out, text);
    }
    let summary = OutputSummary { bytes: text.len() as u64, extent };
    Output { frames: Frames::Bytes(frames.into_bytes()), summary, draft: None }
}
