//! The JSON documents of `show`, `list` and `prune`.

use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;

use crate::claim::attempt::{Extent, Origin};
use crate::claim::decide::Seen;
use crate::claim::key::{Key, Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::standing::Standing;
use crate::claim::time::{Expiry, Now, WallMs};

use super::line::HolderLine;

/// A key and its attempts.
#[derive(Debug, Serialize)]
pub struct KeyDocument {
    /// What the key is about: `once` or `lease`.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// The key.
    pub key: String,
    /// Its state.
    pub state: &'static str,
    /// Its attempts, newest first.
    pub attempts: Vec<AttemptDocument>,
    /// The steps of its newest operation, newest first: in `show`, of a key that has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepDocument>,
}

/// A step of an operation, and its newest attempt.
#[derive(Debug, Serialize)]
pub struct StepDocument {
    /// Its name.
    pub name: String,
    /// Its newest attempt.
    #[serde(flatten)]
    pub newest: AttemptDocument,
}

/// A step of an operation, and its newest attempt.
pub type Step<'a> = (&'a Key, &'a Seen);

/// One attempt. Times are RFC 3339 in UTC; what is not known is null.
#[derive(Debug, Serialize)]
pub struct AttemptDocument {
    /// Its number within the key.
    pub generation: i64,
    /// Its number within its operation.
    pub attempt: u32,
    /// Its state.
    pub state: &'static str,
    /// Whether it was a `--rerun`.
    pub rerun: bool,
    /// Its operation, which is also the command's idempotency key.
    pub operation: String,
    /// Its fencing token.
    pub fence: i64,
    /// The digest of what was asked for.
    pub fingerprint: String,
    /// The first word of the command.
    pub command: String,
    /// How many words the command has.
    pub command_words: u32,
    /// Who claimed it.
    pub holder: HolderLine,
    /// What its claim hangs on: `wrapper`, `process`, `time` or `both`.
    pub tie: &'static str,
    /// The process group of its command, or its pid, once that is noted.
    pub group: Option<i32>,
    /// When it was claimed.
    pub started: String,
    /// When it ended.
    pub ended: Option<String>,
    /// How much of its lease is left, in ms; null when it has ended or run out.
    pub lease_left_ms: Option<u64>,
    /// The exit status of its command.
    pub exit_code: Option<u8>,
    /// The signal that killed its command.
    pub signal: Option<u8>,
    /// Why it ended so.
    pub reason: Option<String>,
    /// How long its command ran, in ms.
    pub run_ms: Option<u64>,
    /// How much output is kept.
    pub output_bytes: Option<u64>,
    /// Whether only the first part of it is.
    pub truncated: bool,
    /// When its record stops being replayed; null for never.
    pub expires: Option<String>,
}

/// What a sweep removed, or would have.
#[derive(Debug, Serialize)]
pub struct SweepDocument {
    /// Keys.
    pub keys: u64,
    /// Attempts.
    pub attempts: u64,
    /// Whether nothing was removed.
    pub dry_run: bool,
}

/// An instant as RFC 3339 in UTC, to the millisecond.
#[must_use]
pub fn timestamp(at: WallMs) -> String {
    // The format ends with the year 9999; a damaged store may go beyond.
    const LAST: i64 = 253_402_300_799_999;
    let since = Duration::from_millis(at.0.clamp(0, LAST).unsigned_abs());
    let time = UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH);
    humantime::format_rfc3339_millis(time).to_string()
}

/// Whole milliseconds.
#[must_use]
pub fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The document of a key.
#[must_use]
pub fn key(subject: &Subject, chain: &[Seen], steps: &[Step<'_>], now: &Now) -> KeyDocument {
    KeyDocument {
        kind: subject.kind.as_str(),
        namespace: subject.namespace.to_string(),
        key: subject.key.to_string(),
        state: Standing::of_key(chain, subject.kind, now).as_str(),
        attempts: chain.iter().map(|seen| attempt(seen, subject.kind, now)).collect(),
        steps: steps.iter().map(|step| self::step(*step, now)).collect(),
    }
}

fn step((name, seen): Step<'_>, now: &Now) -> StepDocument {
    StepDocument { name: name.to_string(), newest: attempt(seen, Kind::Step, now) }
}

fn attempt(seen: &Seen, kind: Kind, now: &Now) -> AttemptDocument {
    let attempt = &seen.attempt;
    let end = attempt.end.as_ref();
    let output = end.and_then(|end| end.output);
    AttemptDocument {
        generation: attempt.generation,
        attempt: attempt.number,
        state: Standing::of_attempt(seen, kind, now).as_str(),
        rerun: attempt.origin == Origin::Rerun,
        operation: attempt.operation.to_string(),
        fence: attempt.fence.0,
        fingerprint: attempt.fingerprint.to_string(),
        command: attempt.command.word.clone(),
        command_words: attempt.command.words,
        holder: HolderLine::of(&attempt.holder),
        tie: attempt.tie.as_str(),
        group: attempt.group.map(|group| group.id),
        started: timestamp(attempt.started),
        ended: end.map(|end| timestamp(end.at)),
        lease_left_ms: match end {
            None => attempt.until.left(now).map(ms),
            Some(_) => None,
        },
        exit_code: exit_code(attempt.outcome()),
        signal: signal(attempt.outcome()),
        reason: end.and_then(|end| end.reason.clone()),
        run_ms: end.and_then(|end| end.run).map(ms),
        output_bytes: output.map(|output| output.bytes),
        truncated: output.is_some_and(|output| output.extent == Extent::Truncated),
        expires: end.and_then(|end| match end.expiry {
            Expiry::Never => None,
            Expiry::At(at) => Some(timestamp(at)),
        }),
    }
}

/// The exit status of an outcome, if it is one.
#[must_use]
pub fn exit_code(outcome: Option<Outcome>) -> Option<u8> {
    match outcome {
        Some(Outcome::Exited(code)) => Some(code),
        Some(Outcome::Signaled(_)) | None => None,
    }
}

/// The signal of an outcome, if it is one.
#[must_use]
pub fn signal(outcome: Option<Outcome>) -> Option<u8> {
    match outcome {
        Some(Outcome::Signaled(signal)) => Some(signal),
        Some(Outcome::Exited(_)) | None => None,
    }
}
