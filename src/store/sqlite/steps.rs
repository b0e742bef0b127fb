//! Runs a locked step, and again while the file is busy.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::claim::time::Now;
use crate::store::{StoreError, Trouble};

use super::SqliteStore;
use super::{failure, place};

/// Frames of the write-ahead log after which the process that completes brings
/// them into the file. A lone reader indexes the whole log when it opens
/// [measured: a replay takes 1.05 ms at 11 to 31 frames, 1.3 at 56 to 110, and
/// 1.6 at 160 to 200; 46 ms at 73 MB], and a run adds about 5.
const CHECKPOINT_FRAMES: u32 = 48;

/// The largest log that is left lying about after a large write, in bytes.
const JOURNAL_LIMIT: u32 = 1 << 20;

/// What a commit promises, and what it does on the side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commit {
    /// It survives power loss when it returns. Somebody waits for it, so the
    /// log is left to others.
    Claim,
    /// It survives power loss when it returns, and brings a grown log into the
    /// file: everything has been delivered.
    Record,
    /// It may be undone by power loss, and never by a crash of ours.
    Note,
    /// The same, and it brings a grown log into the file.
    Sweep,
}

/// How long to wait for other programs' locks; shared with the busy handler of
/// the connection.
#[derive(Clone)]
pub(super) struct Patience {
    /// The usual limit of one call.
    pub(super) limit: Duration,
    origin: Instant,
    /// Milliseconds after `origin` at which the present call gives up.
    deadline: Arc<AtomicU64>,
}

impl Patience {
    /// The patience of a new connection, whose busy handler it becomes.
    pub(super) fn install(connection: &mut Connection, limit: Duration) -> rusqlite::Result<Self> {
        let patience =
            Self { limit, origin: Instant::now(), deadline: Arc::new(AtomicU64::new(0)) };
        patience.begin(limit);
        let shared = patience.clone();
        connection.busy_handler(Some(move |tries: i32| shared.wait(tries)))?;
        Ok(patience)
    }

    /// Starts the clock for one call.
    pub(super) fn begin(&self, limit: Duration) {
        let end = self.origin.elapsed().saturating_add(limit);
        self.deadline.store(u64::try_from(end.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Sleeps a little, longer with every try and never as long as a
    /// neighbour; says whether to try again.
    pub(super) fn wait(&self, tries: i32) -> bool {
        let deadline = Duration::from_millis(self.deadline.load(Ordering::Relaxed));
        let left = deadline.saturating_sub(self.origin.elapsed());
        if left.is_zero() {
            return false;
        }
        let step = 250_u64 << tries.clamp(0, 5);
        let pause = step / 2 + RandomState::new().build_hasher().finish() % step;
        thread::sleep(Duration::from_micros(pause).min(left));
        true
    }
}

impl SqliteStore {
    /// The sentence for an error of SQLite.
    pub(super) fn failure(&self, error: &rusqlite::Error) -> StoreError {
        failure::sentence(&self.path, self.patience.limit, error)
    }

    /// Reads; tries again while the file is busy.
    pub(super) fn read<T>(
        &self,
        read: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.patience.begin(self.patience.limit);
        for tries in 0.. {
            match read(&self.connection) {
                Ok(value) => return Ok(value),
                Err(error) => self.again_or(tries, &error)?,
            }
        }
        unreachable!("the loop ends by returning")
    }

    /// Runs one locked step: takes the write lock, reads the clock once, and
    /// commits what `step` did. A step must bear being run again from its
    /// beginning.
    pub(super) fn write<T>(
        &mut self,
        commit: Commit,
        limit: Duration,
        mut step: impl FnMut(&Transaction<'_>, &Now) -> Result<T, StepError>,
    ) -> Result<T, StoreError> {
        self.patience.begin(limit);
        self.prepare_to_write(commit)?;
        for tries in 0.. {
            match self.try_write(&mut step) {
                Ok(value) => return Ok(value),
                Err(StepError::Sqlite(error)) => self.again_or(tries, &error)?,
                Err(StepError::Store(error)) => return Err(error),
            }
        }
        unreachable!("the loop ends by returning")
    }

    fn try_write<T>(
        &self,
        step: &mut impl FnMut(&Transaction<'_>, &Now) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        let value = step(&transaction, &self.clock.now())?;
        self.require_same_file()?;
        transaction.commit()?;
        Ok(value)
    }

    /// What is written to a file that has lost its name is lost: another call
    /// would find another file there, or none.
    fn require_same_file(&self) -> Result<(), StoreError> {
        if place::identity(&self.path) == Some(self.file) {
            return Ok(());
        }
        Err(StoreError::new(
            Trouble::Refused,
            format!("the store {} was removed or replaced while it was open", self.path.display()),
        ))
    }

    fn again_or(&self, tries: i32, error: &rusqlite::Error) -> Result<(), StoreError> {
        if failure::trouble_of(error) == Trouble::Locked && self.patience.wait(tries) {
            return Ok(());
        }
        Err(self.failure(error))
    }

    fn prepare_to_write(&mut self, commit: Commit) -> Result<(), StoreError> {
        if self.commit == Some(commit) {
            return Ok(());
        }
        let pragmas = match commit {
            Commit::Claim => format!(
                "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = {JOURNAL_LIMIT};"
            ),
            Commit::Record => {
                format!(
                    "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = {CHECKPOINT_FRAMES};"
                )
            }
            Commit::Note => "PRAGMA synchronous = NORMAL;".to_owned(),
            Commit::Sweep => format!(
                "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = {CHECKPOINT_FRAMES}; PRAGMA journal_size_limit = {JOURNAL_LIMIT};"
            ),
        };
        self.connection.execute_batch(&pragmas).map_err(|error| self.failure(&error))?;
        self.commit = Some(commit);
        Ok(())
    }
}

/// What a locked step can fail with.
pub(super) enum StepError {
    /// SQLite's, which may be worth another try.
    Sqlite(rusqlite::Error),
    /// Ours, which is not.
    Store(StoreError),
}

impl From<rusqlite::Error> for StepError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for StepError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
