//! Removing finished keys, in batches that nobody has to wait for.
//!
//! What may go is looked for without a lock, and tested again under it. The lock is
//! held for a short time and left alone for long enough that everybody who waits
//! gets it. Meanwhile the log is brought into the file, so that it stays short
//! [measured: a million keys in one transaction leave a checkpoint of 485 ms].

use std::time::{Duration, Instant};

use rusqlite::{Connection, ToSql, named_params};

use super::SqliteStore;
use super::steps::Sync;
use super::sweepable::Taken;
use crate::claim::duration::to_ms;
use crate::claim::key::Namespace;
use crate::claim::time::Now;
use crate::store::{Promised, StoreError, Sweep, SweepMode, Swept};

/// How long one lock is held, as far as that can be foreseen.
pub(super) const HELD: Duration = Duration::from_millis(15);

/// Rows of the first batch, and of any: of the next as many as the last one lets
/// expect to take that long.
const ROWS: i64 = 1000;
const LEAST_ROWS: i64 = 50;
const MOST_ROWS: i64 = 20_000;

/// Bytes of output that one batch removes: every page of them is read.
const OUTPUT: i64 = 8 << 20;

/// How much of the file is kept in memory, in KiB: keys come in any order, and the
/// part of the index that each is in would be read again and again.
const CACHE: i64 = 64 << 10;

/// A sweep, one of the two things that it takes, and its time.
type Taking<'a> = (&'a Sweep, Taken, &'a Now);

/// The fences that a batch is about, the first and the last.
type Bounds = (i64, i64);

impl SqliteStore {
    pub(super) fn sweep_in_batches(
        &mut self,
        sweep: &Sweep,
        told: &mut dyn FnMut(Swept),
    ) -> Result<Swept, StoreError> {
        let mut total = Swept::default();
        self.read(|connection| connection.pragma_update(None, "cache_size", -CACHE))?;
        let little_stays = self.little_is_younger(sweep)?;
        for taken in [Taken::Keys, Taken::Replaced] {
            let (mut after, mut rows) = (0, ROWS);
            // Nobody is kept from writing while what may go is looked for.
            while let Some(bounds) = self.next_bounds(sweep, taken, after, rows)? {
                let began = Instant::now();
                total += self.take(sweep, taken, bounds)?;
                rows = fitting(rows, began.elapsed());
                after = bounds.1;
                told(total);
                if sweep.mode == SweepMode::Remove {
                    self.let_others_in();
                    if !little_stays {
                        self.give_back()?;
                    }
                }
            }
        }
        if sweep.mode == SweepMode::Remove {
            // What is removed must not come back after power loss without its file.
            self.sync_log()?;
            self.remove_stray_spools()?;
            self.give_back_the_rest()?;
        }
        Ok(total)
    }

    fn next_bounds(
        &self,
        sweep: &Sweep,
        taken: Taken,
        after: i64,
        rows: i64,
    ) -> Result<Option<Bounds>, StoreError> {
        let now = self.clock.now();
        self.read(|connection| bounds(connection, (sweep, taken, &now), after, rows))
    }

    /// One batch.
    fn take(&mut self, sweep: &Sweep, taken: Taken, bounds: Bounds) -> Result<Swept, StoreError> {
        let limit = self.patience.limit;
        match sweep.mode {
            SweepMode::Count => {
                let now = self.clock.now();
                self.read(|connection| count(connection, (sweep, taken, &now), bounds))
            }
            SweepMode::Remove => self.write(Sync::Normal, limit, |step, now| {
                Ok(remove(step, (sweep, taken, now), bounds)?)
            }),
        }
    }
}

/// How many rows the next batch has, after one of so many that took so long.
fn fitting(rows: i64, took: Duration) -> i64 {
    let (held, took) = (HELD.as_micros(), took.as_micros().max(1));
    let fits = u128::from(rows.unsigned_abs()) * held / took;
    i64::try_from(fits).unwrap_or(MOST_ROWS).min(rows * 2).clamp(LEAST_ROWS, MOST_ROWS)
}

/// The next rows that look as if they may go.
fn bounds(
    connection: &Connection,
    (sweep, taken, now): Taking<'_>,
    after: i64,
    rows: i64,
) -> rusqlite::Result<Option<Bounds>> {
    let mut statement = connection.prepare_cached(&taken.promising())?;
    let mut promising = statement.query(named_params! {
        ":horizon": horizon(sweep, now),
        ":namespace": sweep.namespace.as_ref().map(Namespace::as_str),
        ":after": after,
        ":limit": rows,
    })?;
    let (mut found, mut output) = (None, 0);
    while let Some(row) = promising.next()? {
        let fence = row.get(0)?;
        let first = found.map_or(fence, |(first, _)| first);
        found = Some((first, fence));
        output += row.get::<_, i64>(1)?;
        if output > OUTPUT {
            break;
        }
    }
    Ok(found)
}

fn count(connection: &Connection, taking: Taking<'_>, bounds: Bounds) -> rusqlite::Result<Swept> {
    let (keys, attempts) = with_values(taking, bounds, |values| {
        connection
            .prepare_cached(&taking.1.tally())?
            .query_row(values, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
    })?;
    Ok(Swept { keys: keys.unsigned_abs(), attempts: attempts.unsigned_abs() })
}

/// Removes what goes, with its outputs.
fn remove(connection: &Connection, taking: Taking<'_>, bounds: Bounds) -> rusqlite::Result<Swept> {
    let mut swept = Swept::default();
    if taking.1 == Taken::Keys {
        for (kind, namespace, key) in with_values(taking, bounds, |values| {
            let mut statement = connection.prepare_cached(&Taken::several())?;
            let chains =
                statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            chains.collect::<rusqlite::Result<Vec<(String, String, String)>>>()
        })? {
            swept.keys += 1;
            swept.attempts += remove_chain(connection, (&kind, &namespace, &key))?;
        }
    }
    let rows = with_values(taking, bounds, |values| {
        connection.prepare_cached(&taking.1.removal())?.execute(values)
    })? as u64;
    swept += Swept { keys: if taking.1 == Taken::Keys { rows } else { 0 }, attempts: rows };
    connection
        .prepare_cached(
            "DELETE FROM output WHERE fence BETWEEN ? AND ?
                AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.fence = output.fence)",
        )?
        .execute(bounds)?;
    Ok(swept)
}

/// Does something with the values of a condition for what may go.
fn with_values<T>(
    (sweep, _, now): Taking<'_>,
    (first, last): Bounds,
    then: impl FnOnce(&[(&str, &dyn ToSql)]) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    then(named_params! {
        ":horizon": horizon(sweep, now),
        ":namespace": sweep.namespace.as_ref().map(Namespace::as_str),
        ":promised": sweep.promised == Promised::Included,
        ":now": now.wall.0,
        ":first": first,
        ":last": last,
    })
}

fn horizon(sweep: &Sweep, now: &Now) -> i64 {
    now.wall.0.saturating_sub(to_ms(sweep.older_than))
}

/// Removes all attempts and outputs of a key.
fn remove_chain(connection: &Connection, chain: (&str, &str, &str)) -> rusqlite::Result<u64> {
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
