//! A call that stops in its middle, through `strace`.

use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::poll::until;
use super::{Call, Running, Scene};

/// A call that stands still until it is let go on.
pub(crate) struct Stopped {
    running: Running,
    pid: i32,
}

impl Stopped {
    /// Starts a call and waits until it has stopped at the end of its first system call of
    /// this name, on this file if one is named.
    #[track_caller]
    pub(crate) fn after(scene: &Scene, call: Call<'_>, name: &str, file: Option<&Path>) -> Self {
        let inject = format!("inject={name}:signal=STOP:when=1");
        let (trace, _) = scene.next_outputs();
        let mut call = call.through(["strace", "-f", "-e", &inject]);
        if let Some(file) = file {
            call = call.through(["-P".as_ref(), file]);
        }
        let running = call.through(["-o".as_ref(), trace.as_path()]).spawn();
        let mut pid = None;
        until(&format!("the call has stopped at {name}"), || {
            let trace = std::fs::read_to_string(&trace).unwrap_or_default();
            let stopped = trace.lines().find_map(|line| line.split_once(" --- stopped by"));
            pid = stopped.and_then(|(pid, _)| pid.trim().parse().ok());
            pid.is_some()
        });
        Self { running, pid: pid.expect("it has just stopped") }
    }

    /// The process that stands still.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Lets it go on.
    pub(crate) fn go_on(self) -> Running {
        kill(Pid::from_raw(self.pid), Signal::SIGCONT).expect("the call can be signalled");
        self.running
    }
}
