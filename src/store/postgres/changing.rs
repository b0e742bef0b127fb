//! Changes one chain: lock, clock, read, decide, write, commit.
//!
//! The advisory lock of the chain comes first in every transaction that writes to it, and
//! everything else in a statement of its own after it, so that it sees what was committed
//! before the lock was had. Without the lock each of these happened on a real server: a
//! recorded outcome was superseded, a renewal was lost, a stale row was locked and
//! returned, and two generations ran after a delete.
//!
//! Locks are taken in one order: the parent's, shared, then the chain's own, then the row
//! of the fence. That one keeps all other claims of the store waiting, so it comes last.

use std::time::{Duration, Instant};

use super::PostgresShelf;
use super::address::Address;
use super::connecting::jittered;
use super::failure::Fault;
use super::locking::LockNumber;
use super::outputs;
use super::reading::{Question, chain_values};
use super::rows::{self as columns, Reader, Value, bytea, fences, int8, text};
use super::schema::Statements;
use super::transaction::{Statement, Transaction, Uncommitted, left_ms};
use crate::claim::fence::Fence;
use crate::claim::key::Subject;
use crate::claim::time::Now;
use crate::store::shelf::{Changes, Durability, Page, Step, Wanted};
use crate::store::{Frames, Parts, StoreError};

/// How often in a row the server may undo a change before it is given up.
const TRIES: u32 = 100;

/// The pause before a change is tried again that the server undid.
const PAUSE: Duration = Duration::from_millis(5);

/// How far a try of a change has come that failed.
enum Failed {
    /// The caller's own error.
    Step(StoreError),
    /// Nothing can have been written.
    Before(Fault),
    /// It may have been written.
    Unknown(Fault),
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self::Before(fault)
    }
}

impl From<Uncommitted> for Failed {
    fn from(uncommitted: Uncommitted) -> Self {
        match uncommitted {
            Uncommitted::Undone(fault) => Self::Before(fault),
            Uncommitted::Unknown(fault) => Self::Unknown(fault),
        }
    }
}

impl PostgresShelf {
    pub(super) fn change_chain(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        step: &mut Step<'_>,
    ) -> Result<(), StoreError> {
        let deadline = self.server.deadline();
        let mut reconnects = 1;
        for turn in 1.. {
            let fault = match self.try_to_change(wanted, durability, step, deadline) {
                Ok(()) => return Ok(()),
                Err(Failed::Unknown(fault)) => return Err(self.server.told(&fault)),
                Err(Failed::Step(error)) => return Err(error),
                Err(Failed::Before(fault)) => fault,
            };
            if fault.is_broken_connection() && reconnects > 0 {
                reconnects -= 1;
            } else if fault.may_pass() && turn < TRIES {
                std::thread::sleep(jittered(PAUSE * turn.min(20)));
            } else {
                return Err(self.server.told(&fault));
            }
            if Instant::now() >= deadline {
                return Err(self.server.told(&fault));
            }
        }
        Ok(())
    }

    fn try_to_change(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        step: &mut Step<'_>,
        deadline: Instant,
    ) -> Result<(), Failed> {
        let mut transaction = Transaction::open(&mut self.server, deadline)?;
        let page = transaction.lock_and_read(wanted, durability)?;
        let mut fault = None;
        let mut draw = |now: &Now| {
            transaction.draw_fence(now).map_err(|why| {
                let error = transaction.server().told(&Fault::Late);
                fault = Some(why);
                error
            })
        };
        let changes = step(&page, &mut draw);
        if let Some(fault) = fault {
            return Err(Failed::Before(fault));
        }
        let changes = changes.map_err(Failed::Step)?;
        if changes.is_nothing() {
            return Ok(());
        }
        let last_part = match &changes.output {
            Some((fence, frames)) => transaction.keep_output(*fence, frames)?,
            None => None,
        };
        let address = &transaction.server().address;
        let mut statements = statements(&self.statements, address, wanted.subject, &page, &changes);
        statements.extend(last_part);
        Ok(transaction.commit(&statements)?)
    }
}

