//! Hands a command's output on as it arrives, and records it on the way.
//!
//! Most commands write little and end soon: for those the thread that owns the
//! command does this too, as long as nothing can make it wait. As soon as
//! something could, or the command turns out to last, a thread of its own takes
//! over: a reader that is slow slows the command, as it would without us, and
//! never a renewal or a signal.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::claim::http::restraint::Restraint;

use super::drain;
use super::frames::Stream;
use super::held_back::HeldBack;
use super::launch::Pipes;
use super::raw::share_one_heap;
use super::recorder::{Recorder, Recording};
use super::source::{Delivery, HangUp, Pace, Progress, Shared, Source};
use super::wake::{Bell, Reason, Waker, wait_readable};

/// How long a pipe that somebody else keeps open is read after the command has
/// ended: a daemon must not hold us for a second (DESIGN section 6).
const GRACE: Duration = Duration::from_millis(900);

/// How much is read at once: what a pipe holds by default (`pipe(7)`).
const BUFFER: usize = 64 << 10;

/// How often the pipes are read before their owner looks after other things.
const TURNS: u32 = 32;

/// What a command wrote.
#[derive(Debug)]
pub struct Captured {
    /// What is kept of it.
    pub recording: Recording,
    /// Whether it was handed on.
    pub delivery: Delivery,
    /// What is still to be handed on.
    pub held_back: HeldBack,
}

/// What reads a command's pipes.
pub struct Pump {
    shared: Arc<Shared>,
    /// What to do it with, until a thread takes it over.
    inline: Option<Work>,
    /// What such a thread needs, made in time.
    reserve: Option<Reserve>,
    running: Running,
}

/// The descriptors that a thread will need.
struct Reserve {
    bell: Bell,
    running: UnixStream,
    ended: UnixStream,
}

/// Whether the command still runs.
enum Running {
    /// It does.
    Yes,
    /// It does, and a thread is told of its end when this is dropped.
    Watched(#[expect(dead_code, reason = "kept to be dropped")] UnixStream),
    /// It has ended.
    No,
}

impl Pump {
    /// Takes a command's pipes, before it is let go, so that nothing is left to
    /// fail once it runs.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn new(pipes: Pipes, recorder: Recorder, waker: &mut Waker) -> io::Result<Self> {
        let (running, ended) = UnixStream::pair()?;
        let reserve = Some(Reserve { bell: waker.bell()?, running, ended });
        let out = Source::new(Stream::Out, pipes.out.into(), io::stdout().as_fd())?;
        let err = Source::new(Stream::Err, pipes.err.into(), io::stderr().as_fd())?;
        let shared = Arc::new(Shared::new(recorder, [&out, &err]));
        let work = Work { out, err, buffer: vec![0; BUFFER], shared: Arc::clone(&shared) };
        Ok(Self { shared, inline: Some(work), reserve, running: Running::Yes })
    }

    /// Has the command go on when nobody reads its output any more.
    pub fn outlast_readers(&mut self) {
        if let Some(work) = &mut self.inline {
            work.out.hang_up = HangUp::ChangesNothing;
            work.err.hang_up = HangUp::ChangesNothing;
        }
    }

    /// Keeps back what would let a server take an answer for whole before its end is on
    /// record.
    pub fn hold_the_end_back(&mut self) {
        if let Some(work) = &mut self.inline {
            work.out.restraint = Some(Restraint::default());
        }
    }

    /// The pipes that the caller is to wait on for us, while there is no
    /// thread.
    #[must_use]
    pub fn fds(&self) -> [Option<BorrowedFd<'_>>; 2] {
        self.inline.as_ref().map_or([None, None], |work| [work.out.fd(), work.err.fd()])
    }

    /// Moves what is there, after one of [`Pump::fds`] was ready.
    pub fn pipes_are_ready(&mut self) {
        let Some(work) = &mut self.inline else { return };
        if work.move_at_once() == Pace::MayWait {
            self.hand_over();
        }
    }

    /// Has a thread go on from here, which rings with [`Reason::Drained`] when
    /// it is done. Where none can be made it is done here all the same, and
    /// signals and time limits wait for slow readers.
    pub fn hand_over(&mut self) {
        let Some(mut work) = self.inline.take() else { return };
        let unwatched = match self.running {
            Running::No => Watch::Over,
            Running::Yes | Running::Watched(_) => Watch::Blind,
        };
        let Some(Reserve { bell, running, ended }) = self.reserve.take() else {
            return work.run(&unwatched);
        };
        if let Running::Yes = self.running {
            self.running = Running::Watched(running);
        }
        share_one_heap();
        let slot = Arc::new(Mutex::new(Some(work)));
        let taken = Arc::clone(&slot);
        let thread = thread::Builder::new().name("capture".into()).spawn(move || {
            run_taken(&taken, &Watch::Told(ended));
            bell.ring(Reason::Drained);
        });
        if thread.is_err() {
            run_taken(&slot, &unwatched);
        }
    }

    /// Says that the command has ended: what is in the pipes now is read, and
    /// more only for a moment.
    pub fn command_ended(&mut self) {
        self.running = Running::No;
        self.pipes_are_ready();
        if self.progress() == Progress::Under {
            self.hand_over();
        }
    }

