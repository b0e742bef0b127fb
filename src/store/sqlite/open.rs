//! Makes a connection, and the tables where there are none yet.
//!
//! The usual opening does as little as it can, since a replay is little more
//! than that: no `PRAGMA journal_mode`, which the file remembers, and no lock.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::place::{self, Identity, Standing, beside};
use super::schema::{APPLICATION_ID, DISGUISES, MIGRATIONS, NEWEST};
use super::steps::Patience;
use super::{Access, failure};
use crate::store::{StoreError, Trouble};

/// The size of a page, in bytes. Each change writes whole pages to the log, and each
/// opening reads them [measured: with 4096 a replay and a lease of `true` take 1.04 of
/// the time, a fresh run 1.05; with 1024 no less].
const PAGE: u32 = 2048;

/// A connection, and which file it is to.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) patience: Patience,
    pub(super) file: Identity,
}

/// Opens the file; nothing with [`Access::Read`] where there is no store yet.
pub(super) fn open(
    path: &Path,
    access: Access,
    timeout: Duration,
) -> Result<Option<Opened>, StoreError> {
    let Some((standing, file)) = place::prepare(path, access)? else {
        return Ok(None);
    };
    if standing == Standing::ReadOnly && is_unindexed(path) {
        return Err(unindexed(path));
    }
    let told = |error: rusqlite::Error| failure::sentence(path, timeout, &error);
    let mut connection = connect(path, standing).map_err(told)?;
    let patience = Patience::install(&mut connection, timeout).map_err(told)?;
    let version = retried(path, &patience, || version(&connection))?;
    match version {
        _ if version == NEWEST => {}
        0 if access != Access::Write => {
            refuse_foreign(path, &connection, &patience)?;
            return Ok(None);
        }
        _ if version < NEWEST && (access == Access::Examine || standing == Standing::ReadOnly) => {
            connection.execute_batch(DISGUISES[version]).map_err(told)?;
        }
        _ if version < NEWEST => migrate(path, &connection, &patience)?,
        _ => {
            return Err(StoreError::new(
                Trouble::Refused,
                format!(
                    "the store {} was made by a newer doubletap (its version is {version}, and this program knows up to {NEWEST})",
                    path.display()
                ),
            )
            .with_remedy("update doubletap, or name another with --store"));
        }
    }
    // Whoever finds a log that was never written to makes sure that its name
    // survives power loss before anything is; whoever finds another can rely on
    // that. (While the tables are made the rollback journal's name is not
    // synced; a power cut there can leave a store that is damaged and has
    // recorded nothing.)
    if access == Access::Write && is_untouched(&beside(path, "-wal")) {
        sync_names(path)?;
    }
    Ok(Some(Opened { connection, patience, file }))
}

/// Whether there is a log and no index of it, which SQLite would make.
pub(super) fn is_unindexed(path: &Path) -> bool {
    size(&beside(path, "-wal")) > 0 && !beside(path, "-shm").exists()
}

/// Why such a store cannot be read without a trace.
pub(super) fn unindexed(path: &Path) -> StoreError {
    let shown = path.display();
    StoreError::new(
        Trouble::Refused,
        format!(
            "the store {shown} has a log ({shown}-wal) that cannot be read without writing beside it"
        ),
    )
    .with_remedy("read it as its owner")
}

fn connect(path: &Path, standing: Standing) -> rusqlite::Result<Connection> {
    let base = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match standing {
        Standing::Ours => {
            Connection::open_with_flags(path, base | OpenFlags::SQLITE_OPEN_READ_WRITE)?
        }
        Standing::ReadOnly if beside(path, "-wal").exists() && beside(path, "-shm").exists() => {
            Connection::open_with_flags(path, base | OpenFlags::SQLITE_OPEN_READ_ONLY)?
        }
        // Without a log, or with an empty one, the file is all there is; SQLite would
        // create more.
        Standing::ReadOnly => Connection::open_with_flags(
            immutable_uri(path),
            base | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        )?,
    };
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // A kept statement stays as it is, whatever is bound to it next.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Whether a file is empty and was never anything else, as far as the file
/// system tells.
fn is_untouched(path: &Path) -> bool {
    let Ok(found) = fs::metadata(path) else { return true };
    let written = found.modified().and_then(|at| Ok(at > found.created()?));
    found.len() == 0 && !written.unwrap_or(false)
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            b if b.is_ascii_alphanumeric() => uri.push(char::from(*b)),
            b => {
                let _ = write!(uri, "%{b:02X}");
            }
        }
    }
    uri.push_str("?immutable=1");
    uri
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(version as usize)
}

/// Makes the tables, or the newer ones. Many processes may be at it at once
/// [measured: 247 of 400 openings of a fresh file by 16 processes failed
/// without the loop, 3 with a timeout alone, none with it].
fn migrate(path: &Path, connection: &Connection, patience: &Patience) -> Result<(), StoreError> {
    refuse_foreign(path, connection, patience)?;
    retried(path, patience, || {
        connection.execute_batch(&format!(
            "PRAGMA page_size = {PAGE}; PRAGMA auto_vacuum = INCREMENTAL;"
        ))?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))
    })?;
    // The first reading creates the log.
    retried(path, patience, || version(connection))?;
    sync_names(path)?;
    retried(path, patience, || apply(connection))
}

/// Makes the names of a store's files survive power loss.
fn sync_names(path: &Path) -> Result<(), StoreError> {
    place::sync_folder(&place::folder_of(path)).map_err(|why| {
        StoreError::new(Trouble::Other, format!("the store's folder cannot be synced: {why}"))
    })
}

fn refuse_foreign(
    path: &Path,
    connection: &Connection,
    patience: &Patience,
) -> Result<(), StoreError> {
    if retried(path, patience, || is_foreign(connection))? {
        return Err(StoreError::new(
            Trouble::Damaged,
            format!("{} is a database of another program", path.display()),
        )
        .with_remedy("name another file with --store"));
    }
    Ok(())
}

/// A file with tables in it that are not ours. Whoever makes ours beside us
/// commits both at once, so the tables are counted before the id is read.
pub(super) fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let id: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    Ok(tables > 0 && id != APPLICATION_ID)
}

fn apply(connection: &Connection) -> rusqlite::Result<()> {
    let step = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let done = version(&step)?;
    for migration in MIGRATIONS.iter().skip(done) {
        step.execute_batch(migration)?;
    }
    step.pragma_update(None, "application_id", APPLICATION_ID)?;
    if done < NEWEST {
        step.execute_batch(&format!("PRAGMA user_version = {NEWEST}"))?;
    }
    step.commit()
}

/// Repeats what another program's lock keeps from succeeding, until it has
/// taken as long as one call may; a failure comes back as its sentence.
fn retried<T>(
    path: &Path,
    patience: &Patience,
    mut work: impl FnMut() -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    patience.begin(patience.limit);
    let mut tries = 0;
    loop {
        match work() {
            Err(error)
                if failure::trouble_of(&error) == Trouble::Locked && patience.wait(tries) =>
            {
                tries += 1;
            }
            other => {
                return other.map_err(|error| failure::sentence(path, patience.limit, &error));
            }
        }
    }
}
