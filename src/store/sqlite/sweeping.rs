//! Removing finished keys, in batches that nobody has to wait for.
//!
//! What may go is looked for without a lock, and tested again under it. The lock is
//! held for a short time and left alone for long enough that everybody who waits
//! gets it. Meanwhile the log is brought into the file, so that it stays short
//! [measured: a million keys in one transaction leave a checkpoint of 485 ms].

use std::time::{Duration, Instant};

use rusqlite::{Connection, ToSql, named_params};

use super::SqliteStore;
use super::stepping::{Steps, has_steps};
use super::steps::Sync;
use super::sweepable::Taken;
use crate::claim::duration::to_ms;
use crate::claim::key::Namespace;
use crate::claim::time::Now;
use crate::store::{Promised, StoreError, Sweep, SweepMode, Swept, Unlooked};

/// How long one lock is held, as far as that can be foreseen [measured: beside a prune of
/// a million keys a fresh run took 17 ms, 44 at the 99th percentile and 65 at the most; with
/// 15 ms and a log that is cut to 1 MiB 24, 71 and 87, and the prune took as long].
pub(super) const HELD: Duration = Duration::from_millis(10);

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

/// So many rows are read under one lock at the most, whatever goes of them.
const SPAN: usize = 50_000;

/// What is being taken.
#[derive(Clone, Copy)]
struct Taking<'a> {
    sweep: &'a Sweep,
    taken: Taken,
    /// What ended before this is old, in milliseconds since 1970. It does not move on
    /// with the clock: a sweep would run after the keys that end beside it.
    horizon: i64,
}

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
        let horizon = self.clock.now().wall.0.saturating_sub(to_ms(sweep.older_than));
        let little_stays = self.little_is_younger(horizon)?;
        for taken in [Taken::Keys, Taken::Replaced] {
            let taking = Taking { sweep, taken, horizon };
            // The steps of a key go with it, and it may have many.
            let least = if self.read(has_steps)? { 1 } else { LEAST_ROWS };
            let (mut after, mut rows) = (0, ROWS.min(least * 20));
            // Nobody is kept from writing while what may go is looked for.
            while let Some(bounds) = self.read(|store| bounds(store, taking, after, rows))? {
                let (swept, took) = self.take(taking, bounds)?;
                total += swept;
                rows = fitting(rows, took, least);
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

    /// One batch, and how long everybody waited for it.
    fn take(
        &mut self,
        taking: Taking<'_>,
        bounds: Bounds,
    ) -> Result<(Swept, Duration), StoreError> {
        let limit = self.patience.limit;
        let mut began = Instant::now();
        let swept = match taking.sweep.mode {
            SweepMode::Count => {
                let now = self.clock.now();
                self.read(|connection| count(connection, (taking, &now), bounds))
            }
            SweepMode::Remove => self.write(Sync::Normal, limit, |step, now| {
                began = Instant::now();
                Ok(remove(step, (taking, now), bounds)?)
            }),
        }?;
        Ok((swept, began.elapsed()))
    }
}

/// How many rows the next batch has, after one of so many that took so long.
fn fitting(rows: i64, took: Duration, least: i64) -> i64 {
    let (held, took) = (HELD.as_micros(), took.as_micros().max(1));
    let fits = u128::from(rows.unsigned_abs()) * held / took;
    i64::try_from(fits).unwrap_or(MOST_ROWS).min(rows * 2).clamp(least, MOST_ROWS)
}

/// The next rows that look as if they may go.
fn bounds(
    connection: &Connection,
    Taking { sweep, taken, horizon }: Taking<'_>,
    after: i64,
    rows: i64,
) -> rusqlite::Result<Option<Bounds>> {
    let mut statement = connection.prepare_cached(&taken.promising())?;
    let namespace = sweep.namespace.as_ref().map(Namespace::as_str);
    let unlooked = sweep.unlooked == Unlooked::Included;
    let mut values: Vec<(&str, &dyn ToSql)> =
        vec![(":horizon", &horizon), (":after", &after), (":namespace", &namespace)];
    // Of the newest attempt of a key it says nothing.
    if taken == Taken::Replaced {
        values.push((":unlooked", &unlooked));
    }
    let mut all = statement.query(&*values)?;
    let mut found = None;
    let (mut promising, mut output, mut read) = (0, 0_i64, 0);
    while promising < rows && output <= OUTPUT && read < SPAN {
        let Some(row) = all.next()? else { break };
        if let Some(bytes) = row.get::<_, Option<i64>>(1)? {
            let fence = row.get(0)?;
            found = Some((found.map_or(fence, |(first, _)| first), fence));
            promising += 1;
            output = output.saturating_add(bytes);
        }
        // What lies before the first is not read again under the lock.
        read += usize::from(found.is_some());
    }
    Ok(found)
}

fn count(
    connection: &Connection,
    (taking, now): (Taking<'_>, &Now),
    bounds: Bounds,
) -> rusqlite::Result<Swept> {
    let (keys, attempts) = with_values((taking, now), bounds, |values| {
        connection
            .prepare_cached(&taking.taken.tally())?
            .query_row(values, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
    })?;
    Ok(Swept { keys: keys.unsigned_abs(), attempts: attempts.unsigned_abs() })
}

/// Removes what goes, with its outputs and its steps.
fn remove(
    connection: &Connection,
    (taking, now): (Taking<'_>, &Now),
    bounds: Bounds,
) -> rusqlite::Result<Swept> {
    let mut steps = Steps::look(connection)?;
    let mut swept = Swept::default();
    if taking.taken == Taken::Keys {
        for (kind, namespace, key) in with_values((taking, now), bounds, |values| {
            let mut statement = connection.prepare_cached(&Taken::several())?;
            let chains =
                statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            chains.collect::<rusqlite::Result<Vec<(String, String, String)>>>()
        })? {
            swept.keys += 1;
            swept.attempts += remove_chain(connection, (&kind, &namespace, &key), &mut steps)?;
        }
    }
    let rows = with_values((taking, now), bounds, |values| {
        steps.removed_by(connection, &taking.taken.removal(), values)
    })?;
    swept += Swept { keys: if taking.taken == Taken::Keys { rows } else { 0 }, attempts: rows };
    connection
        .prepare_cached(
            "DELETE FROM output WHERE fence BETWEEN ? AND ?
                AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.fence = output.fence)",
        )?
        .execute(bounds)?;
    steps.remove(connection)?;
    Ok(swept)
}

/// Does something with the values of a condition for what may go.
fn with_values<T>(
    (Taking { sweep, horizon, .. }, now): (Taking<'_>, &Now),
    (first, last): Bounds,
    then: impl FnOnce(&[(&str, &dyn ToSql)]) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    then(named_params! {
        ":horizon": horizon,
        ":namespace": sweep.namespace.as_ref().map(Namespace::as_str),
        ":promised": sweep.promised == Promised::Included,
        ":unlooked": sweep.unlooked == Unlooked::Included,
        ":now": now.wall.0,
        ":boot": now.boot.0,
        ":boot_id": &*now.boot_id.0,
        ":first": first,
        ":last": last,
    })
}

/// Removes all attempts and outputs of a key.
fn remove_chain(
    connection: &Connection,
    chain: (&str, &str, &str),
    steps: &mut Steps,
) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(
            "DELETE FROM output WHERE fence IN
                (SELECT fence FROM attempt WHERE kind = ? AND namespace = ? AND key = ?)",
        )?
        .execute(chain)?;
    let removal = "DELETE FROM attempt AS row WHERE kind = ? AND namespace = ? AND key = ?";
    steps.removed_by(connection, removal, chain)
}
