//! The report line: one call, one line of JSON (`--report`, `--log`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::claim::holder::Holder;

/// The ends a call can come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It ran, and its end is on record.
    Ran,
    /// A recorded end was given again.
    Replayed,
    /// Somebody holds the key, or it rests.
    Busy,
    /// The key was first used for something else.
    Mismatch,
    /// A person must decide.
    Unresolved,
    /// It ran, and its end is not one that is recorded.
    Failed,
    /// It succeeded, and `--validate` refused the result.
    Refused,
    /// It ran for too long, and was stopped.
    Timeout,
    /// The claim was lost.
    Lost,
    /// It ran, and its end could not be recorded.
    NotRecorded,
    /// Nothing was run.
    Error,
}

impl CallOutcome {
    /// The word for it, as a line has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Replayed => "replayed",
            Self::Busy => "busy",
            Self::Mismatch => "mismatch",
            Self::Unresolved => "unresolved",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Lost => "lost",
            Self::NotRecorded => "not_recorded",
            Self::Error => "error",
        }
    }
}

/// Who holds or held a key.
#[derive(Clone, Debug, Serialize)]
pub struct HolderLine {
    /// The machine's name.
    pub host: String,
    /// The process id there.
    pub pid: i32,
}

impl HolderLine {
    /// The holder of a claim.
    #[must_use]
    pub fn of(holder: &Holder) -> Self {
        Self { host: holder.host.clone(), pid: holder.pid }
    }
}

/// One line. Times are whole milliseconds; what does not apply is null.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// When the call ended, RFC 3339 in UTC.
    pub ts: String,
    /// The verb.
    pub verb: &'static str,
    /// The namespace of the key.
    pub namespace: String,
    /// The key, if the call had one.
    pub key: Option<String>,
    /// The step of it, if the call was about one.
    pub step: Option<String>,
    /// What the call came to.
    pub outcome: CallOutcome,
    /// The exit status of the command, live or replayed.
    pub exit_code: Option<u8>,
    /// The signal that killed the command, live or replayed.
    pub signal: Option<u8>,
    /// The attempt's number within its operation.
    pub attempt: Option<u32>,
    /// The attempt's number within its key.
    pub generation: Option<i64>,
    /// The attempt's fencing token.
    pub fence: Option<i64>,
    /// Whether an interrupted attempt was taken over.
    pub taken_over: bool,
    /// When to ask again.
    pub retry_after_ms: Option<u64>,
    /// The digest of what was asked for.
    pub fingerprint: Option<String>,
    /// How long the call waited for the key.
    pub wait_ms: u64,
    /// How long the call spent in the store.
    pub store_ms: u64,
    /// How long the command ran.
    pub run_ms: Option<u64>,
    /// How much output is kept.
    pub output_bytes: Option<u64>,
    /// Whether only the first part of it is.
    pub truncated: bool,
    /// The caller's label.
    pub source: Option<String>,
    /// Who holds the key, or ran it.
    pub holder: Option<HolderLine>,
    /// The version of doubletap.
    pub version: &'static str,
}

/// Where a line goes, opened before anything runs.
#[derive(Debug)]
pub struct Sink(File);

impl From<OwnedFd> for Sink {
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor.into())
    }
}

impl Sink {
    /// A file whose contents the line replaces. They go at once: a call that
    /// is killed leaves no line, and not that of the call before.
    ///
    /// # Errors
    /// When it cannot be opened for writing.
    pub fn replace(path: &Path) -> io::Result<Self> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path).map(Self)
    }

    /// A file that many calls write to at once.
    ///
    /// # Errors
    /// When it cannot be opened for writing.
    pub fn append(path: &Path) -> io::Result<Self> {
        OpenOptions::new().append(true).create(true).open(path).map(Self)
    }

    /// Writes the line, in one call, which keeps it whole beside others.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, line: &Line) -> io::Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        self.0.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_word_for_an_outcome() {
        for outcome in [
            CallOutcome::Ran,
            CallOutcome::Replayed,
            CallOutcome::Busy,
            CallOutcome::Mismatch,
            CallOutcome::Unresolved,
            CallOutcome::Failed,
            CallOutcome::Refused,
            CallOutcome::Timeout,
            CallOutcome::Lost,
            CallOutcome::NotRecorded,
            CallOutcome::Error,
        ] {
            let written = serde_json::to_string(&outcome).unwrap();
            assert_eq!(written, format!("\"{}\"", outcome.as_str()));
        }
    }
}
