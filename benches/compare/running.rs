//! Processes that run while the bench does something else, and never outlive its interest.

use std::fmt::Display;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::run;

/// How long something may take to come about before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pause between two looks at something that is to come about.
const PAUSE: Duration = Duration::from_millis(1);

/// A process that was started. One that is not waited for is killed.
pub(crate) struct Running {
    command: Command,
    child: Child,
}

impl Running {
    /// Starts a process.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        Ok(Self { command, child })
    }

    /// Returns its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells whether it has ended.
    pub(crate) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Waits for its end, says when that was, and fails if it was no success.
    pub(crate) fn end(mut self) -> Result<Instant> {
        let status = self.child.wait();
        let end = Instant::now();
        run::expect_success(&self.command, status)?;
        Ok(end)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago, and nobody is left to be told of trouble.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something has come about.
pub(crate) fn until(what: impl Display, mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !condition()? {
        ensure!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain until {what}");
        thread::sleep(PAUSE);
    }
    Ok(())
}
