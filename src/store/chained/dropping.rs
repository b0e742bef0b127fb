//! What a person decides about a key: to forget it, or how it ended.

use crate::claim::attempt::{Attempt, State};
use crate::claim::decide::Seen;
use crate::claim::key::{Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::store::shelf::{Changes, Depth, Durability, Shelf, Wanted};
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
        let option = self.shelf.option();
        // By force goes all that cannot be read, however old it is.
        let depth = if force == Force::Yes { Depth::Whole } else { Depth::Decision };
        let wanted = Wanted { depth, ..Wanted::of(subject) };
        self.change_as_it_is(wanted, Durability::Power, |page, fences| {
            let now = &page.now;
            if force == Force::No {
                page.require_whole(&option)?;
            }
            let discarded: Vec<i64> = page.unreadable.iter().map(|row| row.generation).collect();
            let seen = page.seen(subject, liveness)?;
            let newest = seen.first().map(|seen| &seen.attempt);
            let is_there = newest.is_some_and(|newest| newest.state != State::Forgotten);
            if !is_there && discarded.is_empty() {
                return Ok((Changes::default(), Dropped::Absent));
            }
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
            let last = discarded.iter().copied().max();
            let newest = row::newest_known(newest, last, now);
            let tombstone = row::tombstone(&newest, fences(now)?, token, now);
            let added = Some(tombstone);
            let after = Changes { added, changed, discarded, ..Changes::default() };
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
