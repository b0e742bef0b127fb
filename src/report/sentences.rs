//! The sentences for people: what happened, to which key, who holds it, and
//! what to type next.

use std::time::Duration;

use crate::claim::attempt::Attempt;
use crate::claim::decide::{Busy, BusyWhy, Unresolved, UnresolvedWhy};
use crate::claim::duration::for_people;
use crate::claim::fingerprint::Fingerprint;
use crate::claim::holder::{Life, Reach};
use crate::claim::key::Subject;
use crate::claim::outcome::Outcome;
use crate::claim::time::WallMs;

use crate::store::LostWhy;
use crate::text::quote;

/// Who claimed an attempt, and how long ago.
fn holder(attempt: &Attempt, now: WallMs) -> String {
    format!(
        "pid {} on {}, started {} ago",
        attempt.holder.pid,
        attempt.holder.host,
        for_people(attempt.started.age(now))
    )
}

/// The key is busy.
#[must_use]
pub fn busy(subject: &Subject, busy: &Busy, now: WallMs) -> String {
    let key = &subject.key;
    let attempt = &busy.attempt;
    match busy.why {
        BusyWhy::Held(Life::Orphaned) => {
            let group = attempt.group.map_or_else(String::new, |group| match group.reach {
                Reach::Group => format!(" as process group {}", group.id),
                Reach::Process => format!(" as pid {}", group.id),
            });
            format!(
                "{key}: busy: the command of {} still runs{group}, though its doubletap is gone; end it, or wait for it with --wait",
                holder(attempt, now)
            )
        }
        BusyWhy::Held(_) => {
            format!("{key}: busy: held by {}", holder(attempt, now))
        }
        BusyWhy::Resting => format!(
            "{key}: busy: it failed{} and rests for another {}",
            attempt.outcome().map_or_else(String::new, |outcome| format!(" with {outcome}")),
            for_people(busy.retry_after.unwrap_or_default())
        ),
    }
}

/// The key was first used for something else.
#[must_use]
pub fn mismatch(subject: &Subject, first: &Attempt, asked: &Fingerprint, now: WallMs) -> String {
    let key = &subject.key;
    format!(
        "{key}: already used for something else {} ago; {} differs; use another key, or doubletap forget {}",
        for_people(first.started.age(now)),
        first.fingerprint.differing_fields(asked).join(" and "),
        quote(key.as_str())
    )
}

/// A person must decide.
#[must_use]
pub fn unresolved(subject: &Subject, unresolved: &Unresolved, now: WallMs) -> String {
    let key = &subject.key;
    let attempt = &unresolved.attempt;
    let quoted = quote(key.as_str());
    match unresolved.why {
        UnresolvedWhy::Interrupted => format!(
            "{key}: interrupted: {} died without recording an outcome; find out how it ended, then: doubletap complete {quoted} --unresolved --exit-code N, or to run it again: doubletap forget {quoted}",
            holder(attempt, now)
        ),
        UnresolvedWhy::Exhausted => format!(
            "{key}: {} attempts were unsuccessful, the last {}; to allow it again: doubletap forget {quoted}",
            attempt.number,
            attempt.outcome().map_or_else(
                || "was interrupted".to_owned(),
                |outcome| format!("ended with {outcome}")
            )
        ),
    }
}

/// An interrupted attempt is taken over.
#[must_use]
pub fn took_over(subject: &Subject, before: &Attempt, now: WallMs) -> String {
    format!(
        "{}: attempt {} was interrupted ({}); running again with the same idempotency key",
        subject.key,
        before.number,
        holder(before, now)
    )
}

/// A call of a key from inside its own command.
#[must_use]
pub fn nested(subject: &Subject) -> String {
    format!(
        "{}: busy: it is held by a doubletap that runs this very call, which would wait for itself; use another key inside",
        subject.key
    )
}

/// A busy key after a wait.
#[must_use]
pub fn waited(subject: &Subject, waited: Duration) -> String {
    format!("{}: still busy after a wait of {}", subject.key, for_people(waited))
}

/// The end of a command that could not be recorded. `flags` repeats the
/// options that name the store and the namespace, ready to be typed.
#[must_use]
pub fn not_recorded(
    subject: &Subject,
    outcome: Outcome,
    why: &dyn std::fmt::Display,
    flags: &str,
) -> String {
    format!(
        "{key}: the command ended with {outcome}, but that could not be recorded: {why}; to record it by hand: doubletap complete {quoted} --unresolved --exit-code {status}{flags}",
        key = subject.key,
        quoted = quote(subject.key.as_str()),
        status = outcome.status(),
    )
}

/// The claim was lost before the command's end could be recorded.
#[must_use]
pub fn lost(subject: &Subject, outcome: Outcome, why: LostWhy) -> String {
    let why = match why {
        LostWhy::Missing => "the attempt is not in the store any more",
        LostWhy::Superseded => "another attempt took its place, or it was forgotten",
        LostWhy::AlreadyDone => "its outcome was recorded by somebody else",
    };
    format!(
        "{}: the claim was lost: {why}; the command ended with {outcome}, and nothing was recorded",
        subject.key
    )
}
