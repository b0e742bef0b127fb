//! What every store promises, method by method.
//!
//! A store keeps one chain of attempts per subject and one fence for all. It
//! knows no processes: whether a holder lives is asked of a [`Liveness`] that
//! comes with the call. It decides nothing: it reads the chain, calls
//! [`decide`](crate::claim::decide::decide) and writes what that says. One
//! contract suite (`tests/contract.rs`) runs against every implementation.
//!
//! Three rules hold for all methods. A write is one locked step: lock, read
//! the clock, read again, decide, write, and require the number of rows. The
//! clock is read once per step. Expired is `now >= until`.

pub mod error;
pub mod memory;
pub mod row;
pub mod sqlite;

use std::time::Duration;

use crate::claim::attempt::{Attempt, OutputSummary, Ownership, Promise, State};
use crate::claim::decide::{Decision, Request, Seen};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::{Group, Holder, Life};
use crate::claim::id::Token;
use crate::claim::key::{Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::{Expiry, Now, WallMs};

pub use error::{StoreError, Trouble};

/// Answers what a store cannot know: who lives.
pub trait Liveness {
    /// Takes the lock that shows that the holder of `fence` lives, without
    /// waiting. It is kept until [`Liveness::let_go`] or the end of the
    /// process, also when the claim's commit failed: the row may be there.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    fn hold(&mut self, fence: Fence) -> Result<Hold, StoreError>;

    /// Releases the lock of `fence`, so that whoever waits for it wakes.
    fn let_go(&mut self, fence: Fence);

    /// Says what is known of the holder of a running attempt.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    fn probe(&mut self, attempt: &Attempt) -> Result<Life, StoreError>;
}

/// The answer to [`Liveness::hold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Held now; carries the lock file's inode where there are such locks.
    Taken(Option<u64>),
    /// Somebody holds that very number: the next fence is to be tried.
    Occupied,
}

/// The answer to a claiming step.
#[derive(Debug)]
#[must_use]
pub enum Answer {
    /// The right to run.
    Won(Claim),
    /// Anything but a run.
    Not(Box<Decision>),
}

/// Whether a row is still its owner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Owned {
    /// It is, and the write is in.
    Yes,
    /// It is not: nothing was changed.
    Lost(LostWhy),
}

/// Why a row is not its owner's any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWhy {
    /// There is no such row: pruned, or another store.
    Missing,
    /// Another attempt took its place, or it was forgotten.
    Superseded,
    /// It has an outcome already.
    AlreadyDone,
}

/// What becomes of an attempt at its end.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Its outcome is a record.
    Recorded {
        /// How long it is replayed.
        keep: Keep,
    },
    /// The key is released for the next call.
    Released {
        /// How long the key stays busy first.
        rest: Option<Duration>,
    },
}

/// How long a record is replayed, counted from completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Nothing: until it is pruned.
    pub span: Option<Duration>,
    /// Whether the caller asked for it.
    pub promise: Promise,
}

impl Keep {
    /// The instant at which a record completed at `at` expires.
    #[must_use]
    pub fn expiry(self, at: WallMs) -> Expiry {
        self.span.map_or(Expiry::Never, |span| Expiry::At(at.plus(span)))
    }
}

/// Everything an owner says about the end of its attempt.
#[derive(Clone, Debug)]
pub struct Completion {
    /// What becomes of the attempt.
    pub verdict: Verdict,
    /// How the command ended, if it was started.
    pub outcome: Option<Outcome>,
    /// Why, where the outcome alone does not say it.
    pub reason: Option<String>,
    /// How long it ran, if it did.
    pub run: Option<Duration>,
    /// What it wrote, as frames, if that is kept.
    pub output: Option<Output>,
}

/// Recorded output, as frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Both streams in the order in which they arrived.
    pub frames: Vec<u8>,
    /// How much it is, and whether it is all.
    pub summary: OutputSummary,
}

/// A completion that could not be written; the claim is not spent.
#[derive(Debug)]
pub struct Unrecorded {
    /// Still to be spent.
    pub claim: Claim,
    /// Why.
    pub error: StoreError,
}

/// What became of [`Store::forget`] or [`Store::settle`].
#[derive(Clone, Debug)]
#[must_use]
pub enum Dropped {
    /// It is done.
    Yes,
    /// There is no such key.
    Absent,
    /// Its holder lives, so nothing was changed.
    Held(Attempt, Life),
    /// There was nothing to settle: the newest attempt is not interrupted.
    Resolved(Attempt),
}

/// Which keys a sweep is about.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// One namespace, or all of them.
    pub namespace: Option<Namespace>,
    /// Keys whose newest attempt ended longer ago than this.
    pub older_than: Duration,
    /// Whether records whose promised time still runs go too.
    pub promised: Promised,
    /// Whether anything is removed.
    pub mode: SweepMode,
}

