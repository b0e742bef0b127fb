//! Reading chains, without a lock.

use tokio_postgres::Row;

use super::PostgresShelf;
use super::failure::Fault;
use super::rows::{COLUMNS, Reader, Value, attempt, bytea, int8, text};
use super::schema::{CLOCK, UNSETTLED};
use crate::claim::attempt::Attempt;
use crate::claim::fence::Fence;
use crate::claim::id::Token;
use crate::claim::key::{Kind, Subject};
use crate::store::row;
use crate::store::shelf::{Depth, Page, Parent, Wanted, time_of_server};
use crate::store::unreadable::Found;

/// So many of the newest attempts of a key are nearly always all that decides.
const NEWEST: usize = 8;

/// How much of a chain a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The newest, which are enough nearly always.
    Newest,
    /// What decides, however old it is: the server has to look at all of them.
    Decisive,
    /// All.
    Whole,
}

/// What is asked about a chain: one statement, so that the answer is of one moment.
pub(super) struct Question<'a> {
    pub(super) text: String,
    pub(super) values: Vec<Value>,
    schema: &'a str,
    wanted: Wanted<'a>,
    reach: Reach,
}

/// The rows of a chain.
const CHAIN: &str = "kind = $1 AND namespace = $2 AND key = $3";

pub(super) fn chain_values(subject: &Subject) -> Vec<Value> {
    let (namespace, key) = (subject.namespace.as_str(), subject.key.as_str());
    vec![text(subject.kind.as_str()), text(namespace), text(key)]
}

impl<'a> Question<'a> {
    pub(super) fn about(schema: &'a str, wanted: Wanted<'a>) -> Self {
        let reach = match (wanted.depth, wanted.subject.kind) {
            (Depth::Whole, _) | (_, Kind::Lease) => Reach::Whole,
            (Depth::Decision, Kind::Once | Kind::Step) => Reach::Newest,
        };
        Self { text: String::new(), values: Vec::new(), schema, wanted, reach }.spelled()
    }

    /// The same, with an answer that is enough in any case.
    pub(super) fn in_full(self) -> Self {
        Self { reach: Reach::Decisive, ..self }.spelled()
    }

    fn spelled(self) -> Self {
        let schema = self.schema;
        let mut values = chain_values(self.wanted.subject);
        let holds = match self.wanted.parent {
            None => "true".to_owned(),
            Some(parent) => {
                values.push(int8(parent.fence.0));
                values.push(bytea(&parent.token.0));
                format!(
                    "EXISTS (SELECT 1 FROM {schema}.attempt WHERE fence = $4 AND token = $5 AND state = 'running')"
                )
            }
        };
        let newest = |condition: &str| {
            format!("(SELECT max(generation) FROM {schema}.attempt WHERE {CHAIN}{condition})")
        };
        let (more, limit) = match self.reach {
            Reach::Whole => (String::new(), String::new()),
            Reach::Newest => (String::new(), format!("LIMIT {NEWEST}")),
            Reach::Decisive => {
                let kept =
                    newest(" AND NOT (rerun AND state IN ('running', 'failed', 'interrupted'))");
                let own = self.wanted.own.map_or(0, |own| own.0);
                let newest = newest("");
                let more = format!(
                    " AND (generation >= least({newest} - 2, coalesce({kept}, 0))
                        OR {UNSETTLED} OR fence = {own})"
                );
                (more, String::new())
            }
        };
        let columns = columns();
        let text = format!(
            "SELECT {CLOCK}, {holds},
                (SELECT min(generation) FROM {schema}.attempt WHERE {CHAIN} AND {UNSETTLED}),
                found.*
            FROM (SELECT 1) AS one LEFT JOIN (
                SELECT {columns} FROM {schema}.attempt WHERE {CHAIN}{more}
                ORDER BY generation DESC {limit}) AS found ON true"
        );
        Self { text, values, ..self }
    }

    /// The answer, unless more is needed for it.
    pub(super) fn page(&self, rows: &[Row]) -> Result<Option<Page>, Fault> {
        let mut attempts = Vec::with_capacity(rows.len());
        let mut unreadable = Vec::new();
        let mut told = None;
        for row in rows {
            let mut from = Reader::at(row, 0);
            told = Some((from.next()?, from.next()?, from.next()?));
            if row.try_get::<_, Option<i64>>(3)?.is_some() {
                match attempt(row, 3) {
                    Ok((_, attempt)) => attempts.push(attempt),
                    Err(row) => unreadable.push(row),
                }
            }
        }
        let told: Option<(i64, bool, Option<i64>)> = told;
        let (ms, holds, unsettled) = told.ok_or_else(|| Fault::Unreadable("answer".to_owned()))?;
        if self.reach == Reach::Newest && rows.len() == NEWEST && unreadable.is_empty() {
            let oldest = attempts.last().map_or(0, |attempt| attempt.generation);
            let decides = !attempts.iter().all(row::may_be_passed_over);
            let has_own = self.wanted.own.is_none_or(|own| attempts.iter().any(|a| a.fence == own));
            if !decides || !has_own || unsettled.is_some_and(|oldest_open| oldest_open < oldest) {
                return Ok(None);
            }
        }
        attempts.reverse();
        let parent = if holds { Parent::Holds } else { Parent::Lost };
        Ok(Some(Page { now: time_of_server(ms), attempts, unreadable, parent }))
    }
}

