//! A claim: the won right to run, and a value that must be spent.
//!
//! A store makes one when its claiming step committed. Recording an outcome
//! takes it by value, so nothing can be recorded twice or without having won.

use super::attempt::{Attempt, Ownership};
use super::key::Subject;

/// The won right to run. Only [`complete`](crate::store::Store::complete)
/// spends it; dropping it without that leaves an interrupted attempt.
#[derive(Debug)]
#[must_use = "a claim that is not spent leaves an interrupted attempt"]
pub struct Claim(Box<Won>);

/// Behind a pointer, so that a claim is cheap to hand from owner to owner.
#[derive(Debug)]
struct Won {
    subject: Subject,
    attempt: Attempt,
    took_over: Option<Attempt>,
    remains: Vec<Attempt>,
}

impl Claim {
    /// Made by stores, when their claiming step has committed.
    pub(crate) fn won(
        subject: Subject,
        attempt: Attempt,
        took_over: Option<Attempt>,
        remains: Vec<Attempt>,
    ) -> Self {
        Self(Box::new(Won { subject, attempt, took_over, remains }))
    }

    /// What was claimed.
    #[must_use]
    pub fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// The attempt that this claim is.
    #[must_use]
    pub fn attempt(&self) -> &Attempt {
        &self.0.attempt
    }

    /// The interrupted attempt that it follows, if it does.
    #[must_use]
    pub fn took_over(&self) -> Option<&Attempt> {
        self.0.took_over.as_ref()
    }

    /// Ended attempts of the same key whose processes nobody has looked for
    /// yet. They must be gone before the command starts.
    #[must_use]
    pub fn remains(&self) -> &[Attempt] {
        &self.0.remains
    }

    /// What the thread that renews needs.
    #[must_use]
    pub fn ownership(&self) -> Ownership {
        self.0.attempt.ownership(&self.0.subject)
    }
}
