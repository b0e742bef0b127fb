//! The claiming step: one locked step, from the lock to the new row.
//!
//! Every shortcut through it was shown to break, by a model or on a real
//! server (DESIGN section 4): the clock is read after the lock, the chain is
//! read again after the clock, and every write requires its row.

use rusqlite::{Transaction, params};

use super::reading::{Depth, attempts, is_running};
use super::steps::{StepError, Sync};
use super::{SqliteStore, rows};
use crate::claim::attempt::{Attempt, State};
use crate::claim::decide::{Decision, Plan, Request, Seen, Terms, decide};
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Tie};
use crate::claim::key::{Kind, Subject};
use crate::claim::time::Now;
use crate::store::{Answer, Hold, Liveness, StoreError, Trouble, row, with_lives};

/// How often an insert is tried before it is an internal error: OR IGNORE
/// also swallows a constraint that has nothing to do with racing.
const INSERTS: u32 = 3;

impl SqliteStore {
    pub(super) fn claim_locked(
        &mut self,
        request: &Request,
        claimant: &Claimant,
        liveness: &mut dyn Liveness,
    ) -> Result<Answer, StoreError> {
        let mut held = Vec::new();
        let limit = self.patience.limit;
        // A lease means nothing after power loss, and its fence cannot come
        // again: it is ahead of the wall clock of the last one.
        let sync = match request.terms {
            Terms::Once(_) => Sync::Full,
            Terms::Lease(_) => Sync::Normal,
        };
        let answer = self.write(sync, limit, |step, now| {
            if let Some(parent) = &request.parent
                && !is_running(step, parent.fence, parent.token)?
            {
                return Ok(Answer::Not(Box::new(Decision::ParentLost)));
            }
            let chain = attempts(step, &request.subject, Depth::Decision)?;
            let chain = with_lives(chain, liveness)?;
            Ok(match decide(&chain, request, now) {
                Decision::Run(plan) => {
                    Answer::Won(insert(step, (request, claimant), &plan, now, liveness, &mut held)?)
                }
                Decision::Claimed(attempt) => {
                    let remains = unlooked(step, &request.subject)?;
                    Answer::Won(Claim::won(request.subject.clone(), attempt, None, remains))
                }
                other => Answer::Not(Box::new(other)),
            })
        })?;
        // An earlier try may have failed at its commit: its byte was kept until
        // this reading showed what became of its row.
        let kept = match &answer {
            Answer::Won(claim) => Some(claim.attempt().fence),
            Answer::Not(_) => None,
        };
        held.into_iter().filter(|fence| Some(*fence) != kept).for_each(|fence| {
            liveness.let_go(fence);
        });
        Ok(answer)
    }
}

fn insert(
    step: &Transaction<'_>,
    (request, claimant): (&Request, &Claimant),
    plan: &Plan,
    now: &Now,
    liveness: &mut dyn Liveness,
    held: &mut Vec<Fence>,
) -> Result<Claim, StepError> {
    for superseded in &plan.supersedes {
        interrupt(step, &request.subject, superseded, now)?;
    }
    for _ in 0..INSERTS {
        let (fence, inode) = match claimant.tie {
            Tie::Wrapper => next_fence(step, now, liveness)?,
            Tie::Process | Tie::Time | Tie::Both => (advance_fence(step, now)?, None),
        };
        held.push(fence);
        let attempt = row::claimed(request, claimant, plan, fence, inode, now);
        if rows::insert(step, &request.subject, &attempt)? {
            let remains = match attempt.generation {
                1 => Vec::new(),
                _ => unlooked(step, &request.subject)?,
            };
            if request.subject.kind == Kind::Lease {
                trim(step, &request.subject, attempt.generation, now)?;
                for fence in row::too_many_of_others(&remains, &claimant.holder, now) {
                    step.execute("DELETE FROM attempt WHERE fence = ?", [fence.0])?;
                }
            }
            return Ok(Claim::won(
                request.subject.clone(),
                attempt,
                plan.takes_over.clone(),
                remains,
            ));
        }
    }
    Err(StepError::Store(StoreError::new(
        Trouble::Other,
        format!(
            "the next attempt of {} does not fit the store; see doubletap show",
            request.subject.key
        ),
    )))
}

