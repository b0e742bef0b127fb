//! What is said on standard error, and how much of it.

use std::io::{self, Write as _};

use crate::text::escape;

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volume {
    /// Errors only.
    Quiet,
    /// Errors, and notes about a busy key or a take-over.
    Normal,
    /// What happened, too.
    Verbose,
}

/// Says things to people.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    volume: Volume,
}

impl Voice {
    /// A voice of this volume.
    #[must_use]
    pub fn new(volume: Volume) -> Self {
        Self { volume }
    }

    /// Whether only errors are said.
    #[must_use]
    pub fn is_quiet(self) -> bool {
        self.volume == Volume::Quiet
    }

    /// Says what went wrong.
    pub fn warn(self, sentence: &str) {
        // Nobody is left to be told if standard error is gone.
        let _ = io::stderr().write_all(format!("doubletap: {}\n", escape(sentence)).as_bytes());
    }

    /// Says what the caller may want to know.
    pub fn note(self, sentence: &str) {
        if !self.is_quiet() {
            self.warn(sentence);
        }
    }

    /// Says what happened, to those who asked.
    pub fn tell(self, sentence: impl FnOnce() -> String) {
        if self.volume == Volume::Verbose {
            self.warn(&sentence());
        }
    }
}

/// Prints what must not get lost: a reader that has gone is an error here.
///
/// # Errors
/// When it cannot be written.
pub fn hand_over(text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush())
}

/// Prints a document or a table on standard output. A reader that has gone is
/// no error.
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
