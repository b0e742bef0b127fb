//! What a person decides about a key: to forget it, or how it ended.

use super::claiming::advance_fence;
use super::reading::{Depth, attempts, with_lives};
use super::steps::Sync;
use super::{SqliteStore, rows};
use crate::claim::attempt::{Remains, State};
use crate::claim::key::Subject;
use crate::claim::outcome::Outcome;
use crate::store::{self, Dropped, Force, Liveness, StoreError, row};

impl SqliteStore {
    pub(super) fn drop_key(
        &mut self,
        subject: &Subject,
        force: Force,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        let token = store::nobodys_token()?;
        let limit = self.patience.limit;
        self.write(Sync::Full, limit, |step, now| {
            let chain = with_lives(attempts(step, subject, Depth::Decision)?, liveness)?;
            let newest = chain.first().filter(|s| s.attempt.state != State::Forgotten);
            let Some(newest) = newest else {
                return Ok(Dropped::Absent);
            };
            if newest.counts(now) && force == Force::No {
                return Ok(Dropped::Held(newest.attempt.clone(), newest.life));
            }
            let before = &newest.attempt;
            if before.state == State::Running {
                let end = row::cut_off(now);
                let remains = row::remains_of(newest);
                let (row, to) = (before.ownership(subject), (State::Forgotten, &end));
                rows::update_end(step, &row, State::Running, to, remains)?;
            }
            let fence = advance_fence(step, now)?;
            rows::insert(step, subject, &row::tombstone(before, fence, token, now))?;
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
            if let Some(refusal) = store::not_to_be_settled(newest, now) {
                return Ok(refusal);
            }
            let before = &newest.attempt;
            let (state, end) = row::settled(outcome, now);
            let row = before.ownership(subject);
            rows::update_end(step, &row, before.state, (state, &end), Remains::None)?;
            Ok(Dropped::Yes)
        })
    }
}
