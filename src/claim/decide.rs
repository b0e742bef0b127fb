//! The one function that says what a caller of a key may do.
//!
//! Every store calls [`decide`] inside its claiming step, with what it read
//! under its lock; a read without the lock calls it too, and then only acts on
//! a replay, a busy or a mismatch. The order of the rules is the table of
//! DESIGN section 4.

use std::time::Duration;

use super::attempt::{Attempt, Origin, State};
use super::fence::Fence;
use super::holder::{Life, Tie};
use super::id::{OperationId, Token};
use super::time::Now;

pub use request::{LeaseTerms, Of, OnCrash, OnceTerms, Request, Rerun, Terms};

/// An attempt and what is known of its holder.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The attempt as it was read.
    pub attempt: Attempt,
    /// What is known of its holder; [`Life::Gone`] for one that is not running.
    pub life: Life,
}

impl Seen {
    /// Whether the holder still counts: a living one always does, a dead one
    /// never, and one of whom nothing is known as long as its lease lasts, or for ever
    /// if it asked for no lease. (Whoever
    /// holds a lease counts by other rules: [`Seen::holds`].)
    #[must_use]
    pub fn counts(&self, now: &Now) -> bool {
        self.attempt.state == State::Running
            && match self.life {
                Life::Alive | Life::Orphaned => true,
                Life::Gone => false,
                // Time alone does not end what was tied to a process only.
                Life::Unknown => {
                    self.attempt.tie == Tie::Process || self.attempt.until.left(now).is_some()
                }
            }
    }

    /// Whether the kernel tells whoever waits for its holder of his end.
    #[must_use]
    pub fn tells_of_its_end(&self) -> bool {
        self.life == Life::Alive && self.attempt.tie == Tie::Wrapper
    }

    /// Whether its record, if it is one, is not replayed any more.
    #[must_use]
    pub fn expired(&self, now: &Now) -> bool {
        self.attempt.end.as_ref().is_none_or(|end| end.expiry.has_come(now))
    }

    /// A `--rerun` that came to nothing leaves the record it was to replace.
    pub(crate) fn is_passed_over(&self, now: &Now) -> bool {
        self.attempt.origin == Origin::Rerun
            && match self.attempt.state {
                State::Failed | State::Interrupted => true,
                State::Running => !self.counts(now),
                State::Done | State::Forgotten | State::Released => false,
            }
    }
}

/// What the caller may do.
#[derive(Clone, Debug)]
pub enum Decision {
    /// It holds the claim already: the answer to a lost reply.
    Claimed(Attempt),
    /// It may run, if it gets this next attempt into the store.
    Run(Box<Plan>),
    /// The outcome is on record, or shared with who has waited for it.
    Replay(Attempt),
    /// Somebody holds the key, or it rests after a failure.
    Busy(Busy),
    /// The key was first used for something else.
    Mismatch(Attempt),
    /// A person must decide.
    Unresolved(Unresolved),
    /// Something is known of the key, and only a missing one was wanted.
    Known(Attempt),
    /// The claim that it is a step of was lost.
    ParentLost,
}

/// The next attempt of a key.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its number within the key.
    pub generation: i64,
    /// What it tries to get done.
    pub operation: OperationId,
    /// Its number within the operation.
    pub number: u32,
    /// Why it is made.
    pub origin: Origin,
    /// The running attempts whose holders have lost their right: to be marked
    /// interrupted.
    pub supersedes: Vec<Seen>,
    /// The interrupted attempt whose operation goes on, to be told about.
    pub takes_over: Option<Attempt>,
}

/// A key that cannot be had now.
#[derive(Clone, Debug)]
pub struct Busy {
    /// The attempt in the way.
    pub attempt: Attempt,
    /// Why it is in the way.
    pub why: BusyWhy,
    /// When it makes sense to ask again, if that is known.
    pub retry_after: Option<Duration>,
    /// Everybody who holds it, any of whose ends may change the answer.
    pub holders: Vec<Seen>,
    /// The attempt whose end is given to whoever waits for it, if one's is: that of an
    /// earlier calendar period is nothing to who comes in this one.
    pub gives: Option<(Fence, Token)>,
}

/// Why a key cannot be had now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusyWhy {
    /// Its holder has it.
    Held(Life),
    /// It rests: after a failure (`--retry-after`), or because it is to be kept
    /// for longer than it was needed (`--min-hold`).
    Resting,
}

/// A key that only a person can free.
#[derive(Clone, Debug)]
pub struct Unresolved {
    /// The newest attempt.
    pub attempt: Attempt,
    /// What is to be decided.
    pub why: UnresolvedWhy,
}

/// What is to be decided about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnresolvedWhy {
    /// An attempt was interrupted and the caller wants to stop then.
    Interrupted,
    /// The operation had as many attempts as the caller allows.
    Exhausted,
}

/// Says what the caller may do.
///
/// `chain` has the newest attempts of the key, newest first: to run once, down to
/// the first that is not a `--rerun` (or the last there is), and of a lease all.
#[must_use]
pub fn decide(chain: &[Seen], request: &Request, now: &Now) -> Decision {
    match &request.terms {
        Terms::Once(terms) => decide_once(chain, request, terms, now),
        Terms::Lease(terms) => lease::decide_lease(chain, request, *terms, now),
    }
}