impl Transaction<'_> {
    /// Begins, takes the locks and reads, all sent at once.
    fn lock_and_read(&mut self, wanted: Wanted<'_>, durability: Durability) -> Result<Page, Fault> {
        let schema = self.server().address.schema.clone();
        let name = self.server().address.schema_name.as_str();
        let parent = wanted.parent.map(|parent| {
            let number = LockNumber::of_chain(name, &parent.subject).0;
            format!("SELECT pg_advisory_xact_lock_shared({number});")
        });
        let left = left_ms(self.deadline());
        let synchronous = match durability {
            Durability::Power => "on",
            Durability::Process => "off",
        };
        // A client that is stopped or gone does not keep the lock for ever.
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED;
            SET LOCAL synchronous_commit = {synchronous};
            SET LOCAL lock_timeout = {left};
            SET LOCAL statement_timeout = {all};
            SET LOCAL idle_in_transaction_session_timeout = {idle};
            {parent}
            SELECT pg_advisory_xact_lock({own})",
            // The lock's limit strikes first, which tells more.
            all = left + left / 20 + 1,
            idle = left + 1000,
            parent = parent.unwrap_or_default(),
            own = LockNumber::of_chain(name, wanted.subject).0,
        );
        let question = Question::about(&schema, wanted);
        let found = self.begin_with(&begin, &question.text, &question.values)?;
        if let Some(page) = question.page(&found)? {
            return Ok(page);
        }
        let question = question.in_full();
        let found = self.rows(&question.text, &question.values)?;
        question.page(&found)?.ok_or_else(|| Fault::Unreadable("answer".to_owned()))
    }

    fn draw_fence(&mut self, now: &Now) -> Result<Fence, Fault> {
        let statement = format!(
            "UPDATE {}.fence SET fence = greatest(fence + 1, $1) RETURNING fence",
            self.server().address.schema
        );
        let found = self.rows(&statement, &[int8(now.wall.0)])?;
        let row = found.first().ok_or_else(|| Fault::Unreadable("fence".to_owned()))?;
        Ok(Fence(Reader::at(row, 0).next()?))
    }

    /// Keeps output, part by part, so that little of it is in memory at once. Each part has
    /// all the time that a call has. What keeps the last one is for the commit to send along:
    /// most outputs have no other.
    fn keep_output(&mut self, fence: Fence, frames: &Frames) -> Result<Option<Statement>, Fault> {
        let schema = &self.server().address.schema;
        let add = format!("INSERT INTO {schema}.output (fence, part, frames) VALUES ($1, $2, $3)");
        let mut parts = Parts::of(frames, outputs::PART);
        let mut last: Option<Statement> = None;
        for number in 0.. {
            let Some(part) =
                parts.read_next().map_err(|why| Fault::Said(outputs::unreadable(&why)))?
            else {
                break;
            };
            let values = vec![int8(fence.0), columns::int4(number), bytea(part)];
            if let Some((add, values)) = last.replace((add.clone(), values)) {
                self.rows(&add, &values)?;
            }
            self.take_time();
        }
        Ok(last)
    }
}

/// All that is to be written, the notice to waiters included.
fn statements(
    known: &Statements,
    address: &Address,
    subject: &Subject,
    page: &Page,
    changes: &Changes,
) -> Vec<Statement> {
    let schema = &address.schema;
    let mut statements = Vec::new();
    let rows_of_chain = |rows: Value| {
        let mut values = vec![rows];
        values.extend(chain_values(subject));
        values
    };
    if !changes.removed.is_empty() {
        let gone = "SELECT 1 / (count(*) = cardinality($1))::int FROM gone";
        statements.push((
            format!(
                "WITH gone AS (DELETE FROM {schema}.attempt WHERE fence = ANY ($1)
                    AND kind = $2 AND namespace = $3 AND key = $4 RETURNING 1) {gone}"
            ),
            rows_of_chain(fences(&changes.removed)),
        ));
    }
    if !changes.discarded.is_empty() {
        let gone = format!(
            "WITH gone AS (DELETE FROM {schema}.attempt WHERE generation = ANY ($1)
                AND kind = $2 AND namespace = $3 AND key = $4 RETURNING fence)
            DELETE FROM {schema}.output WHERE fence IN (SELECT fence FROM gone)"
        );
        statements.push((gone, rows_of_chain(columns::int8s(&changes.discarded))));
    }
    for operation in &changes.steps_removed {
        let steps = || vec![text(Subject::steps_of(*operation).as_str())];
        statements.push((
            format!(
                "DELETE FROM {schema}.output WHERE fence IN (SELECT fence
                    FROM {schema}.attempt WHERE kind = 'step' AND namespace = $1)"
            ),
            steps(),
        ));
        statements.push((
            format!("DELETE FROM {schema}.attempt WHERE kind = 'step' AND namespace = $1"),
            steps(),
        ));
    }
    let outputs: Vec<Fence> =
        changes.removed.iter().chain(&changes.outputs_removed).copied().collect();
    if !outputs.is_empty() {
        let gone = format!("DELETE FROM {schema}.output WHERE fence = ANY ($1)");
        statements.push((gone, vec![fences(&outputs)]));
    }
    for attempt in &changes.changed {
        let values = columns::values(subject, attempt);
        statements.push((known.change.clone(), values));
    }
    if let Some(attempt) = &changes.added {
        statements.push((known.add.clone(), columns::values(subject, attempt)));
    }
    if changes.matter_to_waiters(page) {
        let chain = LockNumber::of_chain(&address.schema_name, subject);
        let told = vec![text(&*address.schema_name), text(&*chain.to_hex())];
        statements.push(("SELECT pg_notify($1, $2)".to_owned(), told));
    }
    statements
}
