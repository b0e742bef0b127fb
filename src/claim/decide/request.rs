//! What a caller asks for.

use std::time::Duration;

use super::super::attempt::{Attempt, CommandSummary, Ownership};
use super::super::fence::Fence;
use super::super::fingerprint::Fingerprint;
use super::super::id::{OperationId, Token};
use super::super::key::Subject;
use super::super::period::Calendar;
use super::super::time::Now;

/// Whether a record in force is set aside (`--rerun`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rerun {
    /// Run even if recorded.
    Yes,
    /// Replay what is recorded.
    #[default]
    No,
}

/// What to do about an interrupted attempt (`--on-crash`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCrash {
    /// Run again, under the same idempotency key.
    #[default]
    Rerun,
    /// Refuse until a person has decided.
    Stop,
}

/// What a caller asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The chain of attempts.
    pub subject: Subject,
    /// Drawn for the claim that is to be won; proves ownership then.
    pub token: Token,
    /// Drawn with it, and drawn again where the answer to a claim was lost (others may have
    /// ended what that began); used if it begins a new operation.
    pub new_operation: OperationId,
    /// What is asked for.
    pub fingerprint: Fingerprint,
    /// The command, in short.
    pub command: CommandSummary,
    /// How long the claim lasts unless it is renewed.
    pub lease: Duration,
    /// The attempt that it is a step of, if it is one.
    pub parent: Option<Ownership>,
    /// What depends on the kind of the chain.
    pub terms: Terms,
}

impl Request {
    /// What it is about, for people.
    #[must_use]
    pub fn title(&self) -> String {
        let name = &self.subject.key;
        match &self.parent {
            None => name.to_string(),
            Some(parent) => format!("{}: step {name}", parent.subject.key),
        }
    }
}

/// What a caller asks for, as far as it depends on the kind of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terms {
    /// To run once.
    Once(OnceTerms),
    /// To hold a name.
    Lease(LeaseTerms),
}

/// How an operation is to run once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnceTerms {
    /// Whether a record in force is set aside.
    pub rerun: Rerun,
    /// What to do about an interrupted attempt.
    pub on_crash: OnCrash,
    /// The most attempts of one operation.
    pub max_attempts: Option<u32>,
    /// The calendar whose periods count: what began in an earlier one than the present,
    /// and is over, counts as absent.
    pub calendar: Option<Calendar>,
    /// Which keys are to be had.
    pub of: Of,
    /// The attempt that has been waited for, if one has: an end as new as that is shared.
    pub awaited: Option<Fence>,
}

impl OnceTerms {
    /// Whether this began in an earlier calendar period than the present.
    pub(super) fn is_of_the_past(&self, attempt: &Attempt, now: &Now) -> bool {
        // After the years that a calendar covers there is no other period.
        let period = self.calendar.as_ref().and_then(|calendar| calendar.period(now.wall).ok());
        period.is_some_and(|period| attempt.started < period.start)
    }

    /// Whether this is the end, shared, of a command that whoever asks has waited for: a
    /// failure, and a record that has expired meanwhile, too.
    pub(super) fn share(&self, attempt: &Attempt) -> bool {
        self.rerun == Rerun::No
            && self.awaited.is_some_and(|awaited| attempt.fence >= awaited)
            && attempt.has_given()
    }
}

/// Which keys are to be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Of {
    /// All.
    #[default]
    All,
    /// Those of which nothing is known (`--upsert-missing`).
    Missing,
}

/// How a name is to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerms {
    /// It is had only while fewer than this many hold it.
    pub slots: u32,
    /// How long it is kept at least, even if its holder is done sooner.
    pub min_hold: Duration,
}
