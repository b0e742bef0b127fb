//! The default store: one local SQLite file in WAL mode.
//!
//! `place` says whether a file may be used at all, `open` makes a connection,
//! `schema` has the tables, `rows` turns rows into attempts, `steps` runs a
//! locked step again while the file is busy, `spool` has the files of large
//! outputs, `examining` says what is wrong with a file, and the rest are the methods of
//! [`Store`] by subject. No read transaction is ever open while a caller
//! writes to its standard output: every method has read all when it returns, or has a file open.

mod claiming;
mod dropping;
mod ending;
mod examining;
mod failure;
mod open;
mod place;
mod reading;
mod rows;
mod schema;
mod shrinking;
mod spool;
mod stepping;
mod steps;
mod surveying;
mod sweepable;
mod sweeping;
mod tidying;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use crate::claim::attempt::{Attempt, Ownership};
use crate::claim::decide::{Decision, Request};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::Claimant;
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::survey::Survey;
use crate::claim::time::{Clock, Now};

use super::{
    Answer, Chain, Completion, Dropped, Finding, Force, Frames, Liveness, Owned, Spool, Store,
    StoreError, Sweep, Swept, Unrecorded,
};
use open::Opened;
use place::Identity;
use steps::Patience;

pub use examining::examine_place;

/// What a caller wants of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To claim and record; creates what is missing.
    Write,
    /// To look; creates nothing where it can be helped.
    Read,
    /// To look, and leave every file as it is.
    Examine,
}

/// One connection to a store's file.
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    /// Which file is open.
    file: Identity,
    clock: Arc<dyn Clock + Send + Sync>,
    patience: Patience,
    /// The last attempt that was completed here.
    completed: Option<Fence>,
    /// Whether a large output was written here.
    wrote_much: bool,
    /// How often a lease was renewed here since the log was last looked after.
    renewals: u32,
    /// What the last commit promised; nothing before the first.
    sync: Option<steps::Sync>,
}

impl SqliteStore {
    /// Opens the store at `path`, creating it first where `access` allows.
    /// Waits up to `timeout` for other programs' locks, at every call.
    ///
    /// With [`Access::Read`] and no file there, the answer is nothing.
    ///
    /// # Errors
    /// When the file is not safe to use, not a store, made by a newer
    /// doubletap, or cannot be opened.
    pub fn open(
        path: &Path,
        access: Access,
        timeout: Duration,
        clock: Arc<dyn Clock + Send + Sync>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(Opened { connection, patience, file }) = open::open(path, access, timeout)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            connection,
            path: path.to_owned(),
            file,
            clock,
            patience,
            completed: None,
            wrote_much: false,
            renewals: 0,
            sync: None,
        }))
    }
}

impl Store for SqliteStore {
    fn look(
        &mut self,
        request: &Request,
        liveness: &mut dyn Liveness,
    ) -> Result<Decision, StoreError> {
        self.decide_unlocked(request, liveness)
    }

    fn claim(
        &mut self,
        request: &Request,
        claimant: &Claimant,
        liveness: &mut dyn Liveness,
    ) -> Result<Answer, StoreError> {
        self.claim_locked(request, claimant, liveness)
    }

    fn renew(&mut self, owner: &Ownership, limit: Duration) -> Result<Owned, StoreError> {
        self.extend_lease(owner, None, limit)
    }

    fn renew_for(
        &mut self,
        owner: &Ownership,
        lease: Duration,
        limit: Duration,
    ) -> Result<Owned, StoreError> {
        self.extend_lease(owner, Some(lease), limit)
    }

    fn find(
        &mut self,
        token: Token,
        fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError> {
        self.find_by_token(token, fence)
    }

    fn is_spent(&mut self, token: Token) -> Result<bool, StoreError> {
        self.read_spent(token)
    }

    fn expect_end(&mut self) {
        // What cannot be compiled now says why when it is needed.
        let _ = rows::expect_end(&self.connection);
    }

    fn complete(&mut self, claim: Claim, completion: &Completion) -> Result<Owned, Unrecorded> {
        self.completed = Some(claim.attempt().fence);
        self.spend(claim, completion)
    }

    fn mark_empty(&mut self, fence: Fence) -> Result<(), StoreError> {
        self.note_nobody_left(fence)
    }

    fn chain(&mut self, subject: &Subject) -> Result<Vec<Attempt>, StoreError> {
        self.read_chain(subject)
    }

    fn spool(&self, owner: &Ownership) -> Spool {
        Spool::Named(spool::path(&self.path, owner.fence, &owner.token))
    }

    fn draft(&self, owner: &Ownership) -> Result<Spool, StoreError> {
        let own = super::row::nobodys_token()?;
        Ok(Spool::Draft(spool::draft(&self.path, owner.fence, &owner.token, &own)))
    }

    fn output(&mut self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        self.read_output(fence)
    }

    fn chains(&mut self, namespace: Option<&Namespace>) -> Result<Vec<Chain>, StoreError> {
        self.read_chains(namespace)
    }

    fn steps(&mut self, operation: OperationId) -> Result<Vec<Chain>, StoreError> {
        self.read_steps(operation)
    }

    fn survey(
        &mut self,
        namespace: Option<&Namespace>,
        liveness: &mut dyn Liveness,
    ) -> Result<Survey, StoreError> {
        self.survey_all(namespace, liveness)
    }

    fn unended(&mut self) -> Result<Vec<(Subject, Attempt)>, StoreError> {
        self.read_unended()
    }

    fn examine(&mut self) -> Vec<Finding> {
        self.examine_inside()
    }

    fn forget(
        &mut self,
        subject: &Subject,
        force: Force,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        self.drop_key(subject, force, liveness)
    }

    fn settle(
        &mut self,
        subject: &Subject,
        outcome: Outcome,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        self.settle_interrupted(subject, outcome, liveness)
    }

    fn longest_lease(&mut self) -> Result<Duration, StoreError> {
        self.read_longest_lease()
    }

    fn sweep(&mut self, sweep: &Sweep, told: &mut dyn FnMut(Swept)) -> Result<Swept, StoreError> {
        self.sweep_in_batches(sweep, told)
    }

    fn tidy(&mut self) {
        self.tidy_after(self.completed);
    }

    fn tidy_by_turns(&mut self) {
        let now = Fence(self.clock.now().wall.0);
        self.tidy_after(Some(now));
    }

    fn now(&mut self) -> Result<Now, StoreError> {
        Ok(self.clock.now())
    }

    fn wait_at_most(&mut self, limit: Duration) -> Duration {
        std::mem::replace(&mut self.patience.limit, limit)
    }

    fn locked_for(&self, limit: Duration) -> StoreError {
        failure::locked(&self.path, limit)
    }
}
