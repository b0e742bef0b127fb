//! What is told of claims that scripts make and spend by hand: documents, and lines for a
//! shell.

use serde::Serialize;

use crate::claim::attempt::{Attempt, Extent};
use crate::claim::key::Subject;

use super::document::{exit_code, signal};
use super::line::HolderLine;

/// What a call that wants a claim comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It has it.
    Fresh,
    /// The outcome is on record.
    Done,
    /// Somebody else has it.
    Busy,
    /// It was first used for something else.
    Mismatch,
    /// A person must decide.
    Unresolved,
}

impl Answered {
    fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Done => "done",
            Self::Busy => "busy",
            Self::Mismatch => "mismatch",
            Self::Unresolved => "unresolved",
        }
    }
}

/// The answer to `begin` and `acquire`. What does not apply is null.
#[derive(Debug, Serialize)]
pub struct AnswerDocument {
    /// What it came to: `fresh`, `done`, `busy`, `mismatch` or `unresolved`.
    pub status: &'static str,
    /// What was asked for: `once` or `lease`.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// The key or name.
    pub key: String,
    /// The token of the claim, if it was won.
    pub token: Option<String>,
    /// The fence of the claim, or of the attempt in the way.
    pub fence: Option<i64>,
    /// The number of that attempt within its operation.
    pub attempt: Option<u32>,
    /// Its number within the key.
    pub generation: Option<i64>,
    /// The idempotency key of the operation, if the claim was won.
    pub idempotency_key: Option<String>,
    /// Whether an interrupted attempt was taken over.
    pub taken_over: bool,
    /// When to ask again, in ms.
    pub retry_after_ms: Option<u64>,
    /// The exit status on record.
    pub exit_code: Option<u8>,
    /// The signal on record.
    pub signal: Option<u8>,
    /// How much output is on record; `logs` gives it.
    pub output_bytes: Option<u64>,
    /// Whether only the first part of it is.
    pub truncated: bool,
    /// Whose the attempt is.
    pub holder: Option<HolderLine>,
}

impl AnswerDocument {
    /// What is known of the answer from the attempt that it is about.
    #[must_use]
    pub fn about(answered: Answered, subject: &Subject, attempt: Option<&Attempt>) -> Self {
        let output = attempt.and_then(Attempt::output);
        let outcome = attempt.and_then(Attempt::outcome);
        Self {
            status: answered.as_str(),
            kind: subject.kind.as_str(),
            namespace: subject.namespace.to_string(),
            key: subject.key.to_string(),
            token: None,
            fence: attempt.map(|attempt| attempt.fence.0),
            attempt: attempt.map(|attempt| attempt.number),
            generation: attempt.map(|attempt| attempt.generation),
            idempotency_key: None,
            taken_over: false,
            retry_after_ms: None,
            exit_code: exit_code(outcome),
            signal: signal(outcome),
            output_bytes: output.map(|output| output.bytes),
            truncated: output.is_some_and(|output| output.extent == Extent::Truncated),
            holder: attempt.map(|attempt| HolderLine::of(&attempt.holder)),
        }
    }
}

/// What a call with a token comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// The outcome is on record.
    Recorded,
    /// The key was given back for a retry.
    Failed,
    /// The name was given back.
    Released,
    /// It lasts longer now.
    Renewed,
    /// It is still good.
    Held,
    /// `--validate` refused the result.
    Refused,
    /// Its time is over, and nobody has taken it so far.
    Expired,
    /// Nothing is known of it.
    Missing,
    /// Somebody else took its place, or it was forgotten.
    Superseded,
    /// It has ended already.
    AlreadyDone,
}

impl Settlement {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Failed => "failed",
            Self::Released => "released",
            Self::Renewed => "renewed",
            Self::Held => "held",
            Self::Refused => "refused",
            Self::Expired => "expired",
            Self::Missing => "missing",
            Self::Superseded => "superseded",
            Self::AlreadyDone => "already_done",
        }
    }
}

/// The answer to a call with a token.
#[derive(Debug, Serialize)]
pub struct SettlementDocument {
    /// What it came to.
    pub status: &'static str,
    /// What the token is for: `once`, `lease` or `step`; null if nothing is known of it.
    pub kind: Option<&'static str>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// The key or name.
    pub key: Option<String>,
    /// Whether the claim's time was over, or its process gone, and nobody had taken it.
    pub late: bool,
}

/// Lines that set these variables, for a POSIX shell to eval; whatever is in the values
/// stays what it is.
#[must_use]
pub fn assignments<'a>(variables: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in variables {
        lines.extend_from_slice(format!("export {name}='").as_bytes());
        for byte in value {
            match byte {
                b'\'' => lines.extend_from_slice(br"'\''"),
                plain => lines.push(*plain),
            }
        }
        lines.extend_from_slice(b"'\n");
    }
    lines
}

/// The line that gives a shell that evals it this exit status: without one, what follows
/// would run as if the claim had been won.
#[must_use]
pub fn refusal(status: u8) -> String {
    format!("(exit {status})\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_in_a_value_stays_what_it_is() {
        let lines = assignments([("A", &b"it's $(x)\xff`"[..]), ("B", b"")].into_iter());
        assert_eq!(lines, b"export A='it'\\''s $(x)\xff`'\nexport B=''\n");
    }
}
