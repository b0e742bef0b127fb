//! How the store of a call is opened, and who says whether its holders live.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::claim::attempt::Attempt;
use crate::claim::fence::Fence;
use crate::claim::holder::Life;
use crate::place::Place;
#[cfg(not(all(feature = "postgres", feature = "redis")))]
use crate::place::Url;
use crate::process::live::LiveFile;
use crate::store::lease_alone::LeaseAlone;
use crate::store::setup::Made;
use crate::store::sqlite::{Access, SqliteStore};
use crate::store::{Hold, Liveness, Store, StoreError, Trouble};

use super::Context;

/// A look for what is wrong waits no longer.
const EXAMINING: Duration = Duration::from_secs(2);

impl Context {
    /// Opens the store to claim, creating it where it is a file and missing.
    pub(in crate::commands) fn open_to_write(&self) -> Result<Box<dyn Store>, StoreError> {
        let opened = self.open(Access::Write)?;
        opened.ok_or_else(|| {
            StoreError::new(
                Trouble::Other,
                format!("the store {} vanished while it was opened", self.place),
            )
        })
    }

    /// Opens the store to look; nothing where there is none.
    pub(in crate::commands) fn open_to_read(&self) -> Result<Option<Box<dyn Store>>, StoreError> {
        self.open(Access::Read)
    }

    /// Opens the store to look for what is wrong, without waiting long; nothing where
    /// there is none.
    pub(in crate::commands) fn open_to_examine(
        &self,
    ) -> Result<Option<Box<dyn Store>>, StoreError> {
        self.open_within(Access::Examine, self.store_timeout.min(EXAMINING))
    }

    /// Opens the store to change what is there; nothing where there is none.
    pub(in crate::commands) fn open_existing(&self) -> Result<Option<Box<dyn Store>>, StoreError> {
        if self.is_there() { self.open(Access::Write) } else { Ok(None) }
    }

    /// Whether there is a store. A server is asked when it is opened.
    pub(super) fn is_there(&self) -> bool {
        self.place.file().is_none_or(Path::exists)
    }

    fn open(&self, access: Access) -> Result<Option<Box<dyn Store>>, StoreError> {
        self.open_within(access, self.store_timeout)
    }

    fn open_within(
        &self,
        access: Access,
        limit: Duration,
    ) -> Result<Option<Box<dyn Store>>, StoreError> {
        match &self.place {
            Place::File(path) => {
                let opened = SqliteStore::open(path, access, limit, Arc::clone(&self.clock) as _)?;
                Ok(opened.map(|store| Box::new(store) as _))
            }
            Place::Server(url) => self.open_server(url, limit).map(Some),
        }
    }

    /// Creates or migrates the store; a file is both when it is opened.
    pub(in crate::commands) fn set_up(&self) -> Result<Made, StoreError> {
        match &self.place {
            Place::Server(url) => self.set_up_server(url),
            Place::File(path) => {
                let made = if path.exists() { Made::Nothing } else { Made::Created };
                self.open_to_write().map(|_| made)
            }
        }
    }

    /// Who says whether the holders of claims in this store live.
    pub(in crate::commands) fn witness(&self) -> Witness {
        match &self.place {
            Place::File(path) => {
                Witness::Kernel(LiveFile::beside(path, self.clock.boot_id().clone()))
            }
            Place::Server(_) => Witness::Nobody(LeaseAlone),
        }
    }
}

/// No build knows every server; the command line refuses what this one does not know.
#[cfg(not(any(feature = "postgres", feature = "redis")))]
impl Context {
    #[expect(clippy::unused_self, reason = "other builds need it")]
    fn open_server(&self, url: &Url, _: Duration) -> Result<Box<dyn Store>, StoreError> {
        Err(not_built_in(url))
    }

    #[expect(clippy::unused_self, reason = "other builds need it")]
    fn set_up_server(&self, url: &Url) -> Result<Made, StoreError> {
        Err(not_built_in(url))
    }
}

#[cfg(not(all(feature = "postgres", feature = "redis")))]
pub(super) fn not_built_in(url: &Url) -> StoreError {
    let engine = url.engine().name();
    StoreError::new(Trouble::Refused, format!("this build has no {engine} store"))
}

/// Who says whether holders live.
pub(in crate::commands) enum Witness {
    /// The kernel, by the locks on a file beside the store.
    Kernel(LiveFile),
    /// Nobody: their leases decide.
    Nobody(LeaseAlone),
}

impl Witness {
    /// The file whose locks say it, where one does.
    pub(in crate::commands) fn lock_file(&self) -> Option<&Path> {
        match self {
            Self::Kernel(live) => Some(live.path()),
            Self::Nobody(_) => None,
        }
    }
}

impl Liveness for Witness {
    fn hold(&mut self, fence: Fence) -> Result<Hold, StoreError> {
        match self {
            Self::Kernel(live) => live.hold(fence),
            Self::Nobody(alone) => alone.hold(fence),
        }
    }

    fn let_go(&mut self, fence: Fence) {
        match self {
            Self::Kernel(live) => live.let_go(fence),
            Self::Nobody(alone) => alone.let_go(fence),
        }
    }

    fn probe(&mut self, attempt: &Attempt) -> Result<Life, StoreError> {
        match self {
            Self::Kernel(live) => live.probe(attempt),
            Self::Nobody(alone) => alone.probe(attempt),
        }
    }
}
