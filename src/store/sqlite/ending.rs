//! What an owner writes: what its command is, that it lives, how it ended.

use std::fs;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::steps::Sync;
use super::{SqliteStore, rows, spool};
use crate::claim::attempt::{Ownership, State};
use crate::claim::duration::to_ms;
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::Tie;
use crate::claim::id::Token;
use crate::store::{
    Completion, Frames, LostWhy, Owned, Spool, StoreError, Unrecorded, Verdict, row,
};

/// An output that makes the log long by itself.
const MUCH: usize = 64 << 10;

impl SqliteStore {
    /// Extends the lease from now on, by its own length or by another that it has from then.
    pub(super) fn extend_lease(
        &mut self,
        owner: &Ownership,
        lease: Option<Duration>,
        limit: Duration,
    ) -> Result<Owned, StoreError> {
        self.renewals += 1;
        self.write(Sync::Normal, limit, |step, now| {
            let rows = step.execute(
                "UPDATE attempt SET lease_ms = ifnull(?1, lease_ms),
                    until_boot_ms = ?2 + ifnull(?1, lease_ms),
                    tie = CASE WHEN ?1 IS NOT NULL AND tie = 'process' THEN 'both' ELSE tie END
                 WHERE fence = ?3 AND token = ?4 AND kind = ?5 AND namespace = ?6 AND key = ?7
                    AND state = 'running'",
                params![
                    lease.map(to_ms),
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
        let output = completion.output.as_ref();
        // Outside the lock: syncing a large file takes its time.
        let inside = output.map(|o| spool::taken_in(&self.path, &o.frames, &completion.verdict));
        let inside = match inside.transpose() {
            Ok(inside) => inside.flatten(),
            Err(error) => return Err(Unrecorded { claim, error }),
        };
        let sync = match completion.verdict {
            // A lease that is given back twice harms nobody.
            Verdict::Released => Sync::Normal,
            Verdict::Recorded { .. } | Verdict::Failed { .. } => Sync::Full,
        };
        self.wrote_much |= inside.as_ref().is_some_and(|frames| frames.len() > MUCH);
        let mut dropped = None;
        let (path, draft) = (&self.path.clone(), output.and_then(|output| output.draft.as_deref()));
        let written = self.write(sync, limit, |step, now| {
            dropped = None;
            let (state, end) = row::ended(completion, now);
            let remains = claim.attempt().remains;
            let mine = rows::update_end(step, &owner, State::Running, (state, &end), remains)?;
            if let (true, Some(until)) = (mine, row::rest(completion, now)) {
                step.execute(
                    "UPDATE attempt SET retry_boot_ms = ? WHERE fence = ?",
                    params![until.at.0, owner.fence.0],
                )?;
            }
            if mine && row::never_ran(completion) {
                step.execute(
                    "UPDATE attempt SET retry_boot_ms = NULL WHERE fence = ?",
                    [owner.fence.0],
                )?;
            }
            if let (true, Some(draft), None) = (mine, draft, &inside) {
                spool::adopt(path, draft, &spool::path(path, owner.fence, &owner.token))?;
            }
            if let (true, Some(frames)) = (mine, &inside) {
                step.execute(
                    "INSERT INTO output (fence, frames) VALUES (?, ?)",
                    params![owner.fence.0, frames],
                )?;
            }
            if mine && claim.attempt().number > 2 {
                dropped = drop_old_output(step, &claim)?;
            }
            Ok(owned(step, &owner, mine)?)
        });
        if let (Ok(_), Some((fence, token))) = (&written, dropped) {
            self.remove_spool(fence, token);
        }
        if let (Ok(_), Some(draft)) = (&written, draft) {
            // One that is left all the same is removed by prune.
            let _ = fs::remove_file(draft);
        }
        let spooled = output.is_some_and(|output| matches!(output.frames, Frames::File(..)));
        // A call that was killed may have given its draft the attempt's name.
        let may_be_left = claim.attempt().tie != Tie::Wrapper && draft.is_none();
        let is_needed = spooled && inside.is_none();
        if matches!(written, Ok(Owned::Yes)) && (spooled || may_be_left) && !is_needed {
            self.remove_spool(owner.fence, owner.token);
        }
        written.map_err(|error| Unrecorded { claim, error })
    }

    fn remove_spool(&self, fence: Fence, token: Token) {
        Spool::Named(spool::path(&self.path, fence, &token)).remove();
    }

    pub(super) fn note_nobody_left(&mut self, fence: Fence) -> Result<(), StoreError> {
        let limit = self.patience.limit;
        self.write(Sync::Normal, limit, |step, _| {
            step.execute("UPDATE attempt SET emptied = 1 WHERE fence = ?", [fence.0])?;
            Ok(())
        })
    }
}

/// Lets go of the output of the attempt before the last of this operation, if it
/// failed: nobody can ask for it, and a key that fails for ever would fill the
/// disk. (Those who waited for the last may still be reading it.)
fn drop_old_output(step: &Connection, claim: &Claim) -> rusqlite::Result<Option<(Fence, Token)>> {
    let (subject, attempt) = (claim.subject(), claim.attempt());
    let old = step
        .prepare_cached(
            "UPDATE attempt SET output_bytes = 0, truncated = 1
                WHERE kind = ? AND namespace = ? AND key = ? AND generation = ?
                AND operation = ? AND state = 'failed' AND output_bytes > 0
                RETURNING fence, token",
        )?
        .query_row(
            params![
                subject.kind.as_str(),
                subject.namespace.as_str(),
                subject.key.as_str(),
                attempt.generation - 2,
                attempt.operation.0,
            ],
            |row| Ok((Fence(row.get(0)?), Token(row.get(1)?))),
        )
        .optional()?;
    if let Some((fence, _)) = old {
        step.execute("DELETE FROM output WHERE fence = ?", [fence.0])?;
    }
    Ok(old)
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
