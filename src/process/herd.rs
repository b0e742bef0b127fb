//! Many processes that are let go at the same moment, to see what comes of it.
//!
//! They are no commands of anybody's: nothing is recorded, and each is a shell that
//! waits at the end of a pipe and then becomes what it is to be. None outlives its
//! herd: each leads a group of its own, which is ended by its id, and is reaped.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::claim::outcome::Outcome;

use super::signals::Signals;
use super::supervise::outcome;
use super::wake::wait_readable;

/// What the members of a herd do.
#[derive(Clone, Copy, Debug)]
pub struct Errand<'a> {
    /// What each becomes.
    pub argv: &'a [OsString],
    /// All that they find in their environment.
    pub environment: &'a [(OsString, OsString)],
    /// Where they do it. What member 7 of the herd `h` writes is in `h-7.out` and
    /// `h-7.err` there.
    pub folder: &'a Path,
    /// What the herd is called.
    pub name: &'a str,
}

/// What became of a herd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// How each has ended, in their order.
    All(Vec<Outcome>),
    /// They were ended: it took too long.
    TooLong,
    /// They were ended: this signal tells us to end.
    Told(Signal),
}

/// What a member is at first: it says that it is there, and waits.
const MEMBER: &str = r#"umask 077; echo; exec >"$0.out" 2>"$0.err"; read -r go; exec "$@""#;

/// How long a member that is told to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// A herd. Dropped, it is no more.
struct Herd {
    members: Vec<Member>,
}

struct Member {
    child: Child,
    ended: Option<ExitStatus>,
}

/// Starts so many, lets them all go at once when each is there, and waits until
/// they have ended.
///
/// # Errors
/// When they cannot be started or waited for.
pub fn run(
    errand: &Errand<'_>,
    number: usize,
    deadline: Instant,
    signals: &mut Signals,
) -> io::Result<Gathered> {
    let (gate, keeper) = io::pipe()?;
    let (ready, say) = io::pipe()?;
    let mut herd = Herd { members: Vec::with_capacity(number) };
    for at in 0..number {
        herd.start(errand, at, (&gate, &say))?;
        if let Some(signal) = signals.told_to_end() {
            return Ok(Gathered::Told(signal));
        }
    }
    drop((gate, say));
    if let Some(end) = herd.assemble(ready, deadline, signals)? {
        return Ok(end);
    }
    // The end of the file is what they wait for.
    drop(keeper);
    herd.gather(deadline, signals)
}

impl Herd {
    #[expect(clippy::disallowed_methods, reason = "no command of a caller's, and many at once")]
    fn start(
        &mut self,
        errand: &Errand<'_>,
        at: usize,
        (gate, say): (&PipeReader, &PipeWriter),
    ) -> io::Result<()> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", MEMBER]).arg(format!("{}-{at}", errand.name)).args(errand.argv);
        command.env_clear().envs(errand.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(errand.folder).stdin(gate.try_clone()?).stdout(say.try_clone()?);
        // With whom it starts, it ends.
        command.process_group(0);
        self.members.push(Member { child: command.spawn()?, ended: None });
        Ok(())
    }

    /// Waits until each has said that it is there.
    fn assemble(
        &self,
        mut ready: PipeReader,
        deadline: Instant,
        signals: &mut Signals,
    ) -> io::Result<Option<Gathered>> {
        let mut missing = self.members.len();
        while missing > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Some(Gathered::TooLong));
            }
            let [_, spoken] = wait_readable([Some(signals.fd()), Some(ready.as_fd())], Some(left))?;
            if let Some(signal) = signals.told_to_end() {
                return Ok(Some(Gathered::Told(signal)));
            }
            if spoken {
                let mut lines = [0; 64];
                match ready.read(&mut lines)? {
                    // Whoever has not spoken has ended.
                    0 => return Ok(None),
                    count => missing = missing.saturating_sub(count),
                }
            }
        }
        Ok(None)
    }

    fn gather(&mut self, deadline: Instant, signals: &mut Signals) -> io::Result<Gathered> {
        loop {
            // Before they are asked: whoever ends after that wakes us again.
            if let Some(signal) = signals.told_to_end() {
                return Ok(Gathered::Told(signal));
            }
            if self.reap()? == 0 {
                let ends = self.members.iter().filter_map(|member| member.ended);
                return Ok(Gathered::All(ends.map(outcome).collect()));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Gathered::TooLong);
            }
            wait_readable([Some(signals.fd())], Some(left))?;
        }
    }

    /// Reaps those that have ended; says how many have not.
    fn reap(&mut self) -> io::Result<usize> {
        let mut left = 0;
        for member in self.members.iter_mut().filter(|member| member.ended.is_none()) {
            member.ended = member.child.try_wait()?;
            left += usize::from(member.ended.is_none());
        }
        Ok(left)
    }

    fn tell(&self, signal: Signal) {
        for member in self.members.iter().filter(|member| member.ended.is_none()) {
            if let Ok(pid) = i32::try_from(member.child.id()) {
                // It is not reaped yet, so the number is still its own.
                let _ = killpg(Pid::from_raw(pid), signal);
            }
        }
    }
}

impl Drop for Herd {
    fn drop(&mut self) {
        // Those that run a command pass it on, and say how it ended.
        self.tell(Signal::SIGTERM);
        let deadline = Instant::now() + GRACE;
        while self.reap().is_ok_and(|left| left > 0) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.tell(Signal::SIGKILL);
        for member in self.members.iter_mut().filter(|member| member.ended.is_none()) {
            // There is nobody to be told of a child that is not ours.
            let _ = member.child.wait();
        }
    }
}
