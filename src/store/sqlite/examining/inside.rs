//! Says what is wrong inside a store.
//!
//! Every check stands alone: what a damaged file hides from one is no reason to
//! leave out the others.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use rusqlite::Connection;

use super::super::open::{is_foreign, version};
use super::super::place::{beside, typed};
use super::super::reading::pragma;
use super::super::schema::{APPLICATION_ID, NEWEST};
use super::super::sweepable::replaced_by;
use super::super::{SqliteStore, failure, rows, spool};
use crate::claim::duration;
use crate::claim::fence::Fence;
use crate::claim::id::Token;
use crate::claim::size;
use crate::claim::time::WallMs;
use crate::store::unreadable::{Unreadable, UnreadableRow};
use crate::store::{Finding, StoreError, Trouble};
use crate::text::quote;

/// A log of ordinary work has some 200 frames, of 4 KiB or less, at the most, and is cut to
/// 4 MiB after a large write.
const LONG_LOG: u64 = 8 << 20;

/// So many faults are told of.
const FAULTS: usize = 3;

/// So many characters of them.
const TOLD: usize = 300;

/// So many rows are read at once.
const BATCH: i64 = 1000;

/// A clock that is set right by the network may go back by as much.
const SMALL_STEP: Duration = Duration::from_secs(5);

