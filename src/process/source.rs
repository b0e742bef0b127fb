//! One stream of a command: read, recorded, and handed on.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::claim::http::restraint::Restraint;

use super::frames::Stream;
use super::held_back::HeldBack;
use super::raw::waiting_bytes;
use super::recorder::Recorder;

/// What a descriptor that is ready takes without making its writer wait
/// (`PIPE_BUF` of `pipe(7)`).
pub(super) const AT_ONCE: usize = 4096;

/// What became of our own standard output and standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Everything was written, or nobody wanted it any more.
    #[default]
    Complete,
    /// Something could not be written, for this reason.
    Failed(String),
}

impl Delivery {
    /// What became of it together with what came later.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        match self {
            Self::Complete => later,
            Self::Failed(_) => self,
        }
    }
}

/// What both streams of a command come to.
pub(super) struct Shared {
    /// Gone once the recording was ended.
    recorder: Mutex<Option<Recorder>>,
    delivery: Mutex<Delivery>,
    held_back: Mutex<HeldBack>,
    /// Empty once somebody else may read the pipes.
    pipes: Mutex<Vec<(Stream, Weak<File>)>>,
    /// Apart from the rest: whoever owns the command asks for it, and must not
    /// wait for a spool that is being written.
    is_done: AtomicBool,
}

/// Whether everything has been read and handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not yet.
    Under,
    /// It has.
    Done,
}

impl Shared {
    pub(super) fn new(recorder: Recorder, sources: [&Source; 2]) -> Self {
        let pipes = sources.map(|source| {
            (source.stream, source.pipe.as_ref().map_or_else(Weak::new, Arc::downgrade))
        });
        Self {
            recorder: Mutex::new(Some(recorder)),
            delivery: Mutex::new(Delivery::Complete),
            held_back: Mutex::default(),
            pipes: Mutex::new(pipes.into()),
            is_done: AtomicBool::new(false),
        }
    }