/// Every column of an attempt.
pub(super) fn columns() -> String {
    COLUMNS.join(", ")
}

impl PostgresShelf {
    pub(super) fn read_page(&mut self, wanted: Wanted<'_>) -> Result<Page, Fault> {
        let deadline = self.server.deadline();
        let schema = self.server.address.schema.clone();
        let mut question = Question::about(&schema, wanted);
        loop {
            let found = self.server.rows(deadline, &question.text, &question.values)?;
            match question.page(&found)? {
                Some(page) => return Ok(page),
                None => question = question.in_full(),
            }
        }
    }

    /// One attempt of those that a condition finds.
    pub(super) fn read_one(
        &mut self,
        condition: &str,
        values: &[Value],
    ) -> Result<Option<(Subject, Attempt)>, Fault> {
        Ok(self.read_all(&format!("{condition} LIMIT 1"), values)?.pop())
    }

    /// The attempts that a condition finds, if all of them can be read.
    pub(super) fn read_all(
        &mut self,
        condition: &str,
        values: &[Value],
    ) -> Result<Vec<(Subject, Attempt)>, Fault> {
        let found = self.read_each(condition, values)?.into_iter().collect::<Result<_, _>>();
        found.map_err(|row| Fault::Said(row.error(&self.server.address.option)))
    }

    /// What a condition finds, each by itself.
    pub(super) fn read_each(
        &mut self,
        condition: &str,
        values: &[Value],
    ) -> Result<Vec<Found>, Fault> {
        let deadline = self.server.deadline();
        let (columns, schema) = (columns(), &self.server.address.schema);
        let text = format!("SELECT {columns} FROM {schema}.attempt WHERE {condition}");
        let rows = self.server.rows(deadline, &text, values)?;
        Ok(rows.iter().map(|row| attempt(row, 0)).collect())
    }

    pub(super) fn find_by_token(
        &mut self,
        token: Token,
        fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, Fault> {
        if let Some(fence) = fence {
            let values = [int8(fence.0), bytea(&token.0)];
            let found = self.read_one("fence = $1 AND token = $2", &values)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        self.read_one("token = $1 ORDER BY fence DESC", &[bytea(&token.0)])
    }

    /// One number that a statement comes to.
    pub(super) fn number(&mut self, statement: &str, values: &[Value]) -> Result<i64, Fault> {
        let deadline = self.server.deadline();
        let rows = self.server.rows(deadline, statement, values)?;
        let number = rows.first().map(|row| Reader::at(row, 0).next::<Option<i64>>());
        Ok(number.transpose()?.flatten().unwrap_or(0))
    }
}
