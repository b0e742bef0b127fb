//! The sentences about a command whose end is not on record, or not where it had to be.

use std::fmt::Display;
use std::time::Duration;

use crate::claim::decide::UnresolvedWhy;
use crate::claim::duration::for_people;
use crate::claim::outcome::Outcome;

use super::sentences::Topic;

/// What becomes of a key whose newest attempt has come to no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Whoever calls next runs it.
    Runs,
    /// The same, when the lease of a claim that nobody gave back is over.
    RunsAfterLease,
    /// Whoever calls next is refused.
    Refused(UnresolvedWhy),
}

/// What an end would have become that could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// A record, which is given again.
    Record,
    /// A failed attempt, after which there is this.
    Failure(Next),
}

impl Topic<'_> {
    /// The end of a command that could not be written down.
    #[must_use]
    pub fn not_recorded(
        &self,
        outcome: Outcome,
        unwritten: Unwritten,
        why: &dyn Display,
    ) -> String {
        let key = self.key();
        let end = format!("{key}: the command ended with {outcome}");
        match (unwritten, self.step) {
            (Unwritten::Failure(Next::Refused(UnresolvedWhy::Interrupted)), None) => format!(
                "{end}, which could not be noted: {why}; it would have been no record, but the next call cannot know that; to have it run again: {}",
                self.advise("forget", "")
            ),
            (Unwritten::Failure(next), _) => format!(
                "{end}, which could not be noted: {why}; it would have been no record{}",
                match next {
                    Next::Refused(why) => format!("; {}", self.decision(why)),
                    _ => format!(", so nothing need be done: {}", self.again(next)),
                }
            ),
            // What `complete` says is said of the whole operation.
            (Unwritten::Record, Some(_)) => {
                format!("{end}, but that could not be recorded: {why}; {}", self.again(Next::Runs))
            }
            (Unwritten::Record, None) => {
                let settle = format!(" --unresolved --exit-code {}", outcome.status());
                format!(
                    "{end}, but that could not be recorded: {why}; to record it by hand: {}",
                    self.advise("complete", &settle)
                )
            }
        }
    }

    /// The end of a command that is on the server, and not on as many of its copies as
    /// were asked for.
    #[must_use]
    pub fn not_acknowledged(
        &self,
        outcome: Outcome,
        unwritten: Unwritten,
        (why, next): (&str, Next),
    ) -> String {
        let done = match unwritten {
            Unwritten::Record => "recorded",
            Unwritten::Failure(_) => "noted",
        };
        format!(
            "{}: the command ended with {outcome}, and the server has {done} that, but {why}; if a fail-over forgets it, {}",
            self.key(),
            self.again(next)
        )
    }

    /// The claim of a command that could not be renewed in time.
    #[must_use]
    pub fn claim_not_renewed(&self, lease: Duration, outcome: Outcome, next: Next) -> String {
        let then = match next {
            Next::Refused(why) => format!("nothing was recorded; {}", self.decision(why)),
            _ => format!("nothing was recorded, and {}", self.again(next)),
        };
        format!(
            "{}: the claim could not be renewed, and the command was stopped before its {} were over ({outcome}); a longer --claim-ttl outlasts a longer outage; {then}",
            self.key(),
            for_people(lease)
        )
    }

    /// When it runs again.
    fn again(&self, next: Next) -> String {
        match (next, self.step) {
            (Next::Refused(_), _) => "the next call is refused until a person decides (70)".into(),
            (_, Some(_)) => {
                "it runs again, with the same idempotency key, when the operation does".into()
            }
            (Next::Runs, None) => "the next call runs it again".into(),
            (Next::RunsAfterLease, None) => {
                "the next call runs it again once its lease is over".into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::key::Key;
    use crate::claim::samples::{now, request};

    fn said(say: impl FnOnce(Topic<'_>) -> String) -> String {
        let subject = &request(1).subject;
        say(Topic { subject, step: None, options: " --store s", now: now(3000).wall })
    }

    fn unwritten(unwritten: Unwritten) -> String {
        said(|topic| topic.not_recorded(Outcome::Exited(9), unwritten, &"no space"))
    }

    #[test]
    fn only_what_would_have_been_a_record_is_to_be_made_one_by_hand() {
        let line = unwritten(Unwritten::Record);
        let typed = "by hand: doubletap complete k --unresolved --exit-code 9 --store s";
        assert!(line.ends_with(typed), "{line}");
        for next in [
            Next::Runs,
            Next::RunsAfterLease,
            Next::Refused(UnresolvedWhy::Interrupted),
            Next::Refused(UnresolvedWhy::Exhausted),
        ] {
            let line = unwritten(Unwritten::Failure(next));
            assert!(!line.contains("complete"), "{line}");
        }
    }

    #[test]
    fn after_a_failure_it_is_said_what_the_next_call_does() {
        let line = unwritten(Unwritten::Failure(Next::RunsAfterLease));
        assert!(line.ends_with("the next call runs it again once its lease is over"), "{line}");
        for why in [UnresolvedWhy::Interrupted, UnresolvedWhy::Exhausted] {
            let line = unwritten(Unwritten::Failure(Next::Refused(why)));
            assert!(line.ends_with("again: doubletap forget k --store s"), "{line}");
        }
    }

    #[test]
    fn what_a_step_has_come_to_is_not_said_of_its_operation() {
        let step = Key::new("upload").unwrap();
        let line = said(|topic| {
            let topic = Topic { step: Some(&step), ..topic };
            topic.not_recorded(Outcome::Exited(0), Unwritten::Record, &"no space")
        });
        assert!(line.starts_with("k: step upload: "), "{line}");
        assert!(line.ends_with("same idempotency key, when the operation does"), "{line}");
    }

    #[test]
    fn who_is_refused_next_is_not_promised_a_run() {
        let lost = |next| {
            said(|topic| {
                topic.claim_not_renewed(Duration::from_secs(4), Outcome::Signaled(15), next)
            })
        };
        assert!(lost(Next::Runs).ends_with("and the next call runs it again"));
        let line = lost(Next::Refused(UnresolvedWhy::Interrupted));
        assert!(line.contains("complete k --unresolved --exit-code N --store s, or"), "{line}");
        assert!(!line.contains("next call runs it"), "{line}");
    }
}
