//! How far something is that takes long: one line on a terminal, written over and over,
//! and gone at the end. What is quick or has no terminal says nothing.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::voice::Voice;

/// What ends sooner than this is not worth a word.
const LONG: Duration = Duration::from_secs(1);

/// How often the line is written.
const PACE: Duration = Duration::from_millis(200);

/// The line.
#[derive(Debug)]
pub struct Progress {
    /// When the line may be written next; never where nobody would read it.
    due: Option<Instant>,
    /// How long the line is that stands there.
    width: usize,
}

impl Progress {
    /// Begins to count the time.
    #[must_use]
    pub fn new(voice: Voice) -> Self {
        let read = !voice.is_quiet() && io::stderr().is_terminal();
        Self { due: read.then(|| Instant::now() + LONG), width: 0 }
    }

    /// Says how far it is, from time to time.
    pub fn show(&mut self, sentence: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.due.is_some_and(|due| now >= due) {
            self.due = Some(now + PACE);
            self.write(&format!("doubletap: {}", sentence()));
        }
    }

    /// Writes over the line with blanks where it is shorter: every terminal knows them.
    fn write(&mut self, line: &str) {
        let before = std::mem::replace(&mut self.width, line.chars().count());
        // Nobody is left to be told if standard error is gone.
        let _ = io::stderr().write_all(format!("\r{line:before$}").as_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.width > 0 {
            self.write("");
            self.write("");
        }
    }
}
