//! Removing finished keys, in batches that nobody has to wait for.

use rusqlite::{Connection, Row, named_params};

use super::SqliteStore;
use super::steps::Sync;
use crate::claim::duration::to_ms;
use crate::claim::key::Namespace;
use crate::claim::time::Now;
use crate::store::{Promised, StoreError, Sweep, SweepMode, Swept};

/// Keys removed under one lock.
const BATCH: i64 = 500;

/// Pages given back to the file system after each batch.
const PAGES: i64 = 2000;

/// Whether two rows belong to one key.
fn same_key(one: &str, other: &str) -> String {
    format!(
        "{one}.kind = {other}.kind AND {one}.namespace = {other}.namespace AND {one}.key = {other}.key"
    )
}

/// Whether a later attempt took the place of a record: any ordinary one did,
/// and a `--rerun` by succeeding.
pub(super) fn replaced_by(later: &str, record: &str) -> String {
    format!(
        "{} AND {later}.generation > {record}.generation AND ({later}.rerun = 0 OR {later}.state = 'done')",
        same_key(later, record)
    )
}

/// Whether a row is the newest of a finished key that goes whole. A key is
/// spared while processes of it may be about that nobody has looked for, and
/// while a promised record of it is in force: under a rerun that failed
/// lies one.
fn goes_whole() -> String {
    format!(
        "newest.kind = 'once' AND newest.state IN ('done', 'failed', 'forgotten')
        AND newest.ended_ms < :horizon
        AND NOT EXISTS (SELECT 1 FROM attempt AS later
            WHERE {later} AND later.generation > newest.generation)
        AND NOT EXISTS (SELECT 1 FROM attempt AS unlooked
            WHERE {unlooked} AND unlooked.emptied = 0
            AND unlooked.state IN ('interrupted', 'forgotten'))
        AND (:promised OR NOT EXISTS (SELECT 1 FROM attempt AS record
            WHERE {record} AND record.state = 'done' AND record.promised = 1
            AND (record.expires_ms IS NULL OR record.expires_ms > :now)
            AND NOT EXISTS (SELECT 1 FROM attempt AS later WHERE {replaced})))",
        later = same_key("later", "newest"),
        record = same_key("record", "newest"),
        unlooked = same_key("unlooked", "newest"),
        replaced = replaced_by("later", "record"),
    )
}

/// The newest attempts of keys that go whole, oldest first.
fn whole_keys() -> String {
    format!(
        "SELECT newest.fence, newest.kind, newest.namespace, newest.key FROM attempt AS newest
        WHERE {} AND (:namespace IS NULL OR newest.namespace = :namespace)
        AND newest.fence > :after ORDER BY newest.fence LIMIT :limit",
        goes_whole()
    )
}

/// Ended attempts of other keys that a later one of another operation has
/// replaced: a hot key would otherwise keep every output. Processes that nobody
/// has looked for are not let go of, and neither are reruns that came to
/// nothing while they are the newest.
fn replaced_attempts_sql() -> String {
    format!(
        "SELECT old.fence FROM attempt AS old
        WHERE old.kind = 'once' AND old.state IN ('done', 'failed', 'interrupted', 'forgotten')
        AND old.ended_ms < :horizon AND (:namespace IS NULL OR old.namespace = :namespace)
        AND (old.emptied = 1 OR old.state IN ('done', 'failed'))
        AND EXISTS (SELECT 1 FROM attempt AS later
            WHERE {later} AND later.generation > old.generation
            AND later.operation <> old.operation
            AND (later.rerun = 0 OR later.state = 'done'
                OR (old.rerun = 1 AND old.state <> 'done')))
        AND NOT EXISTS (SELECT 1 FROM attempt AS newest WHERE {newest} AND {whole})
        AND old.fence > :after ORDER BY old.fence LIMIT :limit",
        later = same_key("later", "old"),
        newest = same_key("newest", "old"),
        whole = goes_whole(),
    )
}

/// A finished key: its newest attempt's fence and its chain's name.
type Finished = (i64, String, String, String);

/// One batch: what went, and the fence to go on after.
type Batch = (Swept, Option<i64>);

impl SqliteStore {
    pub(super) fn sweep_in_batches(&mut self, sweep: &Sweep) -> Result<Swept, StoreError> {
        let keys = self.sweep_all(sweep, finished_keys)?;
        let replaced = self.sweep_all(sweep, replaced_attempts)?;
        if sweep.mode == SweepMode::Remove {
            // What is removed must not come back after power loss without its file.
            let limit = self.patience.limit;
            self.write(Sync::Full, limit, |step, _| {
                step.execute("UPDATE store SET fence = fence + 1", [])?;
                Ok(())
            })?;
            self.remove_stray_spools()?;
        }
        Ok(Swept { keys: keys.keys, attempts: keys.attempts + replaced.attempts })
    }

