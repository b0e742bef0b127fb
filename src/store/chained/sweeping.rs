//! Sweeping: which keys and attempts go, by the rules that SQLite has as queries.

use std::collections::BTreeSet;

use crate::claim::attempt::{Attempt, Origin, Promise, Remains, State};
use crate::claim::duration::to_ms;
use crate::claim::fence::Fence;
use crate::claim::id::OperationId;
use crate::claim::key::Subject;
use crate::claim::time::{Now, WallMs};
use crate::store::shelf::{Changes, Depth, Durability, Page, Shelf, Wanted};
use crate::store::{Promised, Store as _, StoreError, Sweep, SweepMode, Swept, Unlooked, row};

use super::ChainStore;

/// How many attempts are looked at before anybody hears of it.
const BATCH: usize = 500;

impl<S: Shelf> ChainStore<S> {
    pub(super) fn sweep_in_batches(
        &mut self,
        sweep: &Sweep,
        told: &mut dyn FnMut(Swept),
    ) -> Result<Swept, StoreError> {
        // It does not move on with the clock: a sweep would run after the keys that end
        // beside it.
        let horizon = WallMs(self.now()?.wall.0.saturating_sub(to_ms(sweep.older_than)));
        let mut swept = Swept::default();
        let mut after = Fence(0);
        loop {
            let namespace = sweep.namespace.as_ref();
            let batch = self.shelf.ended_before(horizon, after, namespace, BATCH)?;
            let Some((last, _)) = batch.last() else { break };
            let turn = Turn { after, last: *last };
            after = *last;
            let keys: BTreeSet<Subject> = batch.into_iter().map(|(_, subject)| subject).collect();
            for subject in keys {
                swept += self.sweep_key(&subject, sweep, (horizon, turn))?;
            }
            told(swept);
        }
        Ok(swept)
    }

    fn sweep_key(
        &mut self,
        subject: &Subject,
        sweep: &Sweep,
        (horizon, turn): (WallMs, Turn),
    ) -> Result<Swept, StoreError> {
        let wanted = Wanted { depth: Depth::Whole, ..Wanted::of(subject) };
        let goes = |page: &Page| going(page, (sweep, horizon), turn);
        // Most of what is looked at stays: it is not locked for that.
        let (fences, swept) = goes(&self.read_as_it_is(wanted)?);
        if sweep.mode == SweepMode::Count || fences.is_empty() {
            return Ok(swept);
        }
        self.change_as_it_is(wanted, Durability::Process, |page, _| {
            let (removed, swept) = goes(page);
            let gone = |attempt: &&Attempt| removed.contains(&attempt.fence);
            let left: BTreeSet<[u8; 16]> =
                page.attempts.iter().filter(|a| !gone(a)).map(|a| a.operation.0).collect();
            let over: BTreeSet<[u8; 16]> = page
                .attempts
                .iter()
                .filter(gone)
                .map(|attempt| attempt.operation.0)
                .filter(|operation| !left.contains(operation))
                .collect();
            let steps_removed = over.into_iter().map(OperationId).collect();
            Ok((Changes { removed, steps_removed, ..Changes::default() }, swept))
        })
    }
}

/// The attempts that have their turn: after one fence, up to another.
#[derive(Clone, Copy)]
struct Turn {
    after: Fence,
    last: Fence,
}

impl Turn {
    fn is_of(self, attempt: &Attempt) -> bool {
        self.after < attempt.fence && attempt.fence <= self.last
    }
}

/// What goes of a key, and what that comes to. A key goes whole when its newest attempt
/// has its turn. Where an attempt cannot be read nothing goes.
fn going(page: &Page, (sweep, horizon): (&Sweep, WallMs), turn: Turn) -> (Vec<Fence>, Swept) {
    if !page.unreadable.is_empty() {
        return (Vec::new(), Swept::default());
    }
    let (chain, now) = (&page.attempts, &page.now);
    let whole = goes((sweep, horizon), chain, now);
    let goes = |attempt: &&Attempt| match (whole, chain.last()) {
        (true, Some(newest)) => turn.is_of(newest),
        _ => turn.is_of(attempt) && replaced((sweep, horizon), chain, attempt),
    };
    let fences: Vec<Fence> = chain.iter().filter(goes).map(|attempt| attempt.fence).collect();
    let keys = u64::from(whole && !fences.is_empty());
    let swept = Swept { keys, attempts: fences.len() as u64 };
    (fences, swept)
}

fn is_old(horizon: WallMs, attempt: &Attempt) -> bool {
    attempt.end.as_ref().is_some_and(|end| end.at < horizon)
}

/// Whether a whole key goes.
fn goes((sweep, horizon): (&Sweep, WallMs), chain: &[Attempt], now: &Now) -> bool {
    let finished = |attempt: &Attempt| {
        matches!(attempt.state, State::Done | State::Failed | State::Forgotten)
            && is_old(horizon, attempt)
    };
    let is_looked_for = |attempt: &Attempt| {
        row::is_unlooked(attempt)
            && (sweep.unlooked == Unlooked::Spared || !is_old(horizon, attempt))
    };
    // A promise is spent once a later attempt took the record's place.
    let in_force = |record: &Attempt| {
        !chain.iter().any(|later| {
            later.generation > record.generation
                && (later.origin == Origin::Ordinary || later.state == State::Done)
        })
    };
    let promised = |attempt: &Attempt| {
        attempt.end.as_ref().is_some_and(|end| {
            attempt.state == State::Done
                && end.promise == Promise::Explicit
                && !end.expiry.has_come(now)
        }) && in_force(attempt)
    };
    let rests = |newest: &Attempt| newest.origin == Origin::Ordinary && row::rests(newest, now);
    chain.last().is_some_and(finished)
        && !chain.iter().any(is_looked_for)
        && (sweep.promised == Promised::Included
            || !(chain.iter().any(promised) || chain.last().is_some_and(rests)))
}

/// Whether an attempt goes because a later one replaced it.
fn replaced((sweep, horizon): (&Sweep, WallMs), chain: &[Attempt], old: &Attempt) -> bool {
    let let_go_of = match old.state {
        State::Done | State::Failed => true,
        State::Interrupted | State::Forgotten => {
            old.remains == Remains::None || sweep.unlooked == Unlooked::Included
        }
        State::Running | State::Released => false,
    };
    let came_to_nothing = old.origin == Origin::Rerun && old.state != State::Done;
    let by = |later: &Attempt| {
        later.generation > old.generation
            && later.operation != old.operation
            && (later.origin == Origin::Ordinary || later.state == State::Done || came_to_nothing)
    };
    let_go_of && is_old(horizon, old) && chain.iter().any(by)
}
