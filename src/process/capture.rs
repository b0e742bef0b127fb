//! Hands a command's output on as it arrives, and records it on the way.
//!
//! A thread of its own does this: a reader that is slow slows the command, as
//! it would without us, and never a renewal or a signal.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::frames::{MemoryRecorder, Recorder, Recording, Stream};
use super::launch::Pipes;
use super::raw::waiting_bytes;
use super::wake::{Bell, Reason};

/// How long a pipe that somebody else keeps open is read after the command has
/// ended: a daemon must not hold us for a second (DESIGN section 6).
const GRACE: Duration = Duration::from_millis(900);

/// How much is read at once: what a pipe holds by default (`pipe(7)`).
const BUFFER: usize = 64 << 10;

/// What became of our own standard output and standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Everything was written, or nobody wanted it any more.
    Complete,
    /// Something could not be written, for this reason.
    Failed(String),
}

/// What a command wrote.
#[derive(Clone, Debug)]
pub struct Captured {
    /// What is kept of it.
    pub recording: Recording,
    /// Whether it was handed on.
    pub delivery: Delivery,
}

struct Shared {
    recorder: Box<dyn Recorder>,
    delivery: Delivery,
    progress: Progress,
}

/// Whether everything has been read and handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Under,
    Done,
}

/// The thread that reads a command's pipes.
pub struct Pump {
    shared: Arc<Mutex<Shared>>,
    /// Dropped to say that the command has ended.
    running: Option<UnixStream>,
}

impl Pump {
    /// Starts it, before the command is let go, so that nothing is left to fail
    /// once it runs. It rings `bell` with [`Reason::Drained`] when both pipes
    /// have been read.
    ///
    /// # Errors
    /// When no descriptors or threads are left.
    pub fn start(pipes: Pipes, recorder: Box<dyn Recorder>, bell: Bell) -> io::Result<Self> {
        let (running, ended) = UnixStream::pair()?;
        let shared = Arc::new(Mutex::new(Shared {
            recorder,
            delivery: Delivery::Complete,
            progress: Progress::Under,
        }));
        let mut work = Work {
            out: Source::new(Stream::Out, pipes.out.into(), io::stdout().as_fd())?,
            err: Source::new(Stream::Err, pipes.err.into(), io::stderr().as_fd())?,
            ended,
            shared: Arc::clone(&shared),
        };
        thread::Builder::new().name("capture".into()).spawn(move || {
            work.run();
            lock(&work.shared).progress = Progress::Done;
            bell.ring(Reason::Drained);
        })?;
        Ok(Self { shared, running: Some(running) })
    }

    /// Says that the command has ended: what is in the pipes now is read, and
    /// more only for a moment.
    pub fn command_ended(&mut self) {
        self.running = None;
    }

    /// What has been captured so far; all of it once the bell has rung, and
    /// marked as truncated before.
    #[must_use]
    pub fn finish(self) -> Captured {
        let mut shared = lock(&self.shared);
        if shared.progress == Progress::Under {
            shared.recorder.mark_truncated();
        }
        let recorder = std::mem::replace(&mut shared.recorder, Box::new(MemoryRecorder::new(0)));
        Captured { recording: recorder.finish(), delivery: shared.delivery.clone() }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One stream: the command's pipe and our own descriptor.
struct Source {
    stream: Stream,
    pipe: Option<File>,
    target: Option<File>,
    /// What the command had written when it ended, and is still to be read:
    /// as much as a slow reader takes time for.
    owed: usize,
}

impl Source {
    fn new(stream: Stream, pipe: OwnedFd, target: BorrowedFd<'_>) -> io::Result<Self> {
        let target = File::from(target.try_clone_to_owned()?);
        Ok(Self { stream, pipe: Some(pipe.into()), target: Some(target), owed: 0 })
    }
}

impl Source {
    fn note_owed(&mut self) {
        self.owed = self.pipe.as_ref().map_or(0, waiting_bytes);
    }

    fn has_more(&self) -> bool {
        self.pipe.as_ref().is_some_and(|pipe| waiting_bytes(pipe) > 0)
    }

    fn close(&mut self) {
        self.pipe = None;
        self.owed = 0;
    }
}

struct Work {
    out: Source,
    err: Source,
    ended: UnixStream,
    shared: Arc<Mutex<Shared>>,
}

impl Work {
    fn run(&mut self) {
        let mut buffer = vec![0; BUFFER];
        let mut deadline: Option<Instant> = None;
        while self.out.pipe.is_some() || self.err.pipe.is_some() {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let ready = self.wait(left, deadline.is_none());
            if ready.ended {
                deadline = Some(Instant::now() + GRACE);
                self.out.note_owed();
                self.err.note_owed();
            }
            if ready.out {
                move_some(&mut self.out, &self.shared, &mut buffer);
            }
            if ready.err {
                move_some(&mut self.err, &self.shared, &mut buffer);
            }
            let over = deadline.is_some_and(|at| Instant::now() >= at);
            if over && self.out.owed == 0 && self.err.owed == 0 {
                break;
            }
        }
        if self.out.has_more() || self.err.has_more() {
            lock(&self.shared).recorder.mark_truncated();
        }
    }

    fn wait(&self, limit: Option<Duration>, may_end: bool) -> Ready {
        let sources = [
            self.out.pipe.as_ref().map(File::as_fd),
            self.err.pipe.as_ref().map(File::as_fd),
            may_end.then(|| self.ended.as_fd()),
        ];
        let mut polled: Vec<PollFd<'_>> =
            sources.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let timeout = limit.map_or(PollTimeout::NONE, |limit| {
            PollTimeout::from(u16::try_from(limit.as_millis()).unwrap_or(u16::MAX))
        });
        if poll(&mut polled, timeout).is_err() {
            return Ready { out: false, err: false, ended: false };
        }
        let mut answers = polled.iter().map(|fd| fd.any().unwrap_or(false));
        let [out, err, ended] =
            sources.map(|source| source.is_some() && answers.next().unwrap_or(false));
        Ready { out, err, ended }
    }
}

/// What has something to read.
struct Ready {
    out: bool,
    err: bool,
    ended: bool,
}

/// Reads once, records, and hands on.
fn move_some(source: &mut Source, shared: &Mutex<Shared>, buffer: &mut [u8]) {
    let Some(pipe) = &mut source.pipe else { return };
    let count = match pipe.read(buffer) {
        Ok(count) => count,
        Err(why) if why.kind() == io::ErrorKind::Interrupted => return,
        Err(_) => 0,
    };
    if count == 0 {
        source.close();
        return;
    }
    source.owed = source.owed.saturating_sub(count);
    let bytes = &buffer[..count];
    lock(shared).recorder.record(source.stream, bytes);
    let Some(target) = &mut source.target else { return };
    match write_all(target, bytes) {
        Ok(()) => {}
        // Nobody reads us any more, so nobody reads the command either: its
        // next write ends it, as it would have without us.
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => {
            source.target = None;
            source.close();
            lock(shared).recorder.mark_truncated();
        }
        Err(why) => {
            source.target = None;
            lock(shared).delivery = Delivery::Failed(why.to_string());
        }
    }
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
