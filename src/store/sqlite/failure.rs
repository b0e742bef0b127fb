//! Turns SQLite's errors into sentences that name the file and the remedy.

use std::path::Path;
use std::time::Duration;

use rusqlite::ErrorCode;
use rusqlite::ffi;

use super::place::typed;
use super::rows::of_error;
use crate::claim::duration::for_people;
use crate::store::{StoreError, Trouble};

/// The kind of trouble that an error of SQLite means.
pub(super) fn trouble_of(error: &rusqlite::Error) -> Trouble {
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        return match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => Trouble::Damaged,
            _ => Trouble::Other,
        };
    };
    match failure.code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => Trouble::Locked,
        ErrorCode::DiskFull | ErrorCode::OutOfMemory | ErrorCode::TooBig => Trouble::Full,
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            Trouble::ReadOnly
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Trouble::Damaged,
        // The shared index is a file too, and it grows through ftruncate; a
        // write fails at a limit of the file's size or of a quota.
        ErrorCode::SystemIoFailure
            if [ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_IOERR_WRITE]
                .contains(&failure.extended_code) =>
        {
            Trouble::Full
        }
        _ if is_foreign_schema(failure.extended_code, error) => Trouble::Damaged,
        _ => Trouble::Other,
    }
}

/// A file that has our version number and not our tables.
fn is_foreign_schema(code: i32, error: &rusqlite::Error) -> bool {
    code == ffi::SQLITE_ERROR && {
        let text = error.to_string();
        text.contains("no such table") || text.contains("no such column")
    }
}

/// The sentence about a lock that outlasted the time that a call was given.
pub(super) fn locked(path: &Path, limit: Duration) -> StoreError {
    let what = format!(
        "the store {} was locked by another program for longer than {}",
        path.display(),
        for_people(limit)
    );
    let remedy = "try again, or wait longer with --store-timeout";
    StoreError::new(Trouble::Locked, what).with_remedy(remedy)
}

/// The option that names a store again.
pub(super) fn option(path: &Path) -> String {
    format!("--store {}", typed(path))
}

/// The sentence for people.
pub(super) fn sentence(path: &Path, limit: Duration, error: &rusqlite::Error) -> StoreError {
    if let Some(row) = of_error(error) {
        return row.error(&option(path));
    }
    let trouble = trouble_of(error);
    let shown = path.display();
    let (what, remedy) = match trouble {
        Trouble::Locked => return locked(path, limit),
        Trouble::Full => {
            (format!("no room is left for the store {shown} ({error})"), "free some space there")
        }
        Trouble::ReadOnly => (
            format!("the store {shown} cannot be written ({error})"),
            "make the file and its folder writable, or name another with --store",
        ),
        Trouble::Damaged => (
            format!("the store {shown} is damaged or is not a doubletap store ({error})"),
            "restore it, move it away, or name another with --store",
        ),
        Trouble::Away
        | Trouble::Unacknowledged
        | Trouble::Refused
        | Trouble::Output
        | Trouble::Other => {
            return StoreError::new(trouble, format!("the store {shown}: {error}"));
        }
    };
    StoreError::new(trouble, what).with_remedy(remedy)
}
