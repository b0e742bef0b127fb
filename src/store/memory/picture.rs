//! A picture of all rows, from which a store can go on again: how the model
//! (`tests/model.rs`) keeps, compares and hashes the states that it explores. No
//! command calls this.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::claim::attempt::Attempt;
use crate::claim::key::Subject;
use crate::claim::time::Clock;

use super::{MemoryShelf, MemoryStore, Rows};

/// Everything that a store in memory knows at one moment, but for recorded output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Picture {
    /// The last fence.
    pub fence: i64,
    /// Attempts of each subject, oldest first.
    pub chains: BTreeMap<Subject, Vec<Attempt>>,
}

impl MemoryStore {
    /// A store that goes on from a picture, without any recorded output.
    #[must_use]
    pub fn from_picture(picture: Picture, clock: Arc<dyn Clock + Sync>) -> Self {
        let Picture { fence, chains } = picture;
        let rows = Rows { fence, chains, outputs: BTreeMap::new() };
        Self::of(MemoryShelf { rows: Arc::new(Mutex::new(rows)), clock })
    }

    /// The picture of what it holds now, for whoever is done with this handle.
    #[must_use]
    pub fn into_picture(self) -> Picture {
        match Arc::try_unwrap(self.shelf.rows) {
            Ok(rows) => {
                let Rows { fence, chains, .. } =
                    rows.into_inner().unwrap_or_else(PoisonError::into_inner);
                Picture { fence, chains }
            }
            // Another handle goes on with the rows.
            Err(shared) => {
                let rows = shared.lock().unwrap_or_else(PoisonError::into_inner);
                Picture { fence: rows.fence, chains: rows.chains.clone() }
            }
        }
    }
}
