//! Starts a command, as if we were not there.
//!
//! A command's process is made before its key is claimed, and waits at a gate: so the
//! claim says from its first moment what its command is, and a wrapper that
//! dies at any time leaves either a child that was never let through, or one
//! that is on record.
//!
//! Without a controlling terminal the command leads a process group of its
//! own, so that it can be told from others and ended whole. With one it stays
//! in ours, so that it can read the terminal and stays part of its pipeline.

use std::cell::Cell;
use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use nix::errno::Errno;
use nix::unistd::{Pid, setpgid};

use crate::claim::holder::{Group, PidNamespace, Reach, StartTime};

use super::clock;
use super::descendants;
use super::group;
use super::raw::child::{Blueprint, Child, Cradle, SLOT};
use super::signals::Signals;
use super::suspension::has_stopped;
use super::wake::wait_readable;

/// Which of the command's standard streams pass through us; the others are our
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Its output goes through pipes, to be recorded.
    Piped,
    /// None of them.
    Inherited,
    /// It is fed through a pipe, and what it prints is not wanted.
    Fed,
}

/// A command to be started.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The program and its arguments.
    pub argv: &'a [OsString],
    /// Variables to be set for it, or to be taken away from it.
    pub variables: &'a [(&'static str, Option<OsString>)],
    /// Variables whose values are known only when it is let go.
    pub late: &'a [&'static str],
    /// Which of its streams pass through us.
    pub streams: Streams,
}

/// The reading ends of a command's standard output and error.
#[derive(Debug)]
pub struct Pipes {
    /// Its standard output.
    pub out: PipeReader,
    /// Its standard error.
    pub err: PipeReader,
}

/// How long a child may take to become the command before it is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A child that waits to become the command. Dropped, it ends without a trace.
#[derive(Debug)]
pub struct Newborn {
    child: Option<Child>,
    pid: Pid,
    group: Group,
    gate: Option<PipeWriter>,
    complaint: PipeReader,
    pipes: Option<Pipes>,
    feed: Option<PipeWriter>,
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    pub(super) pid: Pid,
    group: Group,
}

impl Running {
    /// What the command is.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group
    }
}

/// Why a command could not be started.
#[derive(Debug)]
pub enum NotStarted {
    /// There is no such program.
    NotFound(io::Error),
    /// It is not a program that can be executed.
    NotExecutable(io::Error),
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(_) => f.write_str("the command was not found"),
            Self::NotExecutable(why) => write!(f, "the command cannot be executed: {why}"),
        }
    }
}

/// Forks the child that will become the command. The calling thread must live
/// as long as the command: the kernel ends the command with it.
///
/// # Errors
/// When no process can be made.
pub fn fork(
    plan: Plan<'_>,
    environment: impl Iterator<Item = (OsString, OsString)>,
    signals: &Signals,
) -> io::Result<Newborn> {
    let environment = Environment::new(environment, &plan)?;
    let (gate, keeper) = io::pipe()?;
    let (complaint, complain) = io::pipe()?;
    let mut ends = OurEnds::default();
    let theirs = ends.theirs(plan.streams)?;
    let reach = if has_terminal() { Reach::Process } else { Reach::Group };
    let program = plan.argv.first().map_or(OsStr::new(""), |word| word);
    let (handled, ignored, mask) = signals.as_we_found_them();
    let cradle = Cradle::new(Blueprint {
        programs: candidates(program, environment.path.as_deref())?,
        arguments: strings(plan.argv.iter().map(|word| word.as_bytes().to_vec()))?,
        variables: environment.variables,
        streams: theirs.each_ref().map(|end| end.as_ref().map(OwnedFd::as_raw_fd)),
        leads_group: reach == Reach::Group,
        handled: handled.to_vec(),
        ignored: ignored.to_vec(),
        mask,
        late: vec![Cell::new(0); plan.late.len() * SLOT],
        gate: gate.as_raw_fd(),
        gate_keeper: keeper.as_raw_fd(),
        complaint: complain.as_raw_fd(),
    });
    let before = clock::ticks();
    let child = signals.held_back(|| cradle.start())??;
    let started = before.filter(|before| clock::ticks() == Some(*before));
    let pid = child.pid();
    match reach {
        Reach::Process => descendants::keep_in_sight(),
        Reach::Group => {
            // The child does the same; whoever comes first, it is so from here on.
            let _ = setpgid(pid, pid);
        }
    }
    let unknown = Group {
        reach,
        id: pid.as_raw(),
        start: StartTime(0),
        session: 0,
        pid_namespace: PidNamespace(0),
    };
    let mut newborn = Newborn {
        child: Some(child),
        pid,
        group: unknown,
        gate: Some(keeper),
        complaint,
        pipes: ends.pipes,
        feed: ends.feed,
    };
    // Dropped, it ends.
    newborn.group = group::describe(pid.as_raw(), reach, started)?;
    Ok(newborn)
}

/// Our ends of the streams that pass through us.
#[derive(Default)]
struct OurEnds {
    pipes: Option<Pipes>,
    feed: Option<PipeWriter>,
}

