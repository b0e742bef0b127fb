//! Transactions: all that is asked in one is asked on the connection that it was begun on.
//!
//! A connection that breaks is made anew for whoever asks next. What goes on in the middle
//! of a transaction must not be asked there: it would be done statement by statement, and
//! without the lock, which others have by then. So a transaction has the server to itself
//! while it is open, and asks on no connection but its own. One that is let go of before it
//! was committed is undone, so that others have its locks at once.

use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio_postgres::{Client, Error, Row};

use super::connecting::{Server, rows};
use super::failure::Fault;
use super::rows::Value;

/// A statement and its values.
pub(super) type Statement = (String, Vec<Value>);

/// What became of a transaction whose commit failed.
pub(super) enum Uncommitted {
    /// Nothing of it was written.
    Undone(Fault),
    /// It may have been written.
    Unknown(Fault),
}

impl From<Uncommitted> for Fault {
    fn from(uncommitted: Uncommitted) -> Self {
        match uncommitted {
            Uncommitted::Undone(fault) | Uncommitted::Unknown(fault) => fault,
        }
    }
}

/// What is left to be done about a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has to be undone, unless it is committed.
    Open,
    /// Nothing.
    Over,
}

/// A transaction on one connection.
pub(super) struct Transaction<'a> {
    server: &'a mut Server,
    deadline: Instant,
    state: State,
}

impl<'a> Transaction<'a> {
    /// One that has still to be begun, on the connection that there is or on a new one.
    pub(super) fn open(server: &'a mut Server, deadline: Instant) -> Result<Self, Fault> {
        server.connect(deadline)?;
        Ok(Self { server, deadline, state: State::Open })
    }

    /// One that these statements begin.
    pub(super) fn begin(
        server: &'a mut Server,
        deadline: Instant,
        statements: &str,
    ) -> Result<Self, Fault> {
        let mut transaction = Self::open(server, deadline)?;
        transaction.run(statements)?;
        Ok(transaction)
    }

    /// Begins, and asks the first question without waiting in between.
    pub(super) fn begin_with(
        &mut self,
        statements: &str,
        question: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, Fault> {
        self.server.ask_here(self.deadline, async |client| {
            let begun: Answer<'_> = Box::pin(run(client, statements));
            let asked: Answer<'_> = Box::pin(rows(client, question, values));
            let mut answers = in_order(vec![begun, asked]).await;
            let asked = answers.pop().unwrap_or_else(|| Ok(Vec::new()));
            answers.into_iter().collect::<Result<Vec<_>, _>>().and(asked)
        })
    }

    /// The server that it is on.
    pub(super) fn server(&self) -> &Server {
        self.server
    }

    /// When it has to be over, or the part of it that is under way.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// What comes next has all the time that a call has: an output is as long as it is.
    pub(super) fn take_time(&mut self) {
        self.deadline = self.server.deadline();
    }

    /// Runs statements that have no values.
    pub(super) fn run(&mut self, statements: &str) -> Result<(), Fault> {
        let run = async |client: &Client| client.batch_execute(statements).await;
        self.server.ask_here(self.deadline, run)
    }

    /// Asks for rows.
    pub(super) fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>, Fault> {
        let ask = async |client: &Client| rows(client, statement, values).await;
        self.server.ask_here(self.deadline, ask)
    }

    /// Sends statements and the commit at once. One that fails makes those after it fail,
    /// and the commit with them.
    pub(super) fn commit(mut self, statements: &[Statement]) -> Result<(), Uncommitted> {
        if !self.server.is_connected() {
            return Err(Uncommitted::Undone(Fault::Broken));
        }
        let answers = self.server.ask_here(self.deadline, async |client| {
            let mut sent: Vec<Answer<'_>> = Vec::new();
            for (statement, values) in statements {
                sent.push(Box::pin(rows(client, statement, values)));
            }
            // A limit that struck while a standby is waited for would end the wait, and not
            // the commit.
            sent.push(Box::pin(run(client, "SET LOCAL statement_timeout = 0; COMMIT")));
            Ok(in_order(sent).await)
        });
        let fault = match answers {
            Err(fault) => return Err(Uncommitted::Unknown(fault)),
            Ok(answers) => answers.into_iter().find_map(Result::err).map(Fault::Told),
        };
        match fault {
            None => {
                self.state = State::Over;
                Ok(())
            }
            Some(fault) if fault.ends_connection() => {
                self.server.disconnect();
                Err(Uncommitted::Unknown(fault))
            }
            Some(fault) => Err(Uncommitted::Undone(fault)),
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.state == State::Open && self.server.is_connected() && self.run("ROLLBACK").is_err()
        {
            // The server undoes what was begun on a connection that goes.
            self.server.disconnect();
        }
    }
}

/// Asks for rows that it may take long to find. When a call may last no longer, the server
/// gives it up too: it would go on for nobody. `settings` are for this question alone.
pub(super) fn rows_in_time(
    server: &mut Server,
    settings: &str,
    statement: &str,
    values: &[Value],
) -> Result<Vec<Row>, Fault> {
    let deadline = server.deadline();
    let was_connected = server.is_connected();
    let mut ask = || {
        let mut transaction = Transaction::open(&mut *server, deadline)?;
        let limit = left_ms(deadline);
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY;
            SET LOCAL statement_timeout = {limit};{settings}"
        );
        transaction.begin_with(&begin, statement, values)
    };
    match ask() {
        Err(fault) if was_connected && fault.is_broken_connection() => ask(),
        other => other,
    }
}

/// The milliseconds until a deadline, as PostgreSQL takes a limit: 0 would be none. The
/// server gives up a little earlier than we do, so that it can still say why.
pub(super) fn left_ms(deadline: Instant) -> i64 {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = left.saturating_sub((left / 10).min(Duration::from_millis(200)));
    i64::try_from(left.as_millis()).unwrap_or(i64::MAX).clamp(1, 1_000_000_000)
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + 'a>>;

async fn run(client: &Client, statements: &str) -> Result<Vec<Row>, Error> {
    client.batch_execute(statements).await.map(|()| Vec::new())
}

/// Sends questions one after the other, without waiting for an answer in between.
async fn in_order(mut questions: Vec<Answer<'_>>) -> Vec<Result<Vec<Row>, Error>> {
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
