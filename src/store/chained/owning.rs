//! What an owner writes: that it lives, how it ended, that nobody is left.

use std::time::Duration;

use crate::claim::attempt::{Attempt, Extent, OutputSummary, Ownership, Remains, State};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::time::{Now, Until};
use crate::store::shelf::{Changes, Durability, Page, Shelf, Wanted};
use crate::store::{Completion, LostWhy, Owned, StoreError, Unrecorded, Verdict, row};

use super::ChainStore;

/// Whether a row of a lease says nothing any more.
pub(super) fn is_over(row: &Attempt, now: &Now) -> bool {
    let ended = match row.state {
        State::Released => true,
        State::Interrupted | State::Forgotten => row.remains == Remains::None,
        State::Running | State::Done | State::Failed => false,
    };
    ended && !row::rests(row, now)
}

/// The attempt that is still its owner's.
fn owned<'a>(page: &'a Page, owner: &Ownership) -> Result<&'a Attempt, LostWhy> {
    let own = page.attempt(owner.fence).filter(|attempt| attempt.token == owner.token);
    match own {
        None => Err(LostWhy::Missing),
        Some(own) if own.state == State::Running => Ok(own),
        Some(own) => Err(row::lost_to(own.state)),
    }
}

impl<S: Shelf> ChainStore<S> {
    /// Extends the lease from now on, by its own length or by another that it has from then.
    pub(super) fn extend_lease(
        &mut self,
        owner: &Ownership,
        lease: Option<Duration>,
        limit: Duration,
    ) -> Result<Owned, StoreError> {
        let wanted = Wanted { own: Some(owner.fence), ..Wanted::of(&owner.subject) };
        self.shelf.wait_at_most(limit);
        // The owner counts on it from now on: others have to as well, whatever the server loses.
        let renewed = self.change(wanted, Durability::Power, |page, _| {
            Ok(match owned(page, owner) {
                Ok(own) => {
                    let length = lease.unwrap_or(own.lease);
                    let tie = if lease.is_some() { own.tie.limited() } else { own.tie };
                    let until = Until::after(&page.now, length);
                    let renewed = Attempt { lease: length, tie, until, ..own.clone() };
                    (Changes { changed: vec![renewed], ..Changes::default() }, Owned::Yes)
                }
                Err(why) => (Changes::default(), Owned::Lost(why)),
            })
        });
        self.shelf.wait_at_most(self.limit);
        renewed
    }

    pub(super) fn spend(
        &mut self,
        claim: Claim,
        completion: &Completion,
    ) -> Result<Owned, Unrecorded> {
        let owner = claim.ownership();
        let durability = match completion.verdict {
            // A lease that is given back twice harms nobody.
            Verdict::Released => Durability::Process,
            Verdict::Recorded { .. } | Verdict::Failed { .. } => Durability::Power,
        };
        let sent_before = self.sent == Some(owner.fence);
        self.sent = Some(owner.fence);
        let wanted = Wanted { own: Some(owner.fence), ..Wanted::of(&owner.subject) };
        let written = self.change(wanted, durability, |page, _| {
            Ok(match owned(page, &owner) {
                Ok(own) => (ended(page, own, completion), Owned::Yes),
                Err(LostWhy::AlreadyDone) if sent_before && is_so(page, &owner, completion) => {
                    (Changes::default(), Owned::Yes)
                }
                Err(why) => (Changes::default(), Owned::Lost(why)),
            })
        });
        match written {
            Ok(answer) => {
                self.sent = None;
                Ok(answer)
            }
            Err(error) => Err(Unrecorded { claim, error }),
        }
    }

    pub(super) fn note_nobody_left(&mut self, fence: Fence) -> Result<(), StoreError> {
        let Some(subject) = self.shelf.subject_of(fence)? else { return Ok(()) };
        let wanted = Wanted { own: Some(fence), ..Wanted::of(&subject) };
        self.change(wanted, Durability::Process, |page, _| {
            let rows = page.attempt(fence).cloned();
            let changed = rows.map(|row| Attempt { remains: Remains::None, ..row });
            Ok((Changes { changed: changed.into_iter().collect(), ..Changes::default() }, ()))
        })
    }
}

/// The end of an attempt.
fn ended(page: &Page, own: &Attempt, completion: &Completion) -> Changes {
    let (state, end) = row::ended(completion, &page.now);
    let mut own = Attempt { state, end: Some(end), ..own.clone() };
    if let Some(until) = row::rest(completion, &page.now) {
        own.rests_until = Some(until);
    }
    if row::never_ran(completion) {
        own.rests_until = None;
    }
    let mut changes = Changes {
        output: completion.output.as_ref().map(|output| (own.fence, output.frames.clone())),
        ..Changes::default()
    };
    // Nobody can ask for the output of the failure before the last.
    let old = page.attempts.iter().find(|old| {
        old.generation == own.generation - 2
            && old.operation == own.operation
            && old.state == State::Failed
            && old.output().is_some()
    });
    if let Some(old) = old {
        let mut old = old.clone();
        if let Some(end) = &mut old.end {
            end.output = Some(OutputSummary { bytes: 0, extent: Extent::Truncated });
        }
        changes.outputs_removed.push(old.fence);
        changes.changed.push(old);
    }
    changes.changed.push(own);
    changes
}

/// Whether an attempt has ended just as its owner says: an answer was lost, then.
fn is_so(page: &Page, owner: &Ownership, completion: &Completion) -> bool {
    let (state, end) = row::ended(completion, &page.now);
    page.attempt(owner.fence).is_some_and(|own| {
        let told = own.end.as_ref();
        own.state == state
            && told.is_some_and(|told| told.outcome == end.outcome && told.reason == end.reason)
    })
}
