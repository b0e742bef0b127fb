//! Stopping with the command, and going on with it: `^Z` and `fg`.

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::claim::holder::Reach;

use super::signals::{Sender, stop_ourselves};

/// How far a signal to stop has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suspension {
    /// Nobody asked for a stop.
    No,
    /// The command was asked to stop; when it has, we stop too.
    Asked,
    /// We were stopped and have gone on; the signal for that comes next.
    JustOver,
}

impl Suspension {
    /// Notes a signal that the command was sent.
    pub(super) fn note(&mut self, signal: Signal) {
        match signal {
            Signal::SIGTSTP => *self = Self::Asked,
            Signal::SIGCONT => *self = Self::No,
            _ => {}
        }
    }

    /// Stops this process with its command, until somebody continues it. Where
    /// both share a group, the shell that waits for us sees the same stop.
    pub(super) fn stop_ourselves(&mut self, reach: Reach) {
        stop_ourselves(match reach {
            Reach::Process => Sender::Terminal,
            Reach::Group => Sender::Process,
        });
        *self = Self::JustOver;
    }
}

/// Whether a child is stopped at present.
#[cfg(target_os = "linux")]
pub(super) fn has_stopped(child: Pid) -> bool {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};

    let stopped = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    matches!(waitid(Id::Pid(child), stopped), Ok(WaitStatus::Stopped(..)))
}

/// Elsewhere that cannot be asked without taking the answer away: one that was
/// asked to stop is taken to have done so.
#[cfg(not(target_os = "linux"))]
pub(super) fn has_stopped(_child: Pid) -> bool {
    true
}
