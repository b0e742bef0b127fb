//! What an owner writes: what its command is, that it lives, how it ended.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::steps::Sync;
use super::{SqliteStore, rows};
use crate::claim::attempt::{Ownership, State};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::store::{Completion, LostWhy, Owned, StoreError, Unrecorded, row};

impl SqliteStore {
    pub(super) fn extend_lease(
        &mut self,
        owner: &Ownership,
        limit: Duration,
    ) -> Result<Owned, StoreError> {
        self.write(Sync::Normal, limit, |step, now| {
            let rows = step.execute(
                "UPDATE attempt SET until_boot_ms = ? + lease_ms
                 WHERE fence = ? AND token = ? AND kind = ? AND namespace = ? AND key = ?
                    AND state = 'running'",
                params![
                    now.boot.0,
                    owner.fence.0,
                    owner.token.0,
                    owner.subject.kind.as_str(),
                    owner.subject.namespace.as_str(),
                    owner.subject.key.as_str(),
                ],
            )?;
            Ok(owned(step, owner, rows == 1)?)
        })
    }

    pub(super) fn spend(
        &mut self,
        claim: Claim,
        completion: &Completion,
    ) -> Result<Owned, Unrecorded> {
        let owner = claim.ownership();
        let limit = self.patience.limit;
        let written = self.write(Sync::Full, limit, |step, now| {
            let (state, end) = row::ended(completion, now);
            let remains = claim.attempt().remains;
            let mine = rows::update_end(step, &owner, State::Running, (state, &end), remains)?;
            if let (true, Some(output)) = (mine, &completion.output) {
                step.execute(
                    "INSERT INTO output (fence, frames) VALUES (?, ?)",
                    params![owner.fence.0, output.frames],
                )?;
            }
            Ok(owned(step, &owner, mine)?)
        });
        written.map_err(|error| Unrecorded { claim, error })
    }

    pub(super) fn note_nobody_left(&mut self, fence: Fence) -> Result<(), StoreError> {
        let limit = self.patience.limit;
        self.write(Sync::Normal, limit, |step, _| {
            step.execute("UPDATE attempt SET emptied = 1 WHERE fence = ?", [fence.0])?;
            Ok(())
        })
    }
}

fn owned(step: &Connection, owner: &Ownership, written: bool) -> rusqlite::Result<Owned> {
    if written {
        return Ok(Owned::Yes);
    }
    let found: Option<String> = step
        .query_row(
            "SELECT state FROM attempt WHERE fence = ? AND token = ? AND key = ?",
            params![owner.fence.0, owner.token.0, owner.subject.key.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    let state = found.as_deref().and_then(State::parse);
    Ok(Owned::Lost(state.map_or(LostWhy::Missing, row::lost_to)))
}
