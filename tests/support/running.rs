//! A call that is under way, and its end.

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::expect::{Done, End, Expected};
use super::poll::until;
use super::processes::{state, thread};

/// A started process. Dropping it kills and reaps it; what it leaves behind is
/// killed with its scene.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) call: String,
    pub(crate) expected: Expected,
    pub(crate) stdout: PathBuf,
    pub(crate) stderr: PathBuf,
}

impl Running {
    /// The process id of the wrapper itself (or of what it was started through).
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process id is an i32")
    }

    /// Sends a signal to the wrapper alone.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("the wrapper can be signalled");
    }

    /// Stops the wrapper alone for as long as something happens.
    #[track_caller]
    pub(crate) fn sleep_while(&self, happens: impl FnOnce()) {
        self.signal(Signal::SIGSTOP);
        until("the wrapper has stopped", || state(self.pid()) == Some('T'));
        happens();
        self.signal(Signal::SIGCONT);
    }

    /// Whether it has read more than its own reader takes.
    pub(crate) fn waits_for_its_reader(&self) -> bool {
        thread(self.pid(), "capture").is_some_and(|thread| state(thread) == Some('S'))
    }

    /// Kills the wrapper alone and expects it to die of that.
    #[track_caller]
    pub(crate) fn kill(mut self) {
        self.signal(Signal::SIGKILL);
        self.expected.end = End::Signal(Signal::SIGKILL);
        self.finish();
    }

    /// Whether it has not ended yet.
    pub(crate) fn is_under_way(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked").is_none()
    }

    /// Standard output as far as it has come.
    pub(crate) fn stdout_so_far(&self) -> Vec<u8> {
        fs::read(&self.stdout).expect("captured stdout can be read")
    }

    /// Standard error as far as it has come.
    pub(crate) fn stderr_so_far(&self) -> Vec<u8> {
        fs::read(&self.stderr).expect("captured stderr can be read")
    }

    /// Waits for the end and checks it.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Done {
        let mut status = None;
        until(&format!("`{}` ends", self.call), || {
            status = self.child.try_wait().expect("a child can be asked");
            status.is_some()
        });
        let done = Done {
            status: status.expect("it has just ended"),
            stdout: self.stdout_so_far(),
            stderr: self.stderr_so_far(),
        };
        done.check(&self.expected, &self.call);
        done
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error means that it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
