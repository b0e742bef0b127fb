//! Giving the space of what was removed back to the file system.
//!
//! A page that is free in the middle of the file is filled with the last one, and
//! finding it takes longer the more are free. So it is done a little after every
//! batch, but where almost everything goes: then there is almost nothing to move, and
//! it is done once, at the end.

use std::thread;
use std::time::Instant;

use super::SqliteStore;
use super::steps::{LONGEST_PAUSE, Sync};
use super::sweeping::HELD;
use crate::store::StoreError;

/// As many rows are few.
const FEW_ROWS: i64 = 10_000;

/// As many pages are moved while everybody waits.
const FEW_PAGES: i64 = 2000;

impl SqliteStore {
    /// Whether most of the store is older than this time, in milliseconds since 1970. A
    /// fence is never less than the time of its claim, so the table is in that order.
    pub(super) fn little_is_younger(&self, horizon: i64) -> Result<bool, StoreError> {
        self.read(|connection| {
            let younger: i64 = connection.query_row(
                "SELECT count(*) FROM (SELECT 1 FROM attempt WHERE fence >= ? LIMIT ?)",
                [horizon, FEW_ROWS],
                |row| row.get(0),
            )?;
            Ok(younger < FEW_ROWS)
        })
    }

    /// Lets everybody who waits for the lock have it. Meanwhile the log is brought into
    /// the file, which keeps nobody from writing.
    pub(super) fn let_others_in(&mut self) {
        let began = Instant::now();
        self.shorten_log();
        thread::sleep(LONGEST_PAUSE.saturating_sub(began.elapsed()));
    }

    /// Gives free pages back, holding the lock for a short time at once.
    pub(super) fn give_back(&mut self) -> Result<(), StoreError> {
        loop {
            let all = self.read(|connection| {
                let mut vacuum = connection.prepare_cached("PRAGMA incremental_vacuum")?;
                // Every step moves one page; what is done when it ends early is kept.
                let mut rows = vacuum.query([])?;
                let mut began = None;
                while rows.next()?.is_some() {
                    if began.get_or_insert_with(Instant::now).elapsed() > HELD {
                        return Ok(false);
                    }
                }
                Ok(true)
            })?;
            if all {
                return Ok(());
            }
            self.let_others_in();
        }
    }

    /// Gives back what is left, at once where little has to be moved.
    pub(super) fn give_back_the_rest(&mut self) -> Result<(), StoreError> {
        let number = |name: &str| {
            self.read(|connection| {
                connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
            })
        };
        let (free, pages) = (number("freelist_count")?, number("page_count")?);
        // No more pages are moved than are free, or than are in use.
        if free.min(pages - free) > FEW_PAGES {
            return self.give_back();
        }
        if free > 0 {
            self.give_back_at_once()?;
        }
        self.let_others_in();
        Ok(())
    }

    /// Gives all free pages back at one commit, as the mode `FULL` does. That is set
    /// when its statement is compiled, and for this connection; it would be written to
    /// the file when the statement is run, and stay there if we died.
    fn give_back_at_once(&mut self) -> Result<(), StoreError> {
        let limit = self.patience.limit;
        let given = self.write(Sync::Normal, limit, |step, _| {
            step.prepare("PRAGMA auto_vacuum = FULL")?;
            step.execute("UPDATE store SET fence = fence + 1", [])?;
            Ok(())
        });
        self.read(|connection| connection.prepare("PRAGMA auto_vacuum = INCREMENTAL").map(drop))?;
        given
    }
}
