//! Starts a command, as if we were not there.
//!
//! Without a controlling terminal the command leads a process group of its
//! own, so that it can be told from others and ended whole. With one it stays
//! in ours, so that it can read the terminal and a pipeline stays one job.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use nix::errno::Errno;

use crate::claim::holder::{Group, Reach};

use super::group;
use super::raw::{self, BeforeExec};
use super::signals::Signals;

/// Whether the command's output passes through us.
#[derive(Debug)]
pub enum Streams {
    /// It goes through pipes, to be recorded.
    Piped(PipeWriter, PipeWriter),
    /// The command has our own standard output and error.
    Inherited,
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    pub(super) child: Child,
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
    /// No process could be made at all.
    NoProcess(io::Error),
}

/// Starts a command. The calling thread must live as long as the command: the
/// kernel ends the command with it.
///
/// # Errors
/// [`NotStarted`], told apart as a shell does.
pub fn start(
    argv: &[OsString],
    variables: &[(&str, OsString)],
    streams: Streams,
    signals: &Signals,
) -> Result<Running, NotStarted> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(NotStarted::NotFound(io::ErrorKind::NotFound.into()));
    };
    let reach = if has_terminal() { Reach::Process } else { Reach::Group };
    let mut command = command(program);
    command.args(arguments);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    if let Streams::Piped(out, err) = streams {
        command.stdout(out).stderr(err);
    }
    if reach == Reach::Group {
        command.process_group(0);
    }
    let started = signals.held_back(|handled, mask| {
        let parent = nix::unistd::getpid();
        raw::prepare(&mut command, BeforeExec { parent, handled: handled.to_vec(), mask });
        command.spawn()
    });
    let child = started.map_err(NotStarted::NoProcess)?.map_err(classify)?;
    let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
    Ok(Running { group: group::describe(pid, reach), child })
}

#[expect(clippy::disallowed_methods, reason = "this is where commands are started")]
fn command(program: &OsString) -> Command {
    Command::new(program)
}

fn classify(why: io::Error) -> NotStarted {
    match why.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT) => NotStarted::NotFound(why),
        Some(Errno::EAGAIN | Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM) => {
            NotStarted::NoProcess(why)
        }
        _ => NotStarted::NotExecutable(why),
    }
}

/// Whether this process has a controlling terminal.
fn has_terminal() -> bool {
    OpenOptions::new().read(true).write(true).open("/dev/tty").is_ok()
}