/// One check: its name, and how it is made.
type Check = (&'static str, fn(&SqliteStore) -> Result<Finding, StoreError>);

/// A record whose output is nowhere: its attempt, namespace and key.
type Lost = (i64, Vec<u8>, String, String);

impl SqliteStore {
    pub(in crate::store::sqlite) fn examine_inside(&self) -> Vec<Finding> {
        let checks: [Check; 7] = [
            ("schema", Self::examine_schema),
            ("integrity", Self::examine_integrity),
            ("auto-vacuum", Self::examine_vacuum),
            ("log length", |store| Ok(store.examine_log())),
            ("rows", Self::examine_rows),
            ("outputs", Self::examine_outputs),
            ("wall clock", Self::examine_clock),
        ];
        let look =
            |(check, look): Check| look(self).unwrap_or_else(|why| Finding::of_error(check, &why));
        let mut findings: Vec<Finding> = checks.into_iter().map(look).collect();
        findings.extend(self.examine_each_row());
        findings
    }

    /// The option that names this store.
    fn option(&self) -> String {
        failure::option(&self.path)
    }

    /// One finding for each row that cannot be read. That a page cannot is a finding of
    /// another check.
    fn examine_each_row(&self) -> Vec<Finding> {
        let (mut after, mut unreadable) = (i64::MIN, Unreadable::default());
        while let Ok(Some((last, found))) = self.read(|connection| damaged_after(connection, after))
        {
            after = last;
            for row in found {
                unreadable.note(row);
            }
        }
        unreadable.findings(&self.option())
    }

    fn examine_schema(&self) -> Result<Finding, StoreError> {
        let (version, foreign) =
            self.read(|connection| Ok((version(connection)?, is_foreign(connection)?)))?;
        let sqlite = rusqlite::version();
        Ok(if foreign {
            let found = "its tables are those of another program";
            Finding::bad("schema", found, "name another file with --store")
        } else if version < NEWEST {
            Finding::note(
                "schema",
                format!("version {version}, which the next call makes {NEWEST}; SQLite {sqlite}"),
                format!("doubletap list {}", self.option()),
            )
        } else {
            Finding::ok("schema", format!("version {version}, SQLite {sqlite}"))
        })
    }

    fn examine_integrity(&self) -> Result<Finding, StoreError> {
        let checked: Result<Vec<String>, StoreError> = self.read(|connection| {
            let mut statement = connection.prepare(&format!("PRAGMA integrity_check({FAULTS})"))?;
            let faults = statement.query_map([], |row| row.get(0))?;
            faults.collect()
        });
        let faults = match checked {
            Ok(faults) if faults == ["ok"] => {
                return Ok(Finding::ok("integrity", "every page and index is whole"));
            }
            Err(why) if why.trouble() == Trouble::Damaged => vec![why.what().to_owned()],
            other => other?,
        };
        let told: String = faults.join(", ").chars().take(TOLD).collect();
        Ok(Finding::bad("integrity", format!("the file is damaged: {told}"), self.salvage()))
    }

    /// Saves into another file what can still be read. (Not by `.recover`, which fails
    /// in the sqlite3 of Debian 12.) A dump that met damage ends by undoing all, and
    /// leaves out what says that a file is a store.
    fn salvage(&self) -> String {
        let path = typed(&self.path);
        format!(
            "restore a copy, or save what is left: (umask 077; {{ echo 'PRAGMA auto_vacuum = 2;'; sqlite3 {path} .dump | sed '$s/^ROLLBACK.*/COMMIT;/'; echo 'PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {NEWEST}; PRAGMA journal_mode = WAL;'; }} | sqlite3 {path}.saved)"
        )
    }

    fn examine_vacuum(&self) -> Result<Finding, StoreError> {
        let (mode, free, size) = self.read(|connection| {
            let number = |name: &str| pragma(connection, name);
            Ok((number("auto_vacuum")?, number("freelist_count")?, number("page_size")?))
        })?;
        let free = size::for_people(free.saturating_mul(size).unsigned_abs());
        Ok(if mode == 2 {
            Finding::ok("auto-vacuum", format!("incremental, {free} to be given back"))
        } else {
            let path = typed(&self.path);
            Finding::note(
                "auto-vacuum",
                format!("not incremental: prune gives no space back ({free} are unused)"),
                format!("sqlite3 {path} 'PRAGMA auto_vacuum = INCREMENTAL; VACUUM'"),
            )
        })
    }

    fn examine_log(&self) -> Finding {
        let log = beside(&self.path, "-wal");
        let length = fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let told = size::for_people(length);
        if length <= LONG_LOG {
            return Finding::ok("log length", told);
        }
        Finding::note(
            "log length",
            format!(
                "{told}, which slows every call down: a large write has just ended, or somebody holds the store open"
            ),
            format!("fuser -v {}", typed(&log)),
        )
    }

    fn examine_rows(&self) -> Result<Finding, StoreError> {
        let counts: Vec<(String, String, i64)> = self.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT kind, state, count(*) FROM attempt GROUP BY kind, state ORDER BY kind DESC, state",
            )?;
            let counts = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            counts.collect()
        })?;
        let mut kinds: BTreeMap<std::cmp::Reverse<String>, Vec<String>> = BTreeMap::new();
        for (kind, state, count) in counts {
            let state = if state == "running" { "not ended" } else { &state };
            kinds.entry(std::cmp::Reverse(kind)).or_default().push(format!("{count} {state}"));
        }
        let kinds =
            kinds.into_iter().map(|(kind, told)| format!("{}: {}", kind.0, told.join(", ")));
        let told = kinds.collect::<Vec<_>>().join("; ");
        Ok(Finding::ok("rows", if told.is_empty() { "none".to_owned() } else { told }))
    }

    fn examine_outputs(&self) -> Result<Finding, StoreError> {
        let (mut files, mut bytes, mut strays) = (0_u64, 0_u64, 0_u64);
        for spool in self.spools() {
            files += 1;
            bytes += fs::symlink_metadata(&spool.path).map_or(0, |metadata| metadata.len());
            strays += u64::from(self.stray(&spool)?.is_some());
        }
        let told = format!("{files} files beside the store, {}", size::for_people(bytes));
        let lost = self.lost_outputs()?;
        if let Some((_, _, namespace, key)) = lost.first() {
            return Ok(Finding::bad(
                "outputs",
                format!("{told}; {} records have lost theirs, the first {key}", lost.len()),
                format!(
                    "doubletap forget --key={} --namespace {} {}",
                    quote(key),
                    quote(namespace),
                    self.option()
                ),
            ));
        }
        Ok(if strays == 0 {
            Finding::ok("outputs", told)
        } else {
            Finding::note(
                "outputs",
                format!("{told}; {strays} of them belong to no attempt"),
                format!("doubletap prune --older-than 30d {}", self.option()),
            )
        })
    }

    /// Records in force whose output is neither in the tables nor in a file.
    fn lost_outputs(&self) -> Result<Vec<Lost>, StoreError> {
        let now = self.clock.now().wall;
        let elsewhere = |connection: &Connection| -> rusqlite::Result<Vec<Lost>> {
            let mut statement = connection.prepare(&format!(
                "SELECT record.fence, record.token, ifnull(above.namespace, record.namespace),
                    ifnull(above.key, record.key)
                 FROM attempt AS record LEFT JOIN attempt AS above ON above.fence = record.parent
                 WHERE record.state = 'done' AND record.output_bytes IS NOT NULL
                 AND (record.expires_ms IS NULL OR record.expires_ms > ?)
                 AND NOT EXISTS (SELECT 1 FROM output WHERE output.fence = record.fence)
                 AND NOT EXISTS (SELECT 1 FROM attempt AS later WHERE {})",
                replaced_by("later", "record")
            ))?;
            let rows = statement.query_map([now.0], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
            rows.collect()
        };
        let is_missing = |(fence, token, ..): &Lost| {
            let token = <[u8; 16]>::try_from(&**token).map(Token);
            token.map_or(true, |token| !spool::path(&self.path, Fence(*fence), &token).exists())
        };
        let missing: Vec<Lost> = self.read(elsewhere)?.into_iter().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(missing);
        }
        // Pruned meanwhile, a record is not lost.
        let still = self.read(elsewhere)?;
        Ok(missing.into_iter().filter(|lost| still.contains(lost)).collect())
    }

    /// The last fence is the wall clock of the newest claim, unless the clock has
    /// gone back since an earlier one.
    fn examine_clock(&self) -> Result<Finding, StoreError> {
        let last: i64 = self.read(|connection| {
            connection.query_row("SELECT fence FROM store", [], |row| row.get(0))
        })?;
        let now = self.clock.now().wall;
        let ahead = now.age(WallMs(last));
        if ahead > SMALL_STEP {
            return Ok(Finding::note(
                "wall clock",
                format!(
                    "{} behind the newest claim of this store: it went back since, or was ahead then, and what is to expire does so later",
                    duration::for_people(ahead)
                ),
                "timedatectl",
            ));
        }
        Ok(Finding::ok(
            "wall clock",
            match last {
                0 => "no claim yet to compare it with".to_owned(),
                _ => format!(
                    "{} after the newest claim",
                    duration::for_people(WallMs(last).age(now))
                ),
            },
        ))
    }
}

/// Those of the next rows that cannot be read, and the last of all of them; nothing if there
/// are none.
fn damaged_after(
    connection: &Connection,
    after: i64,
) -> rusqlite::Result<Option<(i64, Vec<UnreadableRow>)>> {
    let mut statement = connection.prepare(&format!(
        "SELECT {}, kind, namespace, key FROM attempt WHERE fence > ? ORDER BY fence LIMIT {BATCH}",
        rows::COLUMNS
    ))?;
    let mut found = statement.query([after])?;
    let (mut last, mut damaged) = (None, Vec::new());
    while let Some(row) = found.next()? {
        last = Some(row.get(0)?);
        if let Err(why) = rows::named(row) {
            damaged.extend(rows::of_error(&why).cloned());
        }
    }
    Ok(last.map(|last| (last, damaged)))
}
