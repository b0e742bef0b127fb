//! The claiming step: from what was read of a chain to the new attempt.

use crate::claim::attempt::{Attempt, State};
use crate::claim::decide::{Decision, Plan, Request};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Tie};
use crate::claim::key::Kind;
use crate::store::shelf::{Changes, Durability, Fences, Page, Shelf, Wanted};
use crate::store::{Answer, Hold, Liveness, StoreError, Trouble, row};

use super::{ChainStore, owning};

/// What a claiming step has come to, if it is written.
enum Came {
    Won(Box<Winning>),
    Not(Box<Decision>),
}

/// What a claim is made of.
struct Winning {
    attempt: Attempt,
    took_over: Option<Attempt>,
    remains: Vec<Attempt>,
}

/// How many fences in a row may be held by somebody before it is clear that somebody
/// holds them all.
const OCCUPIED: u32 = 1000;

impl<S: Shelf> ChainStore<S> {
    pub(super) fn claim_in_one_step(
        &mut self,
        request: &Request,
        claimant: &Claimant,
        liveness: &mut dyn Liveness,
    ) -> Result<Answer, StoreError> {
        let mut held = Vec::new();
        let wanted = Wanted { parent: request.parent.as_ref(), ..Wanted::of(&request.subject) };
        // A lease too: its holder outlives the server that it was won on, so one that power
        // loss or a fail-over undid would be somebody else's as well.
        let came = self.change(wanted, Durability::Power, |page, fences| {
            Ok(match page.decide(request, liveness)? {
                Decision::Run(plan) => {
                    let (fence, inode) = match claimant.tie {
                        Tie::Wrapper => next_fence(page, fences, liveness, &mut held)?,
                        Tie::Process | Tie::Time | Tie::Both => (fences(&page.now)?, None),
                    };
                    won(page, (request, claimant), &plan, (fence, inode))
                }
                Decision::Claimed(attempt) => {
                    let won = Winning { attempt, took_over: None, remains: page.unlooked() };
                    (Changes::default(), Came::Won(won.into()))
                }
                other => (Changes::default(), Came::Not(other.into())),
            })
        })?;
        // An earlier try may have taken a lock for a row that was not written.
        let kept = match &came {
            Came::Won(won) => Some(won.attempt.fence),
            Came::Not(_) => None,
        };
        let unused = held.into_iter().filter(|fence| Some(*fence) != kept);
        unused.for_each(|fence| liveness.let_go(fence));
        Ok(match came {
            Came::Won(won) => {
                let Winning { attempt, took_over, remains } = *won;
                Answer::Won(Claim::won(request.subject.clone(), attempt, took_over, remains))
            }
            Came::Not(decision) => Answer::Not(decision),
        })
    }
}

/// The next fence, with its holder's lock taken.
fn next_fence(
    page: &Page,
    fences: &mut Fences<'_>,
    liveness: &mut dyn Liveness,
    held: &mut Vec<Fence>,
) -> Result<(Fence, Option<u64>), StoreError> {
    for _ in 0..OCCUPIED {
        let fence = fences(&page.now)?;
        if let Hold::Taken(inode) = liveness.hold(fence)? {
            held.push(fence);
            return Ok((fence, inode));
        }
    }
    Err(StoreError::new(Trouble::Other, "somebody holds a lock for every attempt to come"))
}

fn won(
    page: &Page,
    (request, claimant): (&Request, &Claimant),
    plan: &Plan,
    (fence, inode): (Fence, Option<u64>),
) -> (Changes, Came) {
    let now = &page.now;
    let mut after = page.clone();
    let mut changes = Changes::default();
    for superseded in &plan.supersedes {
        let fence = superseded.attempt.fence;
        if let Some(row) = after.attempts.iter_mut().find(|row| row.fence == fence) {
            row.state = State::Interrupted;
            row.remains = row::remains_of(superseded);
            row.end = Some(row::cut_off(now));
            changes.changed.push(row.clone());
        }
    }
    let remains = after.unlooked();
    if request.subject.kind == Kind::Lease {
        let over = after.attempts.iter().filter(|row| owning::is_over(row, now));
        changes.removed = over.map(|row| row.fence).collect();
        let too_many = row::too_many_of_others(&after.attempts, &claimant.holder, now);
        changes.removed.extend(too_many);
        changes.changed.retain(|row| !changes.removed.contains(&row.fence));
    }
    let attempt = row::claimed(request, claimant, plan, fence, inode, now);
    changes.added = Some(attempt.clone());
    let won = Winning { attempt, took_over: plan.takes_over.clone(), remains };
    (changes, Came::Won(won.into()))
}
