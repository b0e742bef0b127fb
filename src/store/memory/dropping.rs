//! What a person decides about a key: to forget it, or how it ended.

use crate::claim::attempt::State;
use crate::claim::key::{Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::Now;
use crate::store::{Dropped, Force, Liveness, StoreError, row};

use super::Rows;

impl Rows {
    pub(super) fn forget(
        &mut self,
        subject: &Subject,
        force: Force,
        (liveness, now): (&mut dyn Liveness, &Now),
    ) -> Result<Dropped, StoreError> {
        let seen = self.seen(subject, liveness)?;
        let Some(newest) = seen.first().filter(|s| s.attempt.state != State::Forgotten) else {
            return Ok(Dropped::Absent);
        };
        let holder = seen.iter().find(|seen| row::is_held(seen, subject.kind, now));
        if let (Some(holder), Force::No) = (holder, force) {
            return Ok(Dropped::Held(holder.attempt.clone(), holder.life));
        }
        let fence = self.advance_fence(now);
        let token = row::nobodys_token()?;
        let chain = self.chains.entry(subject.clone()).or_default();
        for running in seen.iter().filter(|seen| seen.attempt.state == State::Running) {
            let fence = running.attempt.fence;
            if let Some(row) = chain.iter_mut().find(|row| row.fence == fence) {
                row.state = State::Forgotten;
                row.remains = row::remains_of(running);
                row.end = Some(row::cut_off(now));
            }
        }
        if subject.kind == Kind::Lease {
            for row in chain.iter_mut() {
                row.rests_until = None;
            }
        }
        chain.push(row::tombstone(&newest.attempt, fence, token, now));
        Ok(Dropped::Yes)
    }

    pub(super) fn settle(
        &mut self,
        subject: &Subject,
        outcome: Outcome,
        (liveness, now): (&mut dyn Liveness, &Now),
    ) -> Result<Dropped, StoreError> {
        let seen = self.seen(subject, liveness)?;
        let Some(newest) = seen.first() else { return Ok(Dropped::Absent) };
        if let Some(refusal) = row::not_to_be_settled(newest, now) {
            return Ok(refusal);
        }
        if let Some(attempt) = self.chains.get_mut(subject).and_then(|chain| chain.last_mut()) {
            let (state, end) = row::settled(outcome, now);
            attempt.state = state;
            attempt.end = Some(end);
        }
        Ok(Dropped::Yes)
    }
}
