//! Sweeping: which keys and attempts go, by the rules that SQLite has as queries.

use std::collections::BTreeSet;

use crate::claim::attempt::{Attempt, Origin, Promise, Remains, State};
use crate::claim::duration::to_ms;
use crate::claim::fence::Fence;
use crate::claim::key::{Kind, Subject};
use crate::claim::time::{Now, WallMs};
use crate::store::{Promised, Sweep, SweepMode, Swept};

use super::Rows;
use super::over::unlooked;

impl Rows {
    pub(super) fn sweep(&mut self, sweep: &Sweep, now: &Now) -> Swept {
        let mut swept = Swept::default();
        let mut gone: Vec<(Subject, Fence)> = Vec::new();
        for (subject, chain) in &self.chains {
            let elsewhere = sweep.namespace.as_ref().is_some_and(|ns| *ns != subject.namespace);
            if elsewhere || subject.kind != Kind::Once {
                continue;
            }
            let whole = goes(sweep, chain, now);
            swept.keys += u64::from(whole);
            let fences = chain.iter().filter(|old| whole || replaced(sweep, chain, old, now));
            gone.extend(fences.map(|attempt| (subject.clone(), attempt.fence)));
        }
        swept.attempts = gone.len() as u64;
        if sweep.mode == SweepMode::Remove {
            for (subject, fence) in gone {
                if let Some(chain) = self.chains.get_mut(&subject) {
                    chain.retain(|attempt| attempt.fence != fence);
                }
                self.outputs.remove(&fence.0);
            }
            self.remove_steps();
            self.chains.retain(|_, chain| !chain.is_empty());
        }
        swept
    }

    /// Removes the steps of operations of which no attempt is left.
    fn remove_steps(&mut self) {
        let keys = self.chains.iter().filter(|(subject, _)| subject.kind == Kind::Once);
        let left: BTreeSet<_> = keys
            .flat_map(|(_, chain)| chain.iter().map(|a| Subject::steps_of(a.operation)))
            .collect();
        let outputs = &mut self.outputs;
        self.chains.retain(|subject, chain| {
            let stays = subject.kind != Kind::Step || left.contains(&subject.namespace);
            if !stays {
                for step in chain {
                    outputs.remove(&step.fence.0);
                }
            }
            stays
        });
    }
}

fn is_old(sweep: &Sweep, attempt: &Attempt, now: &Now) -> bool {
    let horizon = WallMs(now.wall.0 - to_ms(sweep.older_than));
    attempt.end.as_ref().is_some_and(|end| end.at < horizon)
}

/// Whether a whole key goes.
fn goes(sweep: &Sweep, chain: &[Attempt], now: &Now) -> bool {
    let finished = |attempt: &Attempt| {
        matches!(attempt.state, State::Done | State::Failed | State::Forgotten)
            && is_old(sweep, attempt, now)
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
    let rests = |newest: &Attempt| {
        newest.origin == Origin::Ordinary
            && newest.rests_until.as_ref().is_some_and(|until| until.left(now).is_some())
    };
    chain.last().is_some_and(finished)
        && unlooked(chain).is_empty()
        && (sweep.promised == Promised::Included
            || !(chain.iter().any(promised) || chain.last().is_some_and(rests)))
}

/// Whether an attempt goes because a later one replaced it.
fn replaced(sweep: &Sweep, chain: &[Attempt], old: &Attempt, now: &Now) -> bool {
    let let_go_of = match old.state {
        State::Done | State::Failed => true,
        State::Interrupted | State::Forgotten => old.remains == Remains::None,
        State::Running | State::Released => false,
    };
    let came_to_nothing = old.origin == Origin::Rerun && old.state != State::Done;
    let by = |later: &Attempt| {
        later.generation > old.generation
            && later.operation != old.operation
            && (later.origin == Origin::Ordinary || later.state == State::Done || came_to_nothing)
    };
    let_go_of && is_old(sweep, old, now) && chain.iter().any(by)
}
