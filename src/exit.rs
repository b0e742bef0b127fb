//! The exit statuses: the only place with the numbers.
//!
//! A script reads these, so a number never changes its meaning.

use std::fmt;

/// No such key (`show`, `logs`, `forget`).
pub const ABSENT: u8 = 1;
/// Something is wrong (`doctor`).
pub const UNSOUND: u8 = ABSENT;
/// What was to be begun is on record already (`begin`).
pub const ALREADY_DONE: u8 = 10;
/// Bad option, duration or key; nothing was opened.
pub const USAGE: u8 = 64;
/// The key was first used for something else.
pub const MISMATCH: u8 = 65;
/// The claim was lost; what was running was stopped.
pub const LOST: u8 = 69;
/// An earlier attempt was interrupted, or attempts are exhausted: a person
/// must decide.
pub const UNRESOLVED: u8 = 70;
/// The outcome is recorded, but the output could not be written.
pub const OUTPUT_LOST: u8 = 73;
/// The command ran, but its outcome could not be recorded.
pub const NOT_RECORDED: u8 = 74;
/// Held by somebody else, or the wait ran out.
pub const BUSY: u8 = 75;
/// The command succeeded, but `--validate` refused the result.
pub const REFUSED: u8 = 76;
/// The command ran for longer than `--timeout`.
pub const TIMEOUT: u8 = 124;
/// doubletap itself failed before it started the command.
pub const FAILED: u8 = 125;
/// The command could not be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// The command was not found.
pub const NOT_FOUND: u8 = 127;

/// Every status of our own and what it means, for the documents that are held
/// to this list.
pub const ALL: [(u8, &str); 14] = [
    (ABSENT, "no such key, or doctor found something wrong"),
    (ALREADY_DONE, "begin: already done"),
    (USAGE, "usage: bad option, duration or key"),
    (MISMATCH, "the key was first used for something else"),
    (LOST, "the claim was lost"),
    (UNRESOLVED, "unresolved: a person must decide"),
    (OUTPUT_LOST, "recorded, but the output could not be written"),
    (NOT_RECORDED, "the command ran, but its outcome could not be recorded"),
    (BUSY, "busy"),
    (REFUSED, "the command succeeded, but --validate refused the result"),
    (TIMEOUT, "the command ran for too long"),
    (FAILED, "doubletap failed before starting the command"),
    (NOT_EXECUTABLE, "the command could not be executed"),
    (NOT_FOUND, "the command was not found"),
];

/// How doubletap ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ending {
    /// With an exit status.
    Status(u8),
    /// By the signal that it was told to end with.
    Signal(u8),
}

impl Ending {
    /// Success.
    pub const OK: Self = Self::Status(0);
}

/// An error whose exit status is not [`FAILED`].
#[derive(Debug)]
pub struct Refusal {
    /// The exit status.
    pub status: u8,
    /// A lower-case fragment that fits `doubletap: …`.
    pub message: String,
}

impl Refusal {
    /// A usage error, which is found before anything is opened.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self { status: USAGE, message: message.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_has_two_meanings() {
        let mut numbers: Vec<u8> = ALL.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), ALL.len());
    }
}