impl OurEnds {
    /// Makes the streams; what is given is the child's standard input, output
    /// and error, where they are not ours.
    fn theirs(&mut self, streams: Streams) -> io::Result<[Option<OwnedFd>; 3]> {
        match streams {
            Streams::Inherited => Ok([None, None, None]),
            Streams::Piped => {
                let ((out, to_out), (err, to_err)) = (io::pipe()?, io::pipe()?);
                self.pipes = Some(Pipes { out, err });
                Ok([None, Some(to_out.into()), Some(to_err.into())])
            }
            Streams::Fed => {
                let (from_us, feed) = io::pipe()?;
                self.feed = Some(feed);
                let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
                Ok([Some(from_us.into()), Some(nowhere.into()), None])
            }
        }
    }
}

impl Newborn {
    /// What the command will be.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group
    }

    /// The reading ends of its pipes, if it has any; once.
    pub fn take_pipes(&mut self) -> Option<Pipes> {
        self.pipes.take()
    }

    /// Where it is fed, if it is; once.
    pub fn take_feed(&mut self) -> Option<PipeWriter> {
        self.feed.take()
    }

    /// Lets it become the command. `late` has the values of the plan's late
    /// variables, in their order.
    ///
    /// # Errors
    /// [`NotStarted`], told apart as a shell does.
    pub fn let_go(mut self, late: &[(&'static str, String)]) -> Result<Running, NotStarted> {
        let mut message = Vec::with_capacity(late.len() * SLOT + 1);
        for (name, value) in late {
            let mut slot = format!("{name}={value}").into_bytes();
            slot.resize(SLOT, 0);
            // Whatever came before, the last byte of a slot ends its text.
            slot[SLOT - 1] = 0;
            message.extend_from_slice(&slot);
        }
        message.push(b'g');
        let mut number = [0; 4];
        // A child that a signal has ended meanwhile reads nothing and complains
        // of nothing: its end is the command's.
        let _ = self.gate.take().map(|mut gate| gate.write_all(&message));
        if self.is_stopped_before_it_complains() || self.complaint.read_exact(&mut number).is_err()
        {
            let running = Running { pid: self.pid, group: self.group };
            std::mem::forget(self);
            return Ok(running);
        }
        Err(classify(io::Error::from_raw_os_error(i32::from_ne_bytes(number))))
    }

    /// Waits until it has become the command or complains, but not for one that
    /// somebody has stopped: its owner sees to that.
    fn is_stopped_before_it_complains(&self) -> bool {
        loop {
            match wait_readable([Some(self.complaint.as_fd())], Some(LOOK_AGAIN)) {
                Ok([false]) if has_stopped(self.pid) => return true,
                Ok([false]) => {}
                Ok([true]) | Err(_) => return false,
            }
        }
    }
}

impl Drop for Newborn {
    fn drop(&mut self) {
        // The gate is all that it waits for, unless somebody has stopped it.
        let _ = self.child.take().map(Child::end);
    }
}

pub(super) fn classify(why: io::Error) -> NotStarted {
    match why.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT | Errno::ENOTDIR) => NotStarted::NotFound(why),
        _ => NotStarted::NotExecutable(why),
    }
}

/// The environment of a command, as far as it is known before it is let go.
pub(super) struct Environment {
    pub(super) variables: Vec<CString>,
    /// Where programs are looked for.
    pub(super) path: Option<OsString>,
}

impl Environment {
    pub(super) fn new(
        inherited: impl Iterator<Item = (OsString, OsString)>,
        plan: &Plan<'_>,
    ) -> io::Result<Self> {
        let mut environment = Self { variables: Vec::with_capacity(64), path: None };
        for (name, value) in inherited {
            // Twice in an environment, the first would count.
            let ours = plan.variables.iter().any(|(other, _)| name == *other)
                || plan.late.iter().any(|other| name == *other);
            if !ours {
                environment.add(&name, &value)?;
            }
            if name == "PATH" {
                environment.path = Some(value);
            }
        }
        for (name, value) in plan.variables {
            if let Some(value) = value {
                environment.add(OsStr::new(name), value)?;
            }
        }
        Ok(environment)
    }

    fn add(&mut self, name: &OsStr, value: &OsStr) -> io::Result<()> {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        let mut text = Vec::with_capacity(name.len() + value.len() + 2);
        text.extend_from_slice(name);
        text.push(b'=');
        text.extend_from_slice(value);
        self.variables.push(CString::new(text)?);
        Ok(())
    }
}

/// The paths at which a program may be, as `execvp(3)` looks for it.
pub(super) fn candidates(program: &OsStr, path: Option<&OsStr>) -> io::Result<Vec<CString>> {
    let program = program.as_bytes();
    if program.contains(&b'/') {
        return strings([program.to_vec()]);
    }
    let path = path.map_or(&b"/bin:/usr/bin"[..], OsStr::as_bytes);
    strings(path.split(|byte| *byte == b':').map(|folder| {
        let mut full = Vec::with_capacity(folder.len() + program.len() + 2);
        full.extend_from_slice(folder);
        if !full.is_empty() {
            full.push(b'/');
        }
        full.extend_from_slice(program);
        full
    }))
}

pub(super) fn strings(words: impl IntoIterator<Item = Vec<u8>>) -> io::Result<Vec<CString>> {
    words.into_iter().map(|word| Ok(CString::new(word)?)).collect()
}

/// Whether this process has a controlling terminal.
fn has_terminal() -> bool {
    OpenOptions::new().read(true).write(true).open("/dev/tty").is_ok()
}
