//! What a person decides about a key: to forget it, or how it ended.

use rusqlite::{Transaction, params};

use super::claiming::advance_fence;
use super::reading::{Depth, attempts};
use super::steps::{StepError, Sync};
use super::{SqliteStore, rows};
use crate::claim::attempt::{Remains, State};
use crate::claim::key::{Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::store::{Dropped, Force, Liveness, StoreError, Trouble, row, with_lives};

impl SqliteStore {
    pub(super) fn drop_key(
        &mut self,
        subject: &Subject,
        force: Force,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        let token = row::nobodys_token()?;
        let limit = self.patience.limit;
        self.write(Sync::Full, limit, |step, now| {
            let last = match force {
                Force::Yes => discard_unreadable(step, subject)?,
                Force::No => None,
            };
            let chain = with_lives(attempts(step, subject, Depth::Decision)?, liveness)?;
            let newest = chain.first().map(|seen| &seen.attempt);
            let is_there = newest.is_some_and(|newest| newest.state != State::Forgotten);
            if !is_there && last.is_none() {
                return Ok(Dropped::Absent);
            }
            let holder = chain.iter().find(|seen| row::is_held(seen, subject.kind, now));
            if let (Some(holder), Force::No) = (holder, force) {
                return Ok(Dropped::Held(holder.attempt.clone(), holder.life));
            }
            for seen in chain.iter().filter(|seen| seen.attempt.state == State::Running) {
                let end = row::cut_off(now);
                let remains = row::remains_of(seen);
                let (owned, to) = (seen.attempt.ownership(subject), (State::Forgotten, &end));
                written(rows::update_end(step, &owned, State::Running, to, remains)?)?;
            }
            if subject.kind == Kind::Lease {
                end_rests(step, subject)?;
            }
            let fence = advance_fence(step, now)?;
            let newest = row::newest_known(newest, last, now);
            let tombstone = row::tombstone(&newest, fence, token, now);
            written(rows::insert(step, subject, &tombstone)?)?;
            Ok(Dropped::Yes)
        })
    }

    pub(super) fn settle_interrupted(
        &mut self,
        subject: &Subject,
        outcome: Outcome,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        let limit = self.patience.limit;
        self.write(Sync::Full, limit, |step, now| {
            let chain = with_lives(attempts(step, subject, Depth::Decision)?, liveness)?;
            let Some(newest) = chain.first() else {
                return Ok(Dropped::Absent);
            };
            if let Some(refusal) = row::not_to_be_settled(newest, now) {
                return Ok(refusal);
            }
            let before = &newest.attempt;
            let (state, end) = row::settled(outcome, now);
            let owned = before.ownership(subject);
            written(rows::update_end(step, &owned, before.state, (state, &end), Remains::None)?)?;
            Ok(Dropped::Yes)
        })
    }
}

/// Removes what cannot be read of a key, and says which was the newest of that.
fn discard_unreadable(step: &Transaction<'_>, subject: &Subject) -> rusqlite::Result<Option<i64>> {
    let mut statement = step.prepare(&format!(
        "SELECT {} FROM attempt WHERE kind = ? AND namespace = ? AND key = ?",
        rows::COLUMNS
    ))?;
    let key = params![subject.kind.as_str(), subject.namespace.as_str(), subject.key.as_str()];
    let mut found = statement.query(key)?;
    let mut discarded: Vec<(i64, i64)> = Vec::new();
    while let Some(row) = found.next()? {
        if rows::attempt_of(subject, row).is_err() {
            discarded.push((row.get(1)?, row.get(0)?));
        }
    }
    for (_, fence) in &discarded {
        step.execute("DELETE FROM output WHERE fence = ?", [fence])?;
        step.execute("DELETE FROM attempt WHERE fence = ?", [fence])?;
    }
    Ok(discarded.into_iter().map(|(generation, _)| generation).max())
}

/// A forgotten name rests no longer.
fn end_rests(step: &Transaction<'_>, subject: &Subject) -> rusqlite::Result<()> {
    step.execute(
        "UPDATE attempt SET retry_boot_ms = NULL WHERE kind = ? AND namespace = ? AND key = ?",
        params![subject.kind.as_str(), subject.namespace.as_str(), subject.key.as_str()],
    )?;
    Ok(())
}

/// Requires that a row was written: under the lock nothing can be in the way.
fn written(row: bool) -> Result<(), StepError> {
    if row {
        return Ok(());
    }
    Err(StepError::Store(StoreError::new(
        Trouble::Other,
        "the store did not take what was to be written; nothing was changed",
    )))
}
