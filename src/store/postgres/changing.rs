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

use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio_postgres::{Client, Error};

use super::PostgresShelf;
use super::connecting::{jittered, rows};
use super::failure::Fault;
use super::locking::LockNumber;
use super::outputs;
use super::reading::Question;
use super::rows::{self as columns, Reader, Value, bytea, fences, int8, text};
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

/// A statement and its values.
type Statement = (String, Vec<Value>);

/// The milliseconds until a deadline, as PostgreSQL takes a limit: 0 would be none. The
/// server gives up a little earlier than we do, so that it can still say why.
pub(super) fn left_ms(deadline: Instant) -> i64 {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = left.saturating_sub((left / 10).min(Duration::from_millis(200)));
    i64::try_from(left.as_millis()).unwrap_or(i64::MAX).clamp(1, 1_000_000_000)
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
                Err(Failed::Step(error)) => {
                    self.roll_back(deadline);
                    return Err(error);
                }
                Err(Failed::Before(fault)) => fault,
            };
            self.roll_back(deadline);
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

    /// Lets go of the lock, for others to have it at once.
    fn roll_back(&mut self, deadline: Instant) {
        if self.server.is_connected() {
            let undone =
                self.server.ask(deadline, async |client| client.batch_execute("ROLLBACK").await);
            if undone.is_err() {
                self.server.disconnect();
            }
        }
    }

    fn try_to_change(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        step: &mut Step<'_>,
        deadline: Instant,
    ) -> Result<(), Failed> {
        let page = self.begin(wanted, durability, deadline)?;
        let mut fault = None;
        let mut draw = |now: &Now| {
            self.draw_fence(now, deadline).map_err(|why| {
                let error = self.server.told(&Fault::Late);
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
            self.roll_back(deadline);
            return Ok(());
        }
        let last_part = match &changes.output {
            Some((fence, frames)) => self.keep_output(*fence, frames, deadline)?,
            None => None,
        };
        let mut statements = self.statements(wanted.subject, &page, &changes);
        statements.extend(last_part);
        self.commit(&statements, deadline)
    }

    /// Begins, takes the locks and reads, all sent at once.
    fn begin(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        deadline: Instant,
    ) -> Result<Page, Fault> {
        let schema = self.server.address.schema.clone();
        let name = self.server.address.schema_name.as_str();
        let parent = wanted.parent.map(|parent| {
            let number = LockNumber::of_chain(name, &parent.subject).0;
            format!("SELECT pg_advisory_xact_lock_shared({number});")
        });
        let left = left_ms(deadline);
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
        let found = self.server.ask(deadline, async |client| {
            let locked: Answer<'_> = Box::pin(async {
                client.batch_execute(&begin).await?;
                Ok(Vec::new())
            });
            let read: Answer<'_> = Box::pin(rows(client, &question.text, &question.values));
            let mut answers = in_order(vec![locked, read]).await;
            let read = answers.pop().unwrap_or_else(|| Ok(Vec::new()));
            answers.into_iter().collect::<Result<Vec<_>, _>>().and(read)
        })?;
        if let Some(page) = question.page(&found)? {
            return Ok(page);
        }
        let question = question.in_full();
        let ask = async |client: &Client| rows(client, &question.text, &question.values).await;
        let found = self.server.ask(deadline, ask)?;
        question.page(&found)?.ok_or_else(|| Fault::Unreadable("answer".to_owned()))
    }

    fn draw_fence(&mut self, now: &Now, deadline: Instant) -> Result<Fence, Fault> {
        let statement = format!(
            "UPDATE {}.fence SET fence = greatest(fence + 1, $1) RETURNING fence",
            self.server.address.schema
        );
        let wall = [int8(now.wall.0)];
        let ask = async |client: &Client| rows(client, &statement, &wall).await;
        let found = self.server.ask(deadline, ask)?;
        let row = found.first().ok_or_else(|| Fault::Unreadable("fence".to_owned()))?;
        Ok(Fence(Reader::at(row, 0).next()?))
    }

    /// All that is to be written, the notice to waiters included.
    fn statements(&self, subject: &Subject, page: &Page, changes: &Changes) -> Vec<Statement> {
        let schema = &self.server.address.schema;
        let mut statements = Vec::new();
        if !changes.removed.is_empty() {
            let gone = "SELECT 1 / (count(*) = cardinality($1))::int FROM gone";
            let chain = vec![
                fences(&changes.removed),
                text(subject.kind.as_str()),
                text(subject.namespace.as_str()),
                text(subject.key.as_str()),
            ];
            statements.push((
                format!(
                    "WITH gone AS (DELETE FROM {schema}.attempt WHERE fence = ANY ($1)
                        AND kind = $2 AND namespace = $3 AND key = $4 RETURNING 1) {gone}"
                ),
                chain,
            ));
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
            statements.push((self.statements.change.clone(), values));
        }
        if let Some(attempt) = &changes.added {
            statements.push((self.statements.add.clone(), columns::values(subject, attempt)));
        }
        if changes.matter_to_waiters(page) {
            let chain = LockNumber::of_chain(&self.server.address.schema_name, subject);
            let told = vec![text(&*self.server.address.schema_name), text(&*chain.to_hex())];
            statements.push(("SELECT pg_notify($1, $2)".to_owned(), told));
        }
        statements
    }

    /// Sends all statements and the commit at once. One that fails makes those after it
    /// fail, and the commit with them.
    fn commit(&mut self, statements: &[Statement], deadline: Instant) -> Result<(), Failed> {
        let answers = self.server.ask(deadline, async |client| {
            let mut sent: Vec<Answer<'_>> = Vec::new();
            for (statement, values) in statements {
                sent.push(Box::pin(rows(client, statement, values)));
            }
            sent.push(Box::pin(async {
                // A limit that struck while a standby is waited for would end the wait, and
                // not the commit.
                client.batch_execute("SET LOCAL statement_timeout = 0; COMMIT").await?;
                Ok(Vec::new())
            }));
            Ok(in_order(sent).await)
        });
        let Some(fault) =
            answers.map_err(Failed::Unknown)?.into_iter().find_map(Result::err).map(Fault::Told)
        else {
            return Ok(());
        };
        Err(if fault.ends_connection() {
            self.server.disconnect();
            Failed::Unknown(fault)
        } else {
            Failed::Before(fault)
        })
    }

    /// Keeps output, part by part, so that little of it is in memory at once. What keeps the
    /// last part is for the commit to send along: most outputs have no other.
    fn keep_output(
        &mut self,
        fence: Fence,
        frames: &Frames,
        deadline: Instant,
    ) -> Result<Option<Statement>, Fault> {
        let schema = &self.server.address.schema;
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
                self.server.ask(deadline, async |client| rows(client, &add, &values).await)?;
            }
        }
        Ok(last)
    }
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<tokio_postgres::Row>, Error>> + 'a>>;

/// Sends questions one after the other, without waiting for an answer in between.
async fn in_order(mut questions: Vec<Answer<'_>>) -> Vec<Result<Vec<tokio_postgres::Row>, Error>> {
    let mut answers: Vec<_> = questions.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut waiting = false;
        for (question, answer) in questions.iter_mut().zip(&mut answers) {
            if answer.is_none() {
                match question.as_mut().poll(context) {
                    Poll::Ready(told) => *answer = Some(told),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    answers.into_iter().flatten().collect()
}