    /// Does something with the recorder, while there is one.
    pub(super) fn with_recorder<T>(&self, work: impl FnOnce(&mut Recorder) -> T) -> Option<T> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(work)
    }

    /// Ends the recording; nothing is recorded from then on.
    pub(super) fn take_recorder(&self) -> Option<Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Records what is in the pipes, for who has taken the recorder: then nobody else here
    /// reads them any more. Gives those that are open still.
    pub(super) fn record_the_rest(&self, recorder: &mut Recorder) -> Vec<Arc<File>> {
        let mut buffer = [0; AT_ONCE];
        let mut open = Vec::new();
        for (stream, pipe) in &*self.pipes.lock().unwrap_or_else(PoisonError::into_inner) {
            let Some(pipe) = pipe.upgrade() else { continue };
            let mut left = waiting_bytes(&*pipe);
            while left > 0 {
                let piece = &mut buffer[..left.min(AT_ONCE)];
                let Ok(count @ 1..) = record(*stream, &pipe, recorder, piece) else {
                    recorder.mark_truncated();
                    break;
                };
                left -= count;
                if recorder.is_full() {
                    recorder.store();
                }
            }
            open.push(pipe);
        }
        open
    }

    /// Leaves the pipes to another process, which reads what it does not record.
    pub(super) fn give_up_pipes(&self) {
        self.pipes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(super) fn delivery(&self) -> Delivery {
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn delivery_failed(&self, why: &io::Error) {
        *self.delivery.lock().unwrap_or_else(PoisonError::into_inner) =
            Delivery::Failed(why.to_string());
    }

    /// What is still to be handed on, for whoever does that now.
    pub(super) fn take_held_back(&self) -> HeldBack {
        std::mem::take(&mut *self.held_back.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn hold_back(&self, bytes: &[u8]) {
        let held = self.held_back.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
        if let Err(why) = held {
            self.delivery_failed(&why);
        }
    }

    pub(super) fn progress(&self) -> Progress {
        if self.is_done.load(Ordering::Acquire) { Progress::Done } else { Progress::Under }
    }

    pub(super) fn set_done(&self) {
        self.is_done.store(true, Ordering::Release);
    }
}

/// What becomes of a command when nobody reads its output any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangUp {
    /// Nobody reads it either: its next write ends it, as it would have without us.
    ClosesPipe,
    /// It goes on, and all of its output is kept.
    ChangesNothing,
}

/// One stream: the command's pipe and our own descriptor.
pub(super) struct Source {
    stream: Stream,
    pub(super) pipe: Option<Arc<File>>,
    target: Option<File>,
    pub(super) hang_up: HangUp,
    /// What must wait for the end of the command, if anything must.
    pub(super) restraint: Option<Restraint>,
    /// Read and recorded, and still to be handed on.
    pub(super) pending: Vec<u8>,
    /// What the command had written when it ended, and is still to be read:
    /// as much as a slow reader takes time for.
    pub(super) owed: usize,
}

/// Whether going on may make us wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    AtOnce,
    MayWait,
}

impl Source {
    pub(super) fn new(stream: Stream, pipe: OwnedFd, target: BorrowedFd<'_>) -> io::Result<Self> {
        let target = File::from(target.try_clone_to_owned()?);
        let (pipe, target) = (Some(Arc::new(pipe.into())), Some(target));
        Ok(Self {
            stream,
            pipe,
            target,
            hang_up: HangUp::ClosesPipe,
            restraint: None,
            pending: Vec::new(),
            owed: 0,
        })
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    pub(super) fn note_owed(&mut self) {
        self.owed = self.pipe.as_ref().map_or(0, waiting_bytes);
    }

    pub(super) fn has_more(&self) -> bool {
        self.pipe.as_ref().is_some_and(|pipe| waiting_bytes(pipe) > 0)
    }

    fn close(&mut self) {
        self.pipe = None;
        self.owed = 0;
    }

    /// Reads once and records. Says how much it was.
    pub(super) fn take_in(&mut self, shared: &Shared, buffer: &mut [u8]) -> usize {
        let Some(pipe) = &self.pipe else { return 0 };
        // Nobody takes the recorder between the two.
        let read = shared.with_recorder(|recorder| record(self.stream, pipe, recorder, buffer));
        let count = match read {
            Some(Err(why)) if why.kind() == io::ErrorKind::Interrupted => return 0,
            Some(Ok(count)) => count,
            Some(Err(_)) | None => 0,
        };
        if count == 0 {
            self.close();
            return 0;
        }
        self.owed = self.owed.saturating_sub(count);
        count
    }

    pub(super) fn hand_on(&mut self, shared: &Shared, bytes: &[u8]) {
        let Some(target) = &mut self.target else { return };
        let now = self.restraint.as_mut().map_or(bytes.len(), |it| it.admit(bytes));
        let (bytes, later) = bytes.split_at(now);
        match write_all(target, bytes) {
            Ok(()) if later.is_empty() => {}
            Ok(()) => shared.hold_back(later),
            Err(why) if has_left(&why) => {
                self.target = None;
                if self.hang_up == HangUp::ClosesPipe {
                    self.close();
                    shared.with_recorder(Recorder::mark_truncated);
                }
            }
            Err(why) => {
                self.target = None;
                shared.delivery_failed(&why);
            }
        }
    }

    /// Whether our own reader takes something now, or nobody wants it.
    pub(super) fn is_read_now(&self) -> bool {
        let Some(target) = &self.target else { return true };
        let mut fds = [PollFd::new(target.as_fd(), PollFlags::POLLOUT)];
        poll(&mut fds, PollTimeout::ZERO) == Ok(1)
    }

    /// Whether so many bytes can be handed on without waiting.
    fn pace_of(&self, count: usize) -> Pace {
        match self.target {
            Some(_) if count > AT_ONCE || !self.is_read_now() => Pace::MayWait,
            Some(_) | None => Pace::AtOnce,
        }
    }

    /// Moves what is there, read once and without waiting for anybody.
    pub(super) fn move_at_once(&mut self, shared: &Shared, buffer: &mut [u8]) -> Pace {
        let count = self.take_in(shared, buffer);
        let is_full = shared.with_recorder(|recorder| recorder.is_full()) == Some(true);
        if is_full || self.pace_of(count) == Pace::MayWait {
            self.pending.extend_from_slice(&buffer[..count]);
            return Pace::MayWait;
        }
        self.hand_on(shared, &buffer[..count]);
        Pace::AtOnce
    }
}

/// Reads a pipe once and records what was there. Says how much it was.
fn record(
    stream: Stream,
    mut pipe: &File,
    recorder: &mut Recorder,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let count = pipe.read(buffer)?;
    recorder.record(stream, &buffer[..count]);
    Ok(count)
}

/// Whether an error of writing says that the reader has gone, who has what it
/// wanted.
#[must_use]
pub fn has_left(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Writes everything, also to a descriptor that somebody made non-blocking.
///
/// # Errors
/// What the descriptor answers.
pub fn write_all(target: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match target.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                let mut fds = [PollFd::new(target.as_fd(), PollFlags::POLLOUT)];
                match poll(&mut fds, PollTimeout::NONE) {
                    Ok(_) | Err(Errno::EINTR) => {}
                    Err(why) => return Err(why.into()),
                }
            }
            Err(why) => return Err(why),
        }
    }
    Ok(())
}
