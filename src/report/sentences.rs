//! The sentences for people: what happened, to which key, who holds it, and
//! what to type next.

use std::borrow::Cow;
use std::time::Duration;

use crate::claim::attempt::{Attempt, OutputSummary, State};
use crate::claim::decide::{Busy, BusyWhy, Unresolved, UnresolvedWhy};
use crate::claim::duration::for_people;
use crate::claim::fingerprint::Fingerprint;
use crate::claim::holder::{Life, Reach, Tie};
use crate::claim::key::{Key, Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::WallMs;
use crate::store::LostWhy;
use crate::text::quote;

/// What a sentence is about, and what its commands need to mean the same.
#[derive(Clone, Copy, Debug)]
pub struct Topic<'a> {
    /// The key.
    pub subject: &'a Subject,
    /// The step of it, if it is about one.
    pub step: Option<&'a Key>,
    /// The options that name this store and namespace again, each after a
    /// blank; nothing where the defaults do.
    pub options: &'a str,
    /// When it is said.
    pub now: WallMs,
}

impl Topic<'_> {
    pub(super) fn key(&self) -> Cow<'_, str> {
        let key = self.subject.key.as_str();
        self.step.map_or(key.into(), |step| format!("{key}: step {step}").into())
    }

    /// `doubletap VERB KEY …`, ready to be typed.
    pub(super) fn advise(&self, verb: &str, rest: &str) -> String {
        let key = match self.subject.key.as_str() {
            dashed if dashed.starts_with('-') => format!("--key={}", quote(dashed)),
            plain => quote(plain),
        };
        let kind = match self.subject.kind {
            Kind::Once | Kind::Step => "",
            Kind::Lease => " --kind lease",
        };
        format!("doubletap {verb} {key}{kind}{rest}{}", self.options)
    }

    /// Who claimed an attempt, and how long ago.
    pub(super) fn holder(&self, attempt: &Attempt) -> String {
        format!(
            "pid {} on {}, started {} ago",
            attempt.holder.pid,
            attempt.holder.host,
            for_people(attempt.started.age(self.now))
        )
    }

    /// The key is busy.
    #[must_use]
    pub fn busy(&self, busy: &Busy) -> String {
        let (key, attempt) = (self.key(), &busy.attempt);
        match busy.why {
            BusyWhy::Held(Life::Orphaned) => {
                let group = named(attempt).map_or_else(String::new, |name| format!(" as {name}"));
                format!(
                    "{key}: busy: its command still runs{group}, though the doubletap that started it is gone ({}); end it, or wait for it with --wait",
                    self.holder(attempt)
                )
            }
            BusyWhy::Held(life) if is_out_of_sight(attempt, life) => {
                format!("{key}: busy: held by {}", self.out_of_sight(attempt))
            }
            BusyWhy::Held(_) => {
                format!("{key}: busy: held by {}; --wait would wait for it", self.holder(attempt))
            }
            BusyWhy::Resting if self.subject.kind == Kind::Lease => format!(
                "{key}: busy: it is kept for another {} (--min-hold) after {}; --wait would wait for it",
                for_people(busy.retry_after.unwrap_or_default()),
                self.holder(attempt)
            ),
            BusyWhy::Resting => format!(
                "{key}: busy: it failed{} and rests for another {}",
                attempt.outcome().map_or_else(String::new, |outcome| format!(" with {outcome}")),
                for_people(busy.retry_after.unwrap_or_default())
            ),
        }
    }

    /// Who lives and is in the way of what a person decides.
    #[must_use]
    pub fn held(&self, attempt: &Attempt, life: Life) -> String {
        match life {
            Life::Orphaned => format!("{}: {}", self.key(), self.orphan(attempt)),
            _ => format!("{}: held by {}", self.key(), self.holder(attempt)),
        }
    }

    /// Who is to be waited for.
    fn awaited(&self, busy: &Busy) -> String {
        match busy.why {
            BusyWhy::Held(Life::Orphaned) => self.orphan(&busy.attempt),
            BusyWhy::Held(life) if is_out_of_sight(&busy.attempt, life) => {
                self.out_of_sight(&busy.attempt)
            }
            _ => self.holder(&busy.attempt),
        }
    }

    /// A process that nothing can be known of, and whose claim has no end.
    fn out_of_sight(&self, attempt: &Attempt) -> String {
        format!(
            "{}, which cannot be seen from here; if it is gone: {}",
            self.holder(attempt),
            self.advise("forget", " --force")
        )
    }

    /// A command that has outlived the doubletap that started it.
    fn orphan(&self, attempt: &Attempt) -> String {
        let command = named(attempt).map_or_else(String::new, |name| format!(": {name}"));
        let age = for_people(attempt.started.age(self.now));
        let host = &attempt.holder.host;
        format!(
            "its doubletap is gone, but its command lives{command} on {host}, started {age} ago"
        )
    }

    /// A wait for a busy key begins.
    #[must_use]
    pub fn waits(&self, busy: &Busy) -> String {
        format!("{}: waiting for {}", self.key(), self.awaited(busy))
    }

    /// The key was first used for something else.
    #[must_use]
    pub fn mismatch(&self, first: &Attempt, asked: &Fingerprint) -> String {
        let differing = first.fingerprint.differing_fields(asked);
        let what_now = match first.state {
            State::Running => "that still runs or was interrupted".to_owned(),
            State::Interrupted => {
                "that was interrupted, and may have had half its effect".to_owned()
            }
            _ => "that is on record".to_owned(),
        };
        format!(
            "{}: already used for something else {} ago ({}, {} word{}): {} differ{}; {what_now}: use another key, see {}, or to start over: {}",
            self.key(),
            for_people(first.started.age(self.now)),
            first.command.word,
            first.command.words,
            if first.command.words == 1 { "" } else { "s" },
            differing.join(" and "),
            if differing.len() == 1 { "s" } else { "" },
            self.advise("show", ""),
            self.advise("forget", "")
        )
    }

    /// A person must decide.
    #[must_use]
    pub fn unresolved(&self, unresolved: &Unresolved) -> String {
        let (key, attempt) = (self.key(), &unresolved.attempt);
        match unresolved.why {
            UnresolvedWhy::Interrupted => format!(
                "{key}: interrupted: its holder died without recording an outcome ({}); find out how it ended, then: {}, or to run it again: {}",
                self.holder(attempt),
                self.advise("complete", " --unresolved --exit-code N"),
                self.advise("forget", "")
            ),
            UnresolvedWhy::Exhausted => format!(
                "{key}: {} unsuccessful, the last {}; to allow it again: {}",
                match attempt.number {
                    1 => "1 attempt was".to_owned(),
                    many => format!("{many} attempts were"),
                },
                attempt.outcome().map_or_else(
                    || "was interrupted".to_owned(),
                    |outcome| format!("ended with {outcome}")
                ),
                self.advise("forget", "")
            ),
        }
    }

    /// A person has said how an interrupted attempt ended.
    #[must_use]
    pub fn settled(&self, outcome: Outcome) -> String {
        format!(
            "{}: recorded that it ended with {outcome}; every call gets that from now on, and nothing runs; to run it again instead: {}",
            self.key(),
            self.advise("forget", "")
        )
    }

    /// An interrupted attempt is taken over.
    #[must_use]
    pub fn took_over(&self, before: &Attempt) -> String {
        format!(
            "{}: attempt {} was interrupted ({}); running again with the same idempotency key",
            self.key(),
            before.number,
            self.holder(before)
        )
    }

    /// A call of a key from inside its own command.
    #[must_use]
    pub fn nested(&self) -> String {
        format!(
            "{}: busy: it is held by a doubletap that runs this very call, which would wait for itself; use another key inside",
            self.key()
        )
    }

    /// The claim that a step belongs to was lost.
    #[must_use]
    pub fn parent_lost(&self) -> String {
        format!(
            "{}: not started: the claim that it belongs to was lost, or has ended; see {}",
            self.key(),
            self.advise("show", "")
        )
    }

    /// A busy key after a wait.
    #[must_use]
    pub fn waited(&self, busy: &Busy, waited: Duration) -> String {
        let why = match busy.why {
            BusyWhy::Held(_) => self.awaited(busy),
            BusyWhy::Resting if self.subject.kind == Kind::Lease => format!(
                "it is kept for another {} (--min-hold)",
                for_people(busy.retry_after.unwrap_or_default())
            ),
            BusyWhy::Resting => format!(
                "after a failure it rests for another {}",
                for_people(busy.retry_after.unwrap_or_default())
            ),
        };
        format!("{}: still busy after a wait of {} ({why})", self.key(), for_people(waited))
    }

    /// Processes of an earlier attempt could not be ended.
    #[must_use]
    pub fn not_cleared(&self) -> String {
        format!(
            "{}: busy: processes of an earlier attempt could not be ended; see {}",
            self.key(),
            self.advise("show", "")
        )
    }

    /// A recorded output is not there as it was recorded.
    #[must_use]
    pub fn damaged(&self) -> String {
        format!(
            "{}: its recorded output is missing or damaged; to start over: {}",
            self.key(),
            self.advise("forget", "")
        )
    }

    /// Only the first part of an output is there.
    #[must_use]
    pub fn truncated(&self, output: OutputSummary) -> String {
        format!("{}: only the first {} bytes of its output are on record", self.key(), output.bytes)
    }

    /// The end of a command that could not be recorded.
    #[must_use]
    pub fn not_recorded(&self, outcome: Outcome, why: &dyn std::fmt::Display) -> String {
        let settle = format!(" --unresolved --exit-code {}", outcome.status());
        format!(
            "{}: the command ended with {outcome}, but that could not be recorded: {why}; to record it by hand: {}",
            self.key(),
            self.advise("complete", &settle),
        )
    }

    /// A name was lost to somebody else.
    #[must_use]
    pub fn lease_lost(
        &self,
        why: LostWhy,
        successor: Option<&Attempt>,
        outcome: Outcome,
    ) -> String {
        let to = match (successor, why) {
            (Some(attempt), _) if attempt.state == State::Running => {
                format!("it is held by {} now", self.holder(attempt))
            }
            (Some(attempt), _) => format!("it was taken by {}", self.holder(attempt)),
            (None, LostWhy::Missing) => "it is not in the store any more".to_owned(),
            (None, LostWhy::Superseded) => "somebody else took it, or it was forgotten".to_owned(),
            (None, LostWhy::AlreadyDone) => "it was given back by somebody else".to_owned(),
        };
        format!("{}: the lease was lost: {to}; the command ended with {outcome}", self.key())
    }

    /// A lease that could not be renewed in time.
    #[must_use]
    pub fn not_renewed(&self, lease: Duration, outcome: Outcome) -> String {
        format!(
            "{}: the lease could not be renewed, and the command was stopped before its {} were over ({outcome})",
            self.key(),
            for_people(lease)
        )
    }

    /// A lease that was not to be renewed.
    #[must_use]
    pub fn ran_out(&self, lease: Duration, outcome: Outcome) -> String {
        format!(
            "{}: the command was stopped before the {} of its lease were over ({outcome}); a longer --ttl, or no --no-renew, would let it run on",
            self.key(),
            for_people(lease)
        )
    }

    /// The claim was lost before the command's end could be recorded.
    #[must_use]
    pub fn lost(&self, outcome: Outcome, why: LostWhy) -> String {
        let why = match why {
            LostWhy::Missing => "the attempt is not in the store any more",
            LostWhy::Superseded => "another attempt took its place, or it was forgotten",
            LostWhy::AlreadyDone => "its outcome was recorded by somebody else",
        };
        format!(
            "{}: the claim was lost: {why}; the command ended with {outcome}, and nothing was recorded",
            self.key()
        )
    }
}

