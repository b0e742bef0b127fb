//! Keeps the write-ahead log short.
//!
//! A lone reader indexes the whole log when it opens [measured: a replay takes
//! 1.05 ms at 11 to 31 frames, 1.3 at 56 to 110, 1.6 at 160 to 200, and 46 at
//! 73 MB]. A checkpoint alone is not enough: it lets the next writer start the
//! log over, but a writer that opens the file alone first indexes the log anew
//! and then no longer knows that it was copied. So whoever copies the log also
//! starts it over. It is not cut off, since syncing a file that grows costs
//! more than writing over one.

use std::time::Duration;

use super::SqliteStore;
use super::steps::Sync;
use crate::claim::fence::Fence;

/// The longest log that is left alone, in frames; a run adds about 5.
const LONG: i64 = 24;

/// The longest log file that is left lying about after a large write, in bytes. Its end is
/// not read, and a prune that finds it cut must grow it again at every batch, which those
/// who sync it meanwhile wait for [measured with 1 MiB: see `sweeping`].
const LARGEST: u32 = 4 << 20;

/// So many renewals make the log long by themselves, where nothing else happens
/// for hours.
const RENEWALS: u32 = 32;

/// One in so many completions looks after the log. Where many run at once, each
/// would find it in use, and they would do little else.
const SHARE: i64 = 8;

impl SqliteStore {
    /// Starts the log over if it has grown and it is this completion's turn, or
    /// if it has grown by much.
    pub(super) fn tidy_after(&mut self, completed: Option<Fence>) {
        let many_renewals = self.renewals >= RENEWALS;
        if self.wrote_much || many_renewals || completed.is_some_and(|fence| fence.0 % SHARE == 0) {
            self.renewals = 0;
            self.shorten_log();
        }
    }

    /// Starts the log over if it has grown. Does not wait for anybody: what
    /// cannot be done now is done by a later call. Says whether all of it is in the
    /// file.
    pub(super) fn shorten_log(&mut self) -> bool {
        self.patience.begin(Duration::ZERO);
        let copied = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        let Ok((log, copied)) = copied else { return false };
        if log == copied && log > LONG {
            self.sync = Some(Sync::Normal);
            // A row that stays as it is would not be written. Fences may skip.
            let _ = self.connection.execute_batch(&format!(
                "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = {LARGEST}; UPDATE store SET fence = fence + 1;"
            ));
        }
        log == copied
    }
}
