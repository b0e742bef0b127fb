//! What a call is expected to give, and the comparison with what it gave.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

/// How the wrapper is expected to end.
#[derive(Clone)]
pub(crate) enum End {
    /// By itself, with this exit status.
    Status(i32),
    /// Killed by this signal.
    Signal(Signal),
    /// The test looks for itself.
    Unchecked,
}

/// What one stream is expected to hold.
#[derive(Clone)]
pub(crate) enum Text {
    /// These bytes and no others.
    Exactly(Vec<u8>),
    /// One line of doubletap's own that contains every one of these words.
    Note(Vec<String>),
    /// One or more lines of doubletap's own that together contain these words.
    Notes(Vec<String>),
    /// The test looks for itself.
    Unchecked,
}

/// The whole expectation. The default is silence and success.
#[derive(Clone)]
pub(crate) struct Expected {
    pub(crate) end: End,
    pub(crate) stdout: Text,
    pub(crate) stderr: Text,
}

impl Default for Expected {
    fn default() -> Self {
        Self {
            end: End::Status(0),
            stdout: Text::Exactly(Vec::new()),
            stderr: Text::Exactly(Vec::new()),
        }
    }
}

/// What a call gave.
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Done {
    /// The exit status, or -1 for a wrapper that a signal killed.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Standard output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub(crate) fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Fails with a sentence and everything that is known if this is not `expected`.
    #[track_caller]
    pub(crate) fn check(&self, expected: &Expected, call: &str) {
        let mut faults = Vec::new();
        let ended_well = match expected.end {
            End::Status(code) => self.status.code() == Some(code),
            End::Signal(signal) => self.status.signal() == Some(signal as i32),
            End::Unchecked => true,
        };
        if !ended_well {
            faults.push(format!("expected to end with {}", expected.end.name()));
        }
        faults.extend(expected.stdout.fault("stdout", &self.stdout));
        faults.extend(expected.stderr.fault("stderr", &self.stderr));
        assert!(
            faults.is_empty(),
            "`{call}` ended with {}\n  {}\n--- stdout\n{}\n--- stderr\n{}\n---",
            self.status,
            faults.join("\n  "),
            show(&self.stdout),
            show(&self.stderr),
        );
    }
}

impl End {
    fn name(&self) -> String {
        match self {
            Self::Status(code) => format!("status {code}"),
            Self::Signal(signal) => format!("signal {signal}"),
            Self::Unchecked => "anything".to_owned(),
        }
    }
}

impl Text {
    fn fault(&self, stream: &str, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Exactly(wanted) if bytes != wanted.as_slice() => {
                Some(format!("expected {stream} to be exactly: {}", show(wanted)))
            }
            Self::Note(words) if !is_notes(bytes, 1..=1, words) => Some(format!(
                "expected {stream} to be one line `doubletap: …` with each of {words:?}"
            )),
            Self::Notes(words) if !is_notes(bytes, 1..=9, words) => {
                Some(format!("expected {stream} to be lines `doubletap: …` with each of {words:?}"))
            }
            _ => None,
        }
    }
}

fn is_notes(bytes: &[u8], lines: std::ops::RangeInclusive<usize>, words: &[String]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.ends_with('\n')
        && lines.contains(&text.lines().count())
        && text.lines().all(|line| line.starts_with("doubletap: "))
        && words.iter().all(|word| text.contains(word))
}

/// Bytes for a person: text as it is, everything else escaped, long output cut.
fn show(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(2000)];
    String::from_utf8_lossy(cut).escape_debug().to_string()
}
