//! Makes the tables, or the newer ones, and says which there are.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tokio_postgres::Row;

use super::address::{Address, Lookup};
use super::connecting::Server;
use super::failure::{Fault, may_not_set_up, not_set_up};
use super::locking::LockNumber;
use super::rows::{Reader, text};
use super::schema::{BEGINNING, CLOCK, MIGRATIONS, NEWEST};
use super::transaction::{Transaction, left_ms};
use crate::place::Url;
use crate::store::setup::Made;
use crate::store::{StoreError, Trouble};

/// Creates a store, or migrates it. Any number of programs may do so at once.
///
/// # Errors
/// When the server cannot be reached or does not allow it, and when the store was made by
/// a newer doubletap.
pub fn setup(url: &Url, timeout: Duration, lookup: &Lookup<'_>) -> Result<Made, StoreError> {
    let mut server = Server::at(Address::read(url, lookup)?, timeout)?;
    set_up(&mut server)
}

/// The same on a connection that is there.
pub(super) fn set_up(server: &mut Server) -> Result<Made, StoreError> {
    let deadline = server.deadline();
    loop {
        match migrate(server, deadline) {
            Err(fault) if fault.may_pass() && Instant::now() < deadline => {}
            other => return other.map_err(|fault| server.told(&fault)),
        }
    }
}

/// What a server says of a store that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The version of the tables.
    pub(super) version: usize,
    /// The clock, in milliseconds since 1970.
    pub(super) ms: i64,
}

/// What the server says of the store, if there is one: all that has to be known of it before
/// its first use, in one exchange.
pub(super) fn find(server: &mut Server, deadline: Instant) -> Result<Option<Found>, Fault> {
    match server.rows(deadline, &newest_of(&server.address), &[]) {
        Ok(rows) => read_found(&rows),
        Err(fault) if fault.is_without_tables() => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The version of the tables, if there are any.
pub(super) fn version(server: &mut Server, deadline: Instant) -> Result<Option<usize>, Fault> {
    Ok(find(server, deadline)?.map(|found| found.version))
}

fn newest_of(address: &Address) -> String {
    format!("SELECT max(version), {CLOCK} FROM {}.migration", address.schema)
}

fn read_found(rows: &[Row]) -> Result<Option<Found>, Fault> {
    let Some(row) = rows.first() else { return Ok(None) };
    let mut from = Reader::at(row, 0);
    let (version, ms) = (from.next::<Option<i32>>()?, from.next()?);
    let found = |version| Found { version: usize::try_from(version).unwrap_or_default(), ms };
    Ok(version.map(found))
}

/// The error of a store that this program does not know, or that has to be migrated first.
pub(super) fn check(server: &Server, version: Option<usize>) -> Result<(), StoreError> {
    let shown = &server.address.shown;
    match version {
        None => Err(not_set_up(&server.address)),
        Some(version) if version < NEWEST => Err(StoreError::new(
            Trouble::Refused,
            format!("the store {shown} was set up by an older doubletap (its version is {version}, and this program's is {NEWEST})"),
        )
        .with_remedy(format!("doubletap setup {}", server.address.option))),
        Some(version) if version > NEWEST => Err(StoreError::new(
            Trouble::Refused,
            format!("the store {shown} was made by a newer doubletap (its version is {version}, and this program knows up to {NEWEST})"),
        )
        .with_remedy("update doubletap, or name another with --store")),
        Some(_) => Ok(()),
    }
}

fn migrate(server: &mut Server, deadline: Instant) -> Result<Made, Fault> {
    // What is there already needs no right to make it.
    match version(server, deadline) {
        Ok(Some(NEWEST)) => return Ok(Made::Nothing),
        // It may be that there is nothing yet in a schema of somebody else's.
        Err(fault) if !fault.is_forbidden() => return Err(fault),
        Ok(_) | Err(_) => {}
    }
    let name = server.address.schema_name.clone();
    let left = left_ms(deadline);
    let lock = LockNumber::of_setup(&name).0;
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED;
        SET LOCAL lock_timeout = {left};
        SET LOCAL idle_in_transaction_session_timeout = {left};
        SET LOCAL synchronous_commit = on;
        SELECT pg_advisory_xact_lock({lock})"
    );
    let mut transaction = Transaction::begin(server, deadline, &begin)?;
    let address = transaction.server().address.clone();
    // Whoever may not use a schema may know that a table is in it.
    let statement = "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL,
        EXISTS (SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = $1 AND relname = 'migration'),
        current_setting('server_encoding')";
    let found = transaction.rows(statement, &[text(&*name)])?;
    let row = found.first().ok_or_else(|| Fault::Unreadable("answer".to_owned()))?;
    let mut from = Reader::at(row, 0);
    let (has_schema, has_tables, encoding) =
        (from.next::<bool>()?, from.next::<bool>()?, from.next::<String>()?);
    if encoding != "UTF8" && encoding != "SQL_ASCII" {
        let shown = &address.shown;
        let what = format!(
            "the database of the store {shown} is encoded in {encoding}, which has not all that a key may hold"
        );
        let remedy = "createdb --encoding UTF8 --template template0 …, and name that one";
        return Err(Fault::Said(StoreError::new(Trouble::Refused, what).with_remedy(remedy)));
    }
    let version = if has_tables {
        read_found(&transaction.rows(&newest_of(&address), &[])?)?.map(|found| found.version)
    } else {
        None
    };
    let done = version.unwrap_or(0);
    if done >= NEWEST {
        check(transaction.server(), version).map_err(Fault::Said)?;
        return Ok(Made::Nothing);
    }
    let schema = &address.schema;
    let mut text = String::new();
    if !has_schema {
        let _ = write!(text, "CREATE SCHEMA {schema};");
    }
    if !has_tables {
        text += &BEGINNING.replace("{s}", schema);
        text.push(';');
    }
    for (at, migration) in MIGRATIONS.iter().enumerate().skip(done) {
        text += &migration.replace("{s}", schema);
        let _ = write!(text, "INSERT INTO {schema}.migration (version) VALUES ({});", at + 1);
    }
    transaction.run(&text).map_err(|fault| {
        if !fault.is_forbidden() {
            return fault;
        }
        let remedy = match (has_schema, has_tables) {
            (false, _) => {
                format!("GRANT CREATE ON DATABASE {} TO {}", address.database(), address.role())
            }
            (true, false) => {
                format!("GRANT USAGE, CREATE ON SCHEMA {schema} TO {}", address.role())
            }
            (true, true) => "have the owner of the tables set it up".to_owned(),
        };
        Fault::Said(may_not_set_up(&address, &fault, remedy))
    })?;
    transaction.commit(&[])?;
    Ok(if done == 0 { Made::Created } else { Made::Migrated })
}
