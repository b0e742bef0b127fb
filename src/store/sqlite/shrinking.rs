//! Giving the space of what was removed back to the file system.
//!
//! A page that is free in the middle of the file is filled with the last one, and
//! finding it takes longer the more are free. So it is done a little after every
//! batch, but where almost everything goes: then there is almost nothing to move, and
//! it is done once, at the end [measured: a million keys, all of them old, in 13 s
//! instead of …].

use std::thread;
use std::time::Instant;

use super::SqliteStore;
use super::steps::{LONGEST_PAUSE, Sync};
use super::sweeping::HELD;
use crate::claim::duration::to_ms;
use crate::store::{StoreError, Sweep};

/// As many rows are few.
const FEW_ROWS: i64 = 10_000;

/// As many pages are moved while everybody waits.
const FEW_PAGES: i64 = 2000;

impl SqliteStore {
    /// Whether most of the store is older than what stays. A fence is never less than
    /// the time of its claim, so the table is in that order.
    pub(super) fn little_is_younger(&self, sweep: &Sweep) -> Result<bool, StoreError> {
        let horizon = self.clock.now().wall.0.saturating_sub(to_ms(sweep.older_than));
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
            let began = Instant::now();
            let all = self.read(|connection| {
                let mut vacuum = connection.prepare_cached("PRAGMA incremental_vacuum")?;
                // Every step moves one page; what is done when it ends early is kept.
                let mut rows = vacuum.query([])?;
                while rows.next()?.is_some() {
                    if began.elapsed() > HELD {
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
            self.vacuum_at("FULL")?;
        }
        self.vacuum_at("INCREMENTAL")?;
        self.let_others_in();
        Ok(())
    }

    /// Commits with another way of giving pages back: `FULL` does it at the commit.
    fn vacuum_at(&mut self, mode: &str) -> Result<(), StoreError> {
        let limit = self.patience.limit;
        self.write(Sync::Normal, limit, |step, _| {
            step.execute_batch(&format!(
                "PRAGMA auto_vacuum = {mode}; UPDATE store SET fence = fence + 1"
            ))?;
            Ok(())
        })
    }
}