/// Whether an attempt is held for ever by a process of which nothing can be known.
fn is_out_of_sight(attempt: &Attempt, life: Life) -> bool {
    attempt.tie == Tie::Process && life == Life::Unknown
}

/// What a command is called by the system, where that is known.
fn named(attempt: &Attempt) -> Option<String> {
    attempt.group.map(|group| match group.reach {
        Reach::Group => format!("process group {}", group.id),
        Reach::Process => format!("pid {}", group.id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::samples::{attempt, fingerprint, now, request};

    fn said(key: &str, options: &str, say: impl FnOnce(Topic<'_>) -> String) -> String {
        let mut subject = request(1).subject;
        subject.key = Key::new(key).unwrap();
        say(Topic { subject: &subject, step: None, options, now: now(3000).wall })
    }

    #[test]
    fn advice_names_the_store_and_the_namespace_and_quotes_the_key() {
        let why = UnresolvedWhy::Exhausted;
        let stuck = Unresolved { attempt: attempt(1, State::Failed), why };
        let line = said("a b", " --namespace prod", |topic| topic.unresolved(&stuck));
        assert!(line.ends_with("doubletap forget 'a b' --namespace prod"), "{line}");
        assert!(line.starts_with("a b: 1 attempt was unsuccessful"), "{line}");
    }

    #[test]
    fn a_key_that_begins_with_a_dash_can_be_typed_as_advised() {
        let first = attempt(1, State::Done);
        let line = said("-x", "", |topic| topic.mismatch(&first, &fingerprint("b")));
        assert!(line.ends_with("doubletap forget --key=-x"), "{line}");
        assert!(line.contains("text differs"), "{line}");
    }
}