fn decide_once(chain: &[Seen], request: &Request, terms: &OnceTerms, now: &Now) -> Decision {
    let Some(newest) = chain.first() else {
        return Decision::Run(plan(None, request, Continues::Nothing));
    };
    if newest.attempt.state == State::Running && newest.attempt.token == request.token {
        return Decision::Claimed(newest.attempt.clone());
    }
    if terms.of == Of::Missing {
        return Decision::Known(newest.attempt.clone());
    }
    if newest.attempt.fingerprint == request.fingerprint && terms.share(&newest.attempt) {
        return Decision::Replay(newest.attempt.clone());
    }
    let newest = Some(newest);
    let Some(seen) = chain.iter().find(|seen| !seen.is_passed_over(now)) else {
        return Decision::Run(plan(newest, request, Continues::Nothing));
    };
    let attempt = &seen.attempt;
    let is_of_the_past = terms.is_of_the_past(attempt, now);
    if is_of_the_past && !seen.counts(now) {
        return Decision::Run(plan(newest, request, Continues::Nothing));
    }
    let same = attempt.fingerprint == request.fingerprint;
    match attempt.state {
        State::Running if !same => Decision::Mismatch(attempt.clone()),
        State::Running if seen.counts(now) => Decision::Busy(Busy {
            retry_after: attempt.until.left(now),
            attempt: attempt.clone(),
            why: BusyWhy::Held(seen.life),
            holders: vec![seen.clone()],
            gives: (!is_of_the_past).then_some((attempt.fence, attempt.token)),
        }),
        State::Done if !seen.expired(now) => {
            if !same {
                return Decision::Mismatch(attempt.clone());
            }
            match terms.rerun {
                Rerun::No => Decision::Replay(attempt.clone()),
                Rerun::Yes => Decision::Run(plan(newest, request, Continues::Record)),
            }
        }
        State::Done | State::Forgotten | State::Released => {
            Decision::Run(plan(newest, request, Continues::Nothing))
        }
        State::Failed => after_failure(newest, attempt, (request, terms), now),
        State::Running | State::Interrupted => after_crash(newest, attempt, (request, terms)),
    }
}

fn after_failure(
    newest: Option<&Seen>,
    failed: &Attempt,
    (request, terms): (&Request, &OnceTerms),
    now: &Now,
) -> Decision {
    let same = failed.fingerprint == request.fingerprint;
    if same && exhausted(failed, terms) {
        return unresolved(failed, UnresolvedWhy::Exhausted);
    }
    if let Some(left) = failed.rests_until.as_ref().and_then(|until| until.left(now)) {
        return Decision::Busy(Busy {
            attempt: failed.clone(),
            why: BusyWhy::Resting,
            retry_after: Some(left),
            holders: Vec::new(),
            gives: None,
        });
    }
    let continues = if same { Continues::Operation(failed) } else { Continues::Nothing };
    Decision::Run(plan(newest, request, continues))
}

fn after_crash(
    newest: Option<&Seen>,
    crashed: &Attempt,
    (request, terms): (&Request, &OnceTerms),
) -> Decision {
    if crashed.fingerprint != request.fingerprint {
        return Decision::Mismatch(crashed.clone());
    }
    if terms.on_crash == OnCrash::Stop {
        return unresolved(crashed, UnresolvedWhy::Interrupted);
    }
    if exhausted(crashed, terms) {
        return unresolved(crashed, UnresolvedWhy::Exhausted);
    }
    Decision::Run(plan(newest, request, Continues::Crashed(crashed)))
}

fn unresolved(attempt: &Attempt, why: UnresolvedWhy) -> Decision {
    Decision::Unresolved(Unresolved { attempt: attempt.clone(), why })
}

fn exhausted(attempt: &Attempt, terms: &OnceTerms) -> bool {
    terms.max_attempts.is_some_and(|most| attempt.number >= most)
}

/// What the next attempt goes on with.
#[derive(Clone, Copy)]
enum Continues<'a> {
    /// Nothing: a new operation.
    Nothing,
    /// Nothing either, but a record stays in force until it succeeds.
    Record,
    /// The operation of an attempt that failed.
    Operation(&'a Attempt),
    /// The operation of an attempt that was interrupted.
    Crashed(&'a Attempt),
}

fn plan(newest: Option<&Seen>, request: &Request, continues: Continues<'_>) -> Box<Plan> {
    let (operation, number) = match continues {
        Continues::Nothing | Continues::Record => (request.new_operation, 1),
        Continues::Operation(before) | Continues::Crashed(before) => {
            (before.operation, before.number.saturating_add(1))
        }
    };
    Box::new(Plan {
        generation: newest.map_or(1, |seen| seen.attempt.generation.saturating_add(1)),
        operation,
        number,
        origin: match continues {
            Continues::Record => Origin::Rerun,
            _ => Origin::Ordinary,
        },
        supersedes: newest
            .filter(|seen| seen.attempt.state == State::Running)
            .cloned()
            .into_iter()
            .collect(),
        takes_over: match continues {
            Continues::Crashed(before) => Some(before.clone()),
            _ => None,
        },
    })
}

mod lease;
mod request;
#[cfg(test)]
mod tests;
