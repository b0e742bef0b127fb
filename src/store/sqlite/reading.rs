//! Reading chains and outputs, without a lock.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::rows::COLUMNS;
use super::{SqliteStore, rows};
use crate::claim::attempt::Attempt;
use crate::claim::decide::{Decision, Request, decide};
use crate::claim::fence::Fence;
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Namespace, Subject};
use crate::store::{Chain, Frames, Liveness, StoreError, row, seen_without_lock};

/// What a pragma says, where it is a number.
pub(super) fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

/// How much of a chain is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// What a decision needs: to run once, down to the first attempt that is not
    /// passed over, and of a lease all that is left.
    Decision,
    /// All of it.
    Whole,
}

/// The attempts of a key, newest first.
pub(super) fn attempts(
    connection: &Connection,
    subject: &Subject,
    depth: Depth,
) -> rusqlite::Result<Vec<Attempt>> {
    // Kept: a claim asks for the same again under its lock.
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM attempt WHERE kind = ? AND namespace = ? AND key = ?
         ORDER BY generation DESC",
    ))?;
    let key = params![subject.kind.as_str(), subject.namespace.as_str(), subject.key.as_str()];
    let mut rows = statement.query(key)?;
    let mut chain = Vec::new();
    while let Some(found) = rows.next()? {
        let attempt = rows::attempt_of(subject, found)?;
        let enough = depth == Depth::Decision
            && subject.kind.runs_once()
            && !row::may_be_passed_over(&attempt);
        chain.push(attempt);
        if enough {
            break;
        }
    }
    Ok(chain)
}

/// Whether an attempt runs, and is this token's.
pub(super) fn is_running(
    connection: &Connection,
    fence: Fence,
    token: Token,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM attempt WHERE fence = ? AND token = ? AND state = 'running')",
        )?
        .query_row(params![fence.0, token.0], |row| row.get(0))
}

impl SqliteStore {
    pub(super) fn decide_unlocked(
        &self,
        request: &Request,
        liveness: &mut dyn Liveness,
    ) -> Result<Decision, StoreError> {
        let now = self.clock.now();
        if let Some(parent) = &request.parent
            && !self.read(|connection| is_running(connection, parent.fence, parent.token))?
        {
            return Ok(Decision::ParentLost);
        }
        let read = || self.read(|c| attempts(c, &request.subject, Depth::Decision));
        Ok(decide(&seen_without_lock(read()?, liveness, read)?, request, &now))
    }

    pub(super) fn read_chain(&self, subject: &Subject) -> Result<Vec<Attempt>, StoreError> {
        self.read(|connection| attempts(connection, subject, Depth::Whole))
    }

    pub(super) fn find_by_token(
        &self,
        token: Token,
        fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError> {
        // Without a fence the newest are looked at first: that of a claim that lives is
        // among them.
        let ways = [
            fence.map(|_| "fence = ?2 AND token = ?1"),
            Some("token = ?1 AND tie IS NOT NULL AND ?2 IS ?2"),
            Some("token = ?1 AND ?2 IS ?2 ORDER BY fence DESC LIMIT 1"),
        ];
        for way in ways.into_iter().flatten() {
            let found = self.read(|connection| {
                let select =
                    format!("SELECT {COLUMNS}, kind, namespace, key FROM attempt WHERE {way}");
                connection
                    .query_row(&select, params![token.0, fence.map(|fence| fence.0)], rows::named)
                    .optional()
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    pub(super) fn read_spent(&self, token: Token) -> Result<bool, StoreError> {
        self.read(|connection| {
            connection.query_row(
                "SELECT EXISTS (SELECT 1 FROM attempt INDEXED BY attempt_tied
                    WHERE token = ? AND tie IS NOT NULL AND state <> 'running')",
                [token.0],
                |row| row.get(0),
            )
        })
    }

    pub(super) fn read_output(&self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        if let Some(inside) = self.read_inside(fence)? {
            return Ok(Some(inside));
        }
        match self.read_spool(fence)? {
            Some(frames) => Ok(Some(frames)),
            // It may have been taken in meanwhile.
            None => self.read_inside(fence),
        }
    }

    /// Output that is kept in the tables.
    fn read_inside(&self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        self.read(|connection| {
            connection
                .query_row("SELECT frames FROM output WHERE fence = ?", [fence.0], |row| {
                    row.get(0).map(Frames::Bytes)
                })
                .optional()
        })
    }

    pub(super) fn read_chains(
        &self,
        namespace: Option<&Namespace>,
    ) -> Result<Vec<Chain>, StoreError> {
        self.read_chains_where("kind <> 'step' AND (?1 IS NULL OR namespace = ?1)", namespace)
    }

    pub(super) fn read_steps(&self, operation: OperationId) -> Result<Vec<Chain>, StoreError> {
        let steps = Subject::steps_of(operation);
        self.read_chains_where("kind = 'step' AND namespace = ?1", Some(&steps))
    }

    fn read_chains_where(
        &self,
        condition: &str,
        namespace: Option<&Namespace>,
    ) -> Result<Vec<Chain>, StoreError> {
        let mut chains = self.read(|connection| chains_in(connection, condition, namespace))?;
        chains.sort_by_key(|chain| std::cmp::Reverse(chain.attempts.first().map(|a| a.fence)));
        Ok(chains)
    }

    pub(super) fn read_unended(&self) -> Result<Vec<(Subject, Attempt)>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare(&format!(
                "SELECT {COLUMNS}, kind, namespace, key FROM attempt
                 WHERE state = 'running' AND kind <> 'step'
                 ORDER BY fence DESC",
            ))?;
            let running = statement.query_map([], rows::named)?;
            running.filter(|row| row.as_ref().err().and_then(rows::of_error).is_none()).collect()
        })
    }

    pub(super) fn read_longest_lease(&self) -> Result<Duration, StoreError> {
        let ms: Option<i64> = self.read(|connection| {
            connection.query_row(
                "SELECT max(lease_ms) FROM attempt WHERE kind <> 'lease' OR state = 'running'",
                [],
                |row| row.get(0),
            )
        })?;
        Ok(Duration::from_millis(ms.unwrap_or(0).unsigned_abs()))
    }
}

fn chains_in(
    connection: &Connection,
    condition: &str,
    namespace: Option<&Namespace>,
) -> rusqlite::Result<Vec<Chain>> {
    let mut statement = connection.prepare(&format!(
        "SELECT {COLUMNS}, kind, namespace, key FROM attempt WHERE {condition}
         ORDER BY kind, namespace, key, generation DESC",
    ))?;
    let mut rows = statement.query([namespace.map(Namespace::as_str)])?;
    let mut chains: Vec<Chain> = Vec::new();
    while let Some(row) = rows.next()? {
        let (subject, attempt) = rows::named(row)?;
        match chains.last_mut() {
            Some(chain) if chain.subject == subject => chain.attempts.push(attempt),
            _ => chains.push(Chain { subject, attempts: vec![attempt] }),
        }
    }
    Ok(chains)
}