/// What becomes of records whose promised time still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promised {
    /// They stay.
    Spared,
    /// They go too.
    Included,
}

/// Whether a sweep removes or only counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepMode {
    /// Remove.
    Remove,
    /// Count what would be removed.
    Count,
}

/// What a sweep removed, or would have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Keys.
    pub keys: u64,
    /// Their attempts.
    pub attempts: u64,
}

/// A key and its attempts, newest first.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The key.
    pub subject: Subject,
    /// Its attempts.
    pub attempts: Vec<Attempt>,
}

/// Keeps attempts and outcomes.
pub trait Store: Send {
    /// Says what a caller may do, without a lock. Only a replay, a busy or a
    /// mismatch may be acted upon; for anything else, [`Store::claim`].
    ///
    /// # Errors
    /// When the store cannot be read.
    fn look(
        &mut self,
        request: &Request,
        liveness: &mut dyn Liveness,
    ) -> Result<Decision, StoreError>;

    /// The claiming step: decides under the store's write lock and, for a run,
    /// marks what is superseded as interrupted and inserts the next
    /// generation. Of any number of callers at most one wins. Durable against
    /// power loss when it returns. Calling it again with the same token after
    /// an error answers with the claim that was won, if it was.
    ///
    /// # Errors
    /// When the store cannot be written; nothing may be run then.
    fn claim(
        &mut self,
        request: &Request,
        holder: &Holder,
        liveness: &mut dyn Liveness,
    ) -> Result<Answer, StoreError>;

    /// Notes what the command is, right after it was started. Need not survive
    /// power loss.
    ///
    /// # Errors
    /// When the store cannot be written within `limit`.
    fn started(
        &mut self,
        owner: &Ownership,
        group: Group,
        limit: Duration,
    ) -> Result<Owned, StoreError>;

    /// Extends the lease by its own length from now on. Never resurrects and
    /// never takes back. Need not survive power loss.
    ///
    /// # Errors
    /// When the store cannot be written within `limit`.
    fn renew(&mut self, owner: &Ownership, limit: Duration) -> Result<Owned, StoreError>;

    /// Spends a claim: writes how the attempt ended, if it is still the
    /// owner's, its lease over or not. Durable against power loss when it
    /// returns.
    ///
    /// # Errors
    /// [`Unrecorded`] gives the claim back when the store cannot be written.
    fn complete(&mut self, claim: Claim, completion: &Completion) -> Result<Owned, Unrecorded>;

    /// Marks that nobody is left of an ended attempt.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn mark_empty(&mut self, fence: Fence) -> Result<(), StoreError>;

    /// The attempts of a key, newest first; empty if there are none.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn chain(&mut self, subject: &Subject) -> Result<Vec<Attempt>, StoreError>;

    /// The recorded frames of an attempt, if any.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn output(&mut self, fence: Fence) -> Result<Option<Vec<u8>>, StoreError>;

    /// Every key with all its attempts, the newest claim first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn chains(&mut self, namespace: Option<&Namespace>) -> Result<Vec<Chain>, StoreError>;

    /// Drops a key on purpose: leaves a tombstone generation, which no owner
    /// of an earlier attempt can write to. A living holder is spared unless
    /// `force`.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn forget(
        &mut self,
        subject: &Subject,
        force: Force,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError>;

    /// Records the outcome of an interrupted attempt, as a person found it.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn settle(
        &mut self,
        subject: &Subject,
        outcome: Outcome,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError>;

    /// The longest lease of any attempt; a sweep must not reach closer.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn longest_lease(&mut self) -> Result<Duration, StoreError>;

    /// Removes finished keys, in bounded batches, oldest first.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn sweep(&mut self, sweep: &Sweep) -> Result<Swept, StoreError>;
}

/// Whether a living holder is an obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// It is spared.
    No,
    /// It is superseded.
    Yes,
}

/// What an owner lost its attempt to, told by the state it finds it in.
pub(crate) fn lost_to(state: State) -> LostWhy {
    match state {
        State::Done | State::Failed => LostWhy::AlreadyDone,
        State::Running | State::Interrupted | State::Forgotten => LostWhy::Superseded,
    }
}

/// Why the newest attempt of a key cannot be settled by hand, if it cannot.
pub(crate) fn not_to_be_settled(newest: &Seen, now: &Now) -> Option<Dropped> {
    match newest.attempt.state {
        State::Running if newest.counts(now) => {
            Some(Dropped::Held(newest.attempt.clone(), newest.life))
        }
        State::Running | State::Interrupted => None,
        State::Done | State::Failed | State::Forgotten => {
            Some(Dropped::Resolved(newest.attempt.clone()))
        }
    }
}

/// A token that nobody is told: the tombstone's.
pub(crate) fn nobodys_token() -> Result<Token, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|why| {
        StoreError::new(Trouble::Other, format!("the kernel gives no random bytes: {why}"))
    })?;
    Ok(Token(bytes))
}