    /// Whether everything has been read and handed on.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.shared.progress()
    }

    /// What the command had written when it ended: also what a reader of ours who does not
    /// read has kept in the pipes, and is not to be handed on any more.
    #[must_use]
    pub fn finish(self) -> Option<Captured> {
        // Asked first: what is read from here on is recorded here.
        let progress = self.progress();
        let mut recorder = self.shared.take_recorder()?;
        if progress == Progress::Under {
            let open = self.shared.record_the_rest(&mut recorder);
            leave_behind(open.iter().map(|pipe| pipe.as_fd()));
        }
        // Nothing can be added behind what somebody does not read.
        let held_back = match progress {
            Progress::Done => self.shared.take_held_back(),
            Progress::Under => HeldBack::default(),
        };
        let recording = recorder.finish();
        Some(Captured { recording, delivery: self.shared.delivery(), held_back })
    }
}

fn run_taken(slot: &Mutex<Option<Work>>, watch: &Watch) {
    let work = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut work) = work {
        work.run(watch);
    }
}

/// Has somebody read on for whoever keeps these pipes.
fn leave_behind<'a>(open: impl Iterator<Item = BorrowedFd<'a>>) {
    let open: Vec<BorrowedFd<'_>> = open.collect();
    if !open.is_empty() {
        drain::leave_behind(&open);
    }
}

/// How the command's end is learnt.
enum Watch {
    /// The stream ends with it.
    Told(UnixStream),
    /// It has ended.
    Over,
    /// Only by the ends of its pipes.
    Blind,
}

/// The pipes and all that is needed to move what comes through them.
struct Work {
    out: Source,
    err: Source,
    buffer: Vec<u8>,
    shared: Arc<Shared>,
}

impl Work {
    /// Moves what is there, without waiting for anybody, and no more than a
    /// little at a time: the caller has signals to look after. Looks at both
    /// streams after every read, so that what was written apart stays in order.
    fn move_at_once(&mut self) -> Pace {
        for _ in 0..TURNS {
            let ready = wait_readable([self.out.fd(), self.err.fd()], Some(Duration::ZERO));
            let Ok([out, err]) = ready else { return Pace::MayWait };
            if !out && !err {
                break;
            }
            for (source, ready) in [(&mut self.out, out), (&mut self.err, err)] {
                let moved = ready.then(|| source.move_at_once(&self.shared, &mut self.buffer));
                if moved == Some(Pace::MayWait) {
                    return Pace::MayWait;
                }
            }
        }
        if self.out.pipe.is_none() && self.err.pipe.is_none() {
            self.shared.set_done();
        }
        Pace::AtOnce
    }

    /// Moves all that comes, and waits for whoever is slow.
    fn run(&mut self, watch: &Watch) {
        for source in [&mut self.out, &mut self.err] {
            let pending = std::mem::take(&mut source.pending);
            if !pending.is_empty() && !source.is_read_now() {
                self.shared.with_recorder(Recorder::store);
            }
            source.hand_on(&self.shared, &pending);
        }
        let mut deadline = None;
        if let Watch::Over = watch {
            deadline = Some(self.command_is_over());
        }
        while self.out.pipe.is_some() || self.err.pipe.is_some() {
            let store_at = self.store_what_is_full();
            let next = [deadline, store_at].into_iter().flatten().min();
            let left = next.map(|at: Instant| at.saturating_duration_since(Instant::now()));
            let watched = match watch {
                Watch::Told(stream) if deadline.is_none() => Some(stream.as_fd()),
                Watch::Told(_) | Watch::Over | Watch::Blind => None,
            };
            let ready = wait_readable([self.out.fd(), self.err.fd(), watched], left);
            let Ok([out, err, has_ended]) = ready else { break };
            if has_ended {
                deadline = Some(self.command_is_over());
            }
            for (source, ready) in [(&mut self.out, out), (&mut self.err, err)] {
                if ready {
                    let count = source.take_in(&self.shared, &mut self.buffer);
                    // Whoever waits for a slow reader could not do it later.
                    let lasts = store_at.is_some_and(|at| Instant::now() >= at);
                    if lasts || !source.is_read_now() {
                        self.shared.with_recorder(Recorder::store);
                    }
                    source.hand_on(&self.shared, &self.buffer[..count]);
                }
            }
            // Nothing more is at hand: there is time.
            if !out && !err && store_at.is_some_and(|at| Instant::now() >= at) {
                self.shared.with_recorder(Recorder::store);
            }
            let over = deadline.is_some_and(|at| Instant::now() >= at);
            if over && self.out.owed == 0 && self.err.owed == 0 {
                break;
            }
        }
        self.shared.give_up_pipes();
        // Asked before somebody else reads it.
        if self.out.has_more() || self.err.has_more() {
            self.shared.with_recorder(Recorder::mark_truncated);
        }
        leave_behind([self.out.fd(), self.err.fd()].into_iter().flatten());
        self.shared.set_done();
    }

    /// Makes room in the recorder; says when the rest is to be stored.
    fn store_what_is_full(&self) -> Option<Instant> {
        let store = |recorder: &mut Recorder| {
            if recorder.is_full() {
                recorder.store();
            }
            recorder.to_be_stored_at()
        };
        self.shared.with_recorder(store).flatten()
    }

    /// Notes what is still to be read, and says until when more is.
    fn command_is_over(&mut self) -> Instant {
        self.out.note_owed();
        self.err.note_owed();
        Instant::now() + GRACE
    }
}
