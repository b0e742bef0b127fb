//! The sentences for people: what happened, to which key, who holds it, and
//! what to type next.

use std::borrow::Cow;
use std::time::Duration;

use crate::claim::attempt::{Attempt, CommandSummary, OutputSummary, State};
use crate::claim::decide::{Unresolved, UnresolvedWhy};
use crate::claim::duration::for_people;
use crate::claim::fingerprint::Fingerprint;
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

    /// How to drop what is known. A step is dropped with its operation, which must not
    /// run then.
    fn start_over(&self) -> String {
        let over = match self.step {
            Some(_) => "to start its whole operation over, once that has ended",
            None => "to start over",
        };
        format!("{over}: {}", self.advise("forget", ""))
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
        let use_another = match self.step {
            Some(_) => "use another name for the step".to_owned(),
            None => format!("use another key, see {}", self.advise("show", "")),
        };
        format!(
            "{}: already used for something else {} ago ({}): {} differ{}; {what_now}: {use_another}, or {}",
            self.key(),
            for_people(first.started.age(self.now)),
            called(&first.command),
            differing.join(" and "),
            if differing.len() == 1 { "s" } else { "" },
            self.start_over()
        )
    }

    /// A person must decide.
    #[must_use]
    pub fn unresolved(&self, unresolved: &Unresolved) -> String {
        let (key, attempt) = (self.key(), &unresolved.attempt);
        let remedy = self.decision(unresolved.why);
        match unresolved.why {
            UnresolvedWhy::Interrupted => format!(
                "{key}: interrupted: its holder died without recording an outcome ({}); {remedy}",
                self.holder(attempt),
            ),
            UnresolvedWhy::Exhausted => format!(
                "{key}: {} unsuccessful, the last {}{}; {remedy}",
                match attempt.number {
                    1 => "1 attempt was".to_owned(),
                    many => format!("{many} attempts were"),
                },
                attempt.outcome().map_or_else(
                    || "was interrupted".to_owned(),
                    |outcome| format!("ended with {outcome}")
                ),
                refusal_of(attempt).map_or_else(String::new, |why| format!(", but {why}")),
            ),
        }
    }

    /// What a person does who has to decide.
    pub(super) fn decision(&self, why: UnresolvedWhy) -> String {
        match (why, self.step) {
            (UnresolvedWhy::Interrupted, Some(_)) => format!(
                "find out how it ended, then: to run it again, leave out --on-crash stop, or {}",
                self.start_over()
            ),
            (UnresolvedWhy::Interrupted, None) => {
                format!("find out how it ended, then: {}", self.settle_or_forget())
            }
            (UnresolvedWhy::Exhausted, Some(_)) => {
                format!("to allow it again, raise --max-attempts, or {}", self.start_over())
            }
            (UnresolvedWhy::Exhausted, None) => {
                format!("to allow it again: {}", self.advise("forget", ""))
            }
        }
    }

    /// What to type to say how an interrupted attempt ended, or to have it run again.
    pub(super) fn settle_or_forget(&self) -> String {
        format!(
            "{}, or to run it again: {}",
            self.advise("complete", " --unresolved --exit-code N"),
            self.advise("forget", "")
        )
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

    /// The claim that a step belongs to was lost.
    #[must_use]
    pub fn parent_lost(&self) -> String {
        format!(
            "{}: not started: the claim that it belongs to was lost, or has ended; see {}",
            self.key(),
            self.advise("show", "")
        )
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
        format!("{}: its recorded output is missing or damaged; {}", self.key(), self.start_over())
    }

    /// Only the first part of an output is there.
    #[must_use]
    pub fn truncated(&self, output: OutputSummary) -> String {
        match output.bytes {
            0 => format!("{}: none of its output is on record", self.key()),
            bytes => {
                format!("{}: only the first {bytes} bytes of its output are on record", self.key())
            }
        }
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

/// A command in short; a script that claims for itself has none.
fn called(command: &CommandSummary) -> String {
    match command.words {
        0 => format!("by {}", command.word),
        1 => format!("{}, 1 word", command.word),
        many => format!("{}, {many} words", command.word),
    }
}

/// Why a command that ended well was a failure all the same.
fn refusal_of(attempt: &Attempt) -> Option<&str> {
    let has_succeeded = attempt.outcome().is_some_and(Outcome::is_success);
    attempt.end.as_ref().filter(|_| has_succeeded)?.reason.as_deref()
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

    #[test]
    fn a_script_that_has_claimed_is_not_told_of_as_a_command_without_words() {
        let mut first = attempt(1, State::Done);
        first.command = CommandSummary { word: "begin".into(), words: 0 };
        let line = said("k", "", |topic| topic.mismatch(&first, &fingerprint("b")));
        assert!(line.contains(" ago (by begin): "), "{line}");
    }

    #[test]
    fn what_is_advised_of_a_step_leaves_its_operation_alone_while_that_runs() {
        let step = Key::new("upload").unwrap();
        let stuck = |why| Unresolved { attempt: attempt(1, State::Failed), why };
        let of = |say: &dyn Fn(Topic<'_>) -> String| {
            said("k", "", |topic| say(Topic { step: Some(&step), ..topic }))
        };
        for line in [
            of(&|topic| topic.mismatch(&attempt(1, State::Done), &fingerprint("b"))),
            of(&|topic| topic.unresolved(&stuck(UnresolvedWhy::Interrupted))),
            of(&|topic| topic.unresolved(&stuck(UnresolvedWhy::Exhausted))),
            of(&|topic| topic.damaged()),
        ] {
            let end = "to start its whole operation over, once that has ended: doubletap forget k";
            assert!(line.starts_with("k: step upload: ") && line.ends_with(end), "{line}");
            assert!(!line.contains("complete"), "{line}");
        }
    }
}