/// Marks a running attempt whose holder is gone, exactly as it was read.
fn interrupt(
    step: &Transaction<'_>,
    subject: &Subject,
    superseded: &Seen,
    now: &Now,
) -> Result<(), StepError> {
    let row = superseded.attempt.ownership(subject);
    let end = row::cut_off(now);
    let to = (State::Interrupted, &end);
    let marked = rows::update_end(step, &row, State::Running, to, row::remains_of(superseded))?;
    if marked {
        return Ok(());
    }
    Err(StepError::Store(StoreError::new(
        Trouble::Other,
        "the attempt to be superseded changed under the store's own lock",
    )))
}

/// How many fences in a row may be held by somebody before it is clear that
/// somebody holds them all.
const OCCUPIED: u32 = 1000;

/// The store's next fence, with its holder's lock taken.
pub(super) fn next_fence(
    step: &Transaction<'_>,
    now: &Now,
    liveness: &mut dyn Liveness,
) -> Result<(Fence, Option<u64>), StepError> {
    for _ in 0..OCCUPIED {
        let fence = advance_fence(step, now)?;
        if let Hold::Taken(inode) = liveness.hold(fence)? {
            return Ok((fence, inode));
        }
    }
    Err(StepError::Store(StoreError::new(
        Trouble::Other,
        "another program holds a lock on all of the store's lock file (.live); end it, and try again",
    )))
}

/// The store's next fence.
pub(super) fn advance_fence(step: &Transaction<'_>, now: &Now) -> rusqlite::Result<Fence> {
    // What `Fence::after` says, in one statement.
    let advance = "UPDATE store SET fence = max(fence + 1, ?) RETURNING fence";
    step.query_row(advance, [now.wall.0], |row| row.get(0)).map(Fence)
}

/// Removes what is over of a lease: only rows that nobody holds, whose rest is
/// over and of whose processes nobody is left [measured: keeping the newest few
/// deleted a living holder].
fn trim(step: &Transaction<'_>, subject: &Subject, newest: i64, now: &Now) -> rusqlite::Result<()> {
    let mut statement = step.prepare_cached(
        "DELETE FROM attempt WHERE kind = ? AND namespace = ? AND key = ? AND generation < ?
            AND (state = 'released' OR (state IN ('interrupted', 'forgotten') AND emptied = 1))
            AND (retry_boot_ms IS NULL OR retry_boot_ms <= ? OR boot_id <> ?)",
    )?;
    let (kind, namespace) = (subject.kind.as_str(), subject.namespace.as_str());
    let chain = (kind, namespace, subject.key.as_str());
    statement.execute(params![chain.0, chain.1, chain.2, newest, now.boot.0, &*now.boot_id.0])?;
    Ok(())
}

/// Ended attempts of a key whose processes nobody has looked for yet.
fn unlooked(step: &Transaction<'_>, subject: &Subject) -> rusqlite::Result<Vec<Attempt>> {
    match subject.kind {
        // Few are left of a lease, and the statement that reads all has been made.
        Kind::Lease => {
            let chain = attempts(step, subject, Depth::Whole)?;
            Ok(chain.into_iter().filter(row::is_unlooked).collect())
        }
        Kind::Once | Kind::Step => {
            let mut statement = step.prepare(&format!(
                "SELECT {} FROM attempt WHERE kind = ? AND namespace = ? AND key = ?
                    AND emptied = 0 AND state IN ('interrupted', 'forgotten')",
                rows::COLUMNS
            ))?;
            let (kind, namespace) = (subject.kind.as_str(), subject.namespace.as_str());
            let key = params![kind, namespace, subject.key.as_str()];
            let found: Vec<Attempt> = statement
                .query_map(key, |row| rows::attempt_of(subject, row))?
                .collect::<rusqlite::Result<_>>()?;
            debug_assert!(found.iter().all(row::is_unlooked));
            Ok(found)
        }
    }
}
