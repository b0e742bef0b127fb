//! The steps of operations, when attempts are removed: they go with the last of their
//! operation, under the same lock.

use rusqlite::{Connection, Params, params};

use crate::claim::id::OperationId;
use crate::claim::key::Subject;

/// An attempt that was removed, as far as its steps are concerned.
pub(super) struct Removed {
    namespace: String,
    key: String,
    operation: [u8; 16],
}

/// Whether there are any in the whole store.
pub(super) fn has_steps(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM attempt WHERE kind = 'step')")?
        .query_row([], |row| row.get(0))
}

/// The attempts that a step of the store removes, where that may matter to steps.
pub(super) enum Steps {
    /// There are none in the whole store.
    None,
    /// There are some, and so much was removed.
    Some(Vec<Removed>),
}

impl Steps {
    /// Looks whether there are any.
    pub(super) fn look(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(if has_steps(connection)? { Self::Some(Vec::new()) } else { Self::None })
    }

    /// Removes attempts; says how many.
    pub(super) fn removed_by(
        &mut self,
        connection: &Connection,
        removal: &str,
        values: impl Params,
    ) -> rusqlite::Result<u64> {
        let Self::Some(all) = self else {
            return Ok(connection.prepare_cached(removal)?.execute(values)? as u64);
        };
        let before = all.len();
        let mut statement =
            connection.prepare_cached(&format!("{removal} RETURNING namespace, key, operation"))?;
        let removed = statement.query_map(values, |row| {
            Ok(Removed { namespace: row.get(0)?, key: row.get(1)?, operation: row.get(2)? })
        })?;
        for attempt in removed {
            all.push(attempt?);
        }
        Ok((all.len() - before) as u64)
    }

    /// Removes the steps of those of whose operation nothing is left.
    pub(super) fn remove(self, connection: &Connection) -> rusqlite::Result<()> {
        let Self::Some(all) = self else { return Ok(()) };
        for Removed { namespace, key, operation } in all {
            let is_left: bool = connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM attempt WHERE kind = 'once'
                        AND namespace = ? AND key = ? AND operation = ?)",
                )?
                .query_row(params![namespace, key, operation], |row| row.get(0))?;
            if is_left {
                continue;
            }
            let steps = Subject::steps_of(OperationId(operation));
            connection
                .prepare_cached(
                    "DELETE FROM output WHERE fence IN
                        (SELECT fence FROM attempt WHERE kind = 'step' AND namespace = ?)",
                )?
                .execute([steps.as_str()])?;
            connection
                .prepare_cached("DELETE FROM attempt WHERE kind = 'step' AND namespace = ?")?
                .execute([steps.as_str()])?;
        }
        Ok(())
    }
}
