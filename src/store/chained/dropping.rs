//! What a person decides about a key: to forget it, or how it ended.

use crate::claim::attempt::{Attempt, State};
use crate::claim::decide::Seen;
use crate::claim::key::{Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::store::shelf::{Changes, Durability, Shelf, Wanted};
use crate::store::{Dropped, Force, Liveness, StoreError, row};

use super::ChainStore;

impl<S: Shelf> ChainStore<S> {
    pub(super) fn drop_key(
        &mut self,
        subject: &Subject,
        force: Force,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        let token = row::nobodys_token()?;
        self.change(Wanted::of(subject), Durability::Power, |page, fences| {
            let now = &page.now;
            let seen = page.seen(subject, liveness)?;
            let Some(newest) = seen.first().filter(|s| s.attempt.state != State::Forgotten) else {
                return Ok((Changes::default(), Dropped::Absent));
            };
            let holder = seen.iter().find(|seen| row::is_held(seen, subject.kind, now));
            if let (Some(holder), Force::No) = (holder, force) {
                let held = Dropped::Held(holder.attempt.clone(), holder.life);
                return Ok((Changes::default(), held));
            }
            let mut changed = Vec::new();
            for row in &page.attempts {
                let mut after = row.clone();
                let running =
                    |seen: &&Seen| seen.attempt.fence == row.fence && row.state == State::Running;
                if let Some(running) = seen.iter().find(running) {
                    after.state = State::Forgotten;
                    after.remains = row::remains_of(running);
                    after.end = Some(row::cut_off(now));
                }
                if subject.kind == Kind::Lease {
                    after.rests_until = None;
                }
                if after != *row {
                    changed.push(after);
                }
            }
            let tombstone = row::tombstone(&newest.attempt, fences(now)?, token, now);
            let after = Changes { added: Some(tombstone), changed, ..Changes::default() };
            Ok((after, Dropped::Yes))
        })
    }

    pub(super) fn settle_interrupted(
        &mut self,
        subject: &Subject,
        outcome: Outcome,
        liveness: &mut dyn Liveness,
    ) -> Result<Dropped, StoreError> {
        self.change(Wanted::of(subject), Durability::Power, |page, _| {
            let seen = page.seen(subject, liveness)?;
            let Some(newest) = seen.first() else {
                return Ok((Changes::default(), Dropped::Absent));
            };
            if let Some(refusal) = row::not_to_be_settled(newest, &page.now) {
                return Ok((Changes::default(), refusal));
            }
            let (state, end) = row::settled(outcome, &page.now);
            let settled = Attempt { state, end: Some(end), ..newest.attempt.clone() };
            Ok((Changes { changed: vec![settled], ..Changes::default() }, Dropped::Yes))
        })
    }
}
