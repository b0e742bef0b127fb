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

pub mod chained;
#[cfg(feature = "redis")]
mod document;
pub mod error;
pub mod finding;
pub mod heed;
pub mod lease_alone;
pub mod memory;
mod output;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
pub mod row;
pub mod setup;
pub mod shelf;
pub mod sqlite;
pub mod unreadable;
mod values;

use std::time::Duration;

use crate::claim::attempt::{Attempt, Ownership};
use crate::claim::decide::{Decision, Request};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Life};
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::survey::Survey;
use crate::claim::time::Now;

pub use error::{StoreError, Trouble};
pub use finding::{Finding, Grade};
pub use heed::Heed;
pub use output::{Frames, Output, Parts, Spool};
pub use row::{seen_without_lock, with_lives};
pub use values::{
    Chain, Completion, Dropped, Force, Keep, KeepUntil, LostWhy, Owned, Promised, Resumed, Sweep,
    SweepMode, Swept, Unlooked, Unrecorded, Verdict,
};

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
    /// an error answers with the claim that was won, if it was, as that was written: with
    /// its own claimant and its own time. Only a claim that hangs on its wrapper takes a
    /// lock of `liveness`. A step is had only while the attempt that it belongs to is
    /// still its owner's, which is tested under the same lock.
    ///
    /// # Errors
    /// When the store cannot be written; nothing may be run then.
    fn claim(
        &mut self,
        request: &Request,
        claimant: &Claimant,
        liveness: &mut dyn Liveness,
    ) -> Result<Answer, StoreError>;

    /// Extends the lease by its own length from now on. Never resurrects and
    /// never takes back. Need not survive power loss.
    ///
    /// # Errors
    /// When the store cannot be written within `limit`.
    fn renew(&mut self, owner: &Ownership, limit: Duration) -> Result<Owned, StoreError>;

    /// Renews, and makes the lease so long from now on. A claim that was tied to a
    /// process alone is tied to time too, then.
    ///
    /// # Errors
    /// As [`Store::renew`].
    fn renew_for(
        &mut self,
        owner: &Ownership,
        lease: Duration,
        limit: Duration,
    ) -> Result<Owned, StoreError>;

    /// Gives a claim to whoever has its token: a script keeps that from call to call.
    /// Reads only; whether the claim is still good is known when it is spent.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn resume(&mut self, subject: &Subject, token: Token) -> Result<Resumed, StoreError> {
        Ok(row::resumed(subject, self.chain(subject)?, token))
    }

    /// Finds the attempt that a token was drawn for. It takes long only where nothing is
    /// known of it: not if its fence is given, and not for one that hangs on no wrapper.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn find(
        &mut self,
        token: Token,
        fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError>;

    /// Whether a claim that hung on no wrapper has ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn is_spent(&mut self, token: Token) -> Result<bool, StoreError>;

    /// Does what can be done for [`Store::complete`] before the end is known, so that
    /// nobody waits for it then. Touches nothing of the store, and never fails.
    fn expect_end(&mut self) {}

    /// Spends a claim: writes how the attempt ended, if it is still the
    /// owner's, its lease over or not. What a step has come to is true of its operation,
    /// whoever has that now. Durable against power loss when it returns.
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

    /// Where the output of an attempt goes while it runs and is not kept in
    /// memory.
    fn spool(&self, owner: &Ownership) -> Spool;

    /// Where a result goes that is read for an attempt which nobody runs. Several may
    /// read one at once, and only one is recorded.
    ///
    /// # Errors
    /// When no name can be drawn for it.
    fn draft(&self, owner: &Ownership) -> Result<Spool, StoreError> {
        Ok(self.spool(owner))
    }

    /// The recorded frames of an attempt, if any: of one that is not completed,
    /// what its spool has so far.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn output(&mut self, fence: Fence) -> Result<Option<Frames>, StoreError>;

    /// Every key with all its attempts, the newest claim first. Steps are no keys.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn chains(&mut self, namespace: Option<&Namespace>) -> Result<Vec<Chain>, StoreError>;

    /// The steps of an operation with all their attempts, the newest claim first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn steps(&mut self, operation: OperationId) -> Result<Vec<Chain>, StoreError>;

    /// Counts the keys, in the states that their attempts and their holders'
    /// lives come to, and the attempts. Keeps nothing of them but a few bytes
    /// for each key, and holds nobody up, so it is not a picture of one
    /// moment where others write meanwhile: each key is counted once. Sizes are
    /// of the whole store, whichever namespace is asked for.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn survey(
        &mut self,
        namespace: Option<&Namespace>,
        liveness: &mut dyn Liveness,
    ) -> Result<Survey, StoreError>;

    /// Every attempt that has not ended, the newest first; steps are left out, and what
    /// cannot be read, which [`Store::examine`] tells of.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn unended(&mut self) -> Result<Vec<(Subject, Attempt)>, StoreError>;

    /// Looks for what is wrong with the store, at every row, and changes nothing. What
    /// cannot be read is a finding, too.
    fn examine(&mut self) -> Vec<Finding>;

    /// Drops a key on purpose: leaves a tombstone generation, which no owner
    /// of an earlier attempt can write to. A living holder is spared unless
    /// `force`, and so is a key of which an attempt cannot be read: nobody knows who
    /// holds it.
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

    /// Removes finished keys, in bounded batches, oldest first, and gives their space
    /// back. What runs stays, and a key whose newest attempt was interrupted or cannot be
    /// read. With the last
    /// attempt of an operation its steps go, at once. Nobody else waits for long: the lock is
    /// left alone between two batches.
    /// `told` hears what has gone so far, after each.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn sweep(&mut self, sweep: &Sweep, told: &mut dyn FnMut(Swept)) -> Result<Swept, StoreError>;

    /// Puts in order what writing has left behind. To be called when nobody
    /// waits for the caller any more; never fails and never waits.
    fn tidy(&mut self);

    /// The same, for a call that changes something and completes nothing: it is such a
    /// call's turn now and then.
    fn tidy_by_turns(&mut self) {}

    /// The time by the clock that leases and records of this store count on.
    ///
    /// # Errors
    /// When the store cannot be asked.
    fn now(&mut self) -> Result<Now, StoreError>;

    /// Has every call from here on wait at most this long for what others have locked, or
    /// for a server; says how long it was before.
    fn wait_at_most(&mut self, limit: Duration) -> Duration;

    /// The error of having waited so long in vain for what others have locked.
    fn locked_for(&self, limit: Duration) -> StoreError;

    /// Has nothing be waited for any more that a server is asked from here on, as soon as we
    /// are told to end: it fails with an error of [`Trouble::Away`], and may have been done.
    fn heed(&mut self, _told: Heed) {}

    /// Has `ring` be called, on another thread, soon after anything is written about a key
    /// by others; says whether that will be. When it returns, nothing that is written from
    /// then on is missed. Another call for the same key changes nothing.
    fn watch(&mut self, _subject: &Subject, _ring: Box<dyn Fn() + Send>) -> bool {
        false
    }
}