    fn sweep_all(
        &mut self,
        sweep: &Sweep,
        batch: fn(&Connection, &Sweep, &Now, i64) -> rusqlite::Result<Batch>,
    ) -> Result<Swept, StoreError> {
        let mut total = Swept::default();
        let mut after = 0;
        let limit = self.patience.limit;
        loop {
            let (swept, last) = match sweep.mode {
                SweepMode::Count => {
                    let now = self.clock.now();
                    self.read(|connection| batch(connection, sweep, &now, after))?
                }
                SweepMode::Remove => self
                    .write(Sync::Normal, limit, |step, now| Ok(batch(step, sweep, now, after)?))?,
            };
            total.keys += swept.keys;
            total.attempts += swept.attempts;
            let Some(last) = last else { return Ok(total) };
            after = last;
            if sweep.mode == SweepMode::Remove {
                self.give_back()?;
                self.shorten_log();
            }
        }
    }

    /// Gives free pages back to the file system, a bounded number at a time:
    /// each is a write of its own, and others get their turn in between.
    fn give_back(&mut self) -> Result<(), StoreError> {
        loop {
            let freed = self.read(|connection| {
                let mut vacuum =
                    connection.prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
                // Every step moves one page.
                let mut rows = vacuum.query([])?;
                let mut freed = 0;
                while rows.next()?.is_some() {
                    freed += 1;
                }
                Ok(freed)
            })?;
            if freed < PAGES {
                return Ok(());
            }
        }
    }
}

/// One batch of finished keys.
fn finished_keys(
    connection: &Connection,
    sweep: &Sweep,
    now: &Now,
    after: i64,
) -> rusqlite::Result<Batch> {
    let keys: Vec<Finished> = batch_of(connection, &whole_keys(), (sweep, now, after), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    let mut attempts = 0;
    for key in &keys {
        attempts += match sweep.mode {
            SweepMode::Count => chain_length(connection, key)?,
            SweepMode::Remove => remove_chain(connection, key)?,
        };
    }
    Ok((Swept { keys: keys.len() as u64, attempts }, keys.last().map(|key| key.0)))
}

/// One batch of attempts that later ones have replaced.
fn replaced_attempts(
    connection: &Connection,
    sweep: &Sweep,
    now: &Now,
    after: i64,
) -> rusqlite::Result<Batch> {
    let fences: Vec<i64> =
        batch_of(connection, &replaced_attempts_sql(), (sweep, now, after), |row| row.get(0))?;
    if sweep.mode == SweepMode::Remove {
        for fence in &fences {
            connection.prepare_cached("DELETE FROM output WHERE fence = ?")?.execute([fence])?;
            connection.prepare_cached("DELETE FROM attempt WHERE fence = ?")?.execute([fence])?;
        }
    }
    Ok((Swept { keys: 0, attempts: fences.len() as u64 }, fences.last().copied()))
}

/// The rows of one batch of a query for what may go.
fn batch_of<T>(
    connection: &Connection,
    query: &str,
    (sweep, now, after): (&Sweep, &Now, i64),
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare_cached(query)?;
    let found = statement.query_map(
        named_params! {
            ":horizon": now.wall.0.saturating_sub(to_ms(sweep.older_than)),
            ":namespace": sweep.namespace.as_ref().map(Namespace::as_str),
            ":after": after,
            ":promised": sweep.promised == Promised::Included,
            ":now": now.wall.0,
            ":limit": BATCH,
        },
        read,
    )?;
    found.collect()
}

fn chain_length(connection: &Connection, key: &Finished) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*) FROM attempt WHERE kind = ? AND namespace = ? AND key = ?",
    )?;
    let count: i64 = statement.query_row((&key.1, &key.2, &key.3), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// Removes a key's attempts and outputs; the caller has tested it under the
/// same lock.
fn remove_chain(connection: &Connection, key: &Finished) -> rusqlite::Result<u64> {
    let chain = (&key.1, &key.2, &key.3);
    connection
        .prepare_cached(
            "DELETE FROM output WHERE fence IN
                (SELECT fence FROM attempt WHERE kind = ? AND namespace = ? AND key = ?)",
        )?
        .execute(chain)?;
    let rows = connection
        .prepare_cached("DELETE FROM attempt WHERE kind = ? AND namespace = ? AND key = ?")?
        .execute(chain)?;
    Ok(rows as u64)
}
