//! What only a look at every row tells: one window of rows after the other, so that no
//! statement takes longer than a call may, however large the store is.

use std::time::Duration;

use tokio_postgres::Row;

use super::PostgresShelf;
use super::failure::Fault;
use super::reading::columns;
use super::rows::{Reader, Value, attempt, int8, text};
use super::transaction::rows_in_time;
use crate::claim::fence::Fence;
use crate::claim::key::{Namespace, Subject};
use crate::claim::time::WallMs;
use crate::store::unreadable::Unreadable;

/// So many rows are looked at by one statement.
const WINDOW: usize = 5000;

/// So many are fetched as a whole.
const FETCHED: usize = 500;

/// The rows of a window are found by their fences. A server that has not counted its rows
/// yet may think it faster to sort all of them for each.
const BY_FENCE: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off";

impl PostgresShelf {
    /// Asks of the window after a fence, which is `seen` in the question and `$1` before it.
    fn look_through(
        &mut self,
        after: Fence,
        question: &str,
        mut values: Vec<Value>,
    ) -> Result<Vec<Row>, Fault> {
        let schema = &self.server.address.schema;
        let statement = format!(
            "WITH seen AS MATERIALIZED (SELECT fence, kind, namespace, key, state, lease_ms, ended_ms
                FROM {schema}.attempt WHERE fence > $1 ORDER BY fence LIMIT {WINDOW}) {question}"
        );
        values.insert(0, int8(after.0));
        rows_in_time(&mut self.server, BY_FENCE, &statement, &values)
    }

    /// The next attempts after a fence that ended before a horizon, at most so many.
    pub(super) fn ended(
        &mut self,
        (horizon, mut after): (WallMs, Fence),
        namespace: Option<&Namespace>,
        at_most: usize,
    ) -> Result<Vec<(Fence, Subject)>, Fault> {
        let question = "SELECT (SELECT max(fence) FROM seen), found.*
            FROM (SELECT 1) AS one LEFT JOIN (
                SELECT fence, kind, namespace, key FROM seen
                WHERE kind = 'once' AND ended_ms < $2 AND ($3::text IS NULL OR namespace = $3)
                ORDER BY fence LIMIT $4) AS found ON true";
        let mut ended = Vec::new();
        while ended.len() < at_most {
            let left = i64::try_from(at_most - ended.len()).unwrap_or(i64::MAX);
            let values = vec![int8(horizon.0), text(namespace.map(Namespace::as_str)), int8(left)];
            let mut last = None;
            for row in self.look_through(after, question, values)? {
                let mut from = Reader::at(&row, 0);
                last = from.next::<Option<i64>>()?;
                // Whatever cannot be named stays.
                if let Some(fence) = from.next::<Option<i64>>()?
                    && let Ok(subject) = from.subject()
                {
                    ended.push((Fence(fence), subject));
                }
            }
            let Some(last) = last else { break };
            after = Fence(last);
        }
        Ok(ended)
    }

    /// Looks at every row for those that cannot be read.
    pub(super) fn look_for_unreadable(&mut self) -> Result<Unreadable, Fault> {
        let (columns, schema) = (columns(), &self.server.address.schema);
        let statement = format!(
            "SELECT {columns} FROM {schema}.attempt WHERE fence > $1 ORDER BY fence LIMIT {FETCHED}"
        );
        let (mut after, mut unreadable) = (i64::MIN, Unreadable::default());
        loop {
            let rows = rows_in_time(&mut self.server, BY_FENCE, &statement, &[int8(after)])?;
            let Some(last) = rows.last() else { return Ok(unreadable) };
            after = Reader::at(last, 0).next()?;
            rows.iter()
                .filter_map(|row| attempt(row, 0).err())
                .for_each(|row| unreadable.note(row));
        }
    }

    /// The longest lease that can still matter.
    pub(super) fn longest(&mut self) -> Result<Duration, Fault> {
        let question = "SELECT max(fence), max(lease_ms) FILTER (WHERE kind <> 'lease'
            OR state = 'running') FROM seen";
        let (mut after, mut longest) = (Fence(0), 0);
        loop {
            let rows = self.look_through(after, question, Vec::new())?;
            let row = rows.first().ok_or_else(|| Fault::Unreadable("answer".to_owned()))?;
            let mut from = Reader::at(row, 0);
            let (last, lease) = (from.next::<Option<i64>>()?, from.next::<Option<i64>>()?);
            longest = longest.max(lease.unwrap_or(0));
            let Some(last) = last else { break };
            after = Fence(last);
        }
        Ok(Duration::from_millis(longest.unsigned_abs()))
    }
}
