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

/// What a commit promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    /// It survives power loss when it returns.
    Full,
    /// It may be undone by power loss, and never by a crash of ours.
    Normal,
}

/// About how long the first pause of a caller who waits for a lock is, in µs.
const FIRST_PAUSE: u64 = 250;

/// How often the pause is doubled.
const DOUBLINGS: i32 = 4;

/// The longest pause of a caller who waits for a lock: whoever leaves it alone for
/// this long leaves it to all of them.
pub(super) const LONGEST_PAUSE: Duration =
    Duration::from_micros((FIRST_PAUSE << DOUBLINGS) * 3 / 2);

/// How long to wait for other programs' locks; shared with the busy handler of
/// the connection.
#[derive(Clone)]
pub(super) struct Patience {
    /// The usual limit of one call.
    pub(super) limit: Duration,
    origin: Instant,
    /// Milliseconds after `origin` at which the present call gives up.
    deadline: Arc<AtomicU64>,
    /// How many milliseconds the present call was given.
    given: Arc<AtomicU64>,
}

impl Patience {
    /// The patience of a new connection, whose busy handler it becomes.
    pub(super) fn install(connection: &mut Connection, limit: Duration) -> rusqlite::Result<Self> {
        let patience =
            Self { limit, origin: Instant::now(), deadline: Arc::default(), given: Arc::default() };
        patience.begin(limit);
        let shared = patience.clone();
        connection.busy_handler(Some(move |tries: i32| shared.wait(tries)))?;
        Ok(patience)
    }

    /// Starts the clock for one call.
    pub(super) fn begin(&self, limit: Duration) {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        self.given.store(ms(limit), Ordering::Relaxed);
        let end = self.origin.elapsed().saturating_add(limit);
        self.deadline.store(ms(end), Ordering::Relaxed);
    }

    /// How long the present call was given.
    fn given(&self) -> Duration {
        Duration::from_millis(self.given.load(Ordering::Relaxed))
    }

    /// Sleeps a little, longer with every try and never as long as a
    /// neighbour; says whether to try again.
    pub(super) fn wait(&self, tries: i32) -> bool {
        let deadline = Duration::from_millis(self.deadline.load(Ordering::Relaxed));
        let left = deadline.saturating_sub(self.origin.elapsed());
        if left.is_zero() {
            return false;
        }
        let step = FIRST_PAUSE << tries.clamp(0, DOUBLINGS);
        let pause = step / 2 + RandomState::new().build_hasher().finish() % step;
        thread::sleep(Duration::from_micros(pause).min(left));
        true
    }
}

impl SqliteStore {
    /// The sentence for an error of SQLite.
    pub(super) fn failure(&self, error: &rusqlite::Error) -> StoreError {
        failure::sentence(&self.path, self.patience.given(), error)
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
        sync: Sync,
        limit: Duration,
        mut step: impl FnMut(&Transaction<'_>, &Now) -> Result<T, StepError>,
    ) -> Result<T, StoreError> {
        self.patience.begin(limit);
        self.prepare_to_write(sync)?;
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
        place::require_writable(&self.path)?;
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

    fn prepare_to_write(&mut self, sync: Sync) -> Result<(), StoreError> {
        if self.sync == Some(sync) {
            return Ok(());
        }
        // The log is brought into the file by `tidy`, when nobody waits.
        let pragmas = match (self.sync, sync) {
            (None, Sync::Full) => "PRAGMA wal_autocheckpoint = 0",
            (None, Sync::Normal) => "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL",
            (Some(_), Sync::Full) => "PRAGMA synchronous = FULL",
            (Some(_), Sync::Normal) => "PRAGMA synchronous = NORMAL",
        };
        self.connection.execute_batch(pragmas).map_err(|error| self.failure(&error))?;
        self.sync = Some(sync);
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
