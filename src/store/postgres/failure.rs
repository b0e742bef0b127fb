//! Turns what goes wrong with a server into sentences that name the remedy.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use tokio_postgres::Error;
use tokio_postgres::config::Host;
use tokio_postgres::error::{DbError, Severity, SqlState};

use super::address::Address;
use crate::claim::duration::for_people;
use crate::store::{StoreError, Trouble};
use crate::text::quote;

/// What kept an exchange with the server from succeeding.
#[derive(Debug)]
pub(super) enum Fault {
    /// It took longer than it may.
    Late,
    /// The connection is gone, and another would not do.
    Broken,
    /// What the server or the connection to it said.
    Told(Error),
    /// What came back makes no sense.
    Unreadable(String),
    /// A sentence of its own.
    Said(StoreError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

impl From<super::rows::Unreadable> for Fault {
    fn from(unreadable: super::rows::Unreadable) -> Self {
        Self::Unreadable(unreadable.to_string())
    }
}

impl Fault {
    fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Told(error) => error.code(),
            Self::Late | Self::Broken | Self::Unreadable(_) | Self::Said(_) => None,
        }
    }

    /// Whether the connection is of no use any more.
    pub(super) fn ends_connection(&self) -> bool {
        match self {
            Self::Late | Self::Broken => true,
            Self::Told(error) => match error.as_db_error() {
                Some(told) => is_fatal(told),
                None => true,
            },
            Self::Unreadable(_) | Self::Said(_) => false,
        }
    }

    /// Whether the connection broke, which another can be made for.
    pub(super) fn is_broken_connection(&self) -> bool {
        !matches!(self, Self::Late) && self.ends_connection()
    }

    /// Whether the server undid all of it, and would take it if it came again.
    pub(super) fn may_pass(&self) -> bool {
        self.code().is_some_and(|code| {
            // The last three: a row was there, or not there, against what was read.
            [
                SqlState::T_R_SERIALIZATION_FAILURE,
                SqlState::T_R_DEADLOCK_DETECTED,
                SqlState::UNIQUE_VIOLATION,
                SqlState::DIVISION_BY_ZERO,
            ]
            .contains(code)
        })
    }

    /// Whether the server cannot be spoken to just now, and says that this will pass.
    pub(super) fn is_not_yet(&self) -> bool {
        self.code().is_some_and(|code| {
            [
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::TOO_MANY_CONNECTIONS,
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
            ]
            .contains(code)
        })
    }

    /// Whether it refuses this way of connecting, and may take another.
    pub(super) fn is_of_the_way(&self) -> bool {
        match self {
            Self::Told(error) => match error.code() {
                Some(code) => *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                None => error.to_string().contains("TLS"),
            },
            Self::Late | Self::Broken | Self::Unreadable(_) | Self::Said(_) => false,
        }
    }

    /// Whether TLS is not to be had here, or not with whoever answers. A connection that
    /// breaks in the middle of a handshake says neither: a server that is started again
    /// does so.
    fn is_of_trust(&self) -> bool {
        let Self::Told(error) = self else { return false };
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        let broke = |why: &io::Error| why.get_ref().is_none_or(|why| !why.is::<rustls::Error>());
        error.code().is_none() && self.is_of_the_way() && !cause.is_some_and(broke)
    }

    /// Whether it would have taken longer than it may.
    pub(super) fn is_of_time(&self) -> bool {
        matches!(self, Self::Late)
            || self.code().is_some_and(|code| *code == SqlState::QUERY_CANCELED)
    }

    /// Whether a right is missing.
    pub(super) fn is_forbidden(&self) -> bool {
        self.code().is_some_and(|code| *code == SqlState::INSUFFICIENT_PRIVILEGE)
    }

    /// Whether the tables are not there.
    pub(super) fn is_without_tables(&self) -> bool {
        let codes = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
        self.code().is_some_and(|code| codes.contains(code))
    }
}

fn is_fatal(told: &DbError) -> bool {
    match told.parsed_severity() {
        Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
        None => told.severity() == "FATAL" || told.severity() == "PANIC",
    }
}

/// An error with what caused it, as one fragment. None of them shows a password.
pub(super) fn with_causes(error: &Error) -> String {
    if let Some(told) = error.as_db_error() {
        let detail = told.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        return format!("{}{detail}", told.message());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(why) = cause {
        text = format!("{text}: {why}");
        cause = why.source();
    }
    text
}

/// The error of a store that nobody has set up.
pub(super) fn not_set_up(address: &Address) -> StoreError {
    StoreError::new(Trouble::Refused, format!("the store {} has not been set up", address.shown))
        .with_remedy(format!("doubletap setup {}", address.option))
}

/// The sentence about a store that may not be set up, and what gives the right to.
pub(super) fn may_not_set_up(address: &Address, fault: &Fault, remedy: String) -> StoreError {
    let said = match fault {
        Fault::Told(error) => with_causes(error),
        _ => "a right is missing".to_owned(),
    };
    let what = format!("the store {} may not be set up by this role: {said}", address.shown);
    StoreError::new(Trouble::Refused, what).with_remedy(remedy)
}

/// The sentence about a lock that outlasted the time that a call was given.
pub(super) fn locked(address: &Address, limit: Duration) -> StoreError {
    let what = format!(
        "the store {} was locked by another program for longer than {}",
        address.shown,
        for_people(limit)
    );
    let remedy = "try again, or wait longer with --store-timeout";
    StoreError::new(Trouble::Locked, what).with_remedy(remedy)
}

/// The sentence for people.
pub(super) fn sentence(address: &Address, limit: Duration, fault: &Fault) -> StoreError {
    let shown = &address.shown;
    let (trouble, what, remedy) = match fault {
        Fault::Said(said) => return said.clone(),
        Fault::Late => {
            let what = format!("the store {shown} ({}) gave no answer", address.places());
            return StoreError::late(what, limit).with_remedy(
                "see whether the server runs and can be reached, or wait longer with --store-timeout",
            );
        }
        Fault::Broken => (
            Trouble::Away,
            format!("the connection to the store {shown} broke ({})", address.places()),
            "try again, and see the server's log".to_owned(),
        ),
        Fault::Unreadable(what) => (
            Trouble::Damaged,
            format!("the store {shown} is damaged or was made by another program ({what})"),
            "restore it, or name another with --store".to_owned(),
        ),
        Fault::Told(error) => match error.as_db_error() {
            Some(told) => return refusal(address, limit, told),
            None if error.to_string() == "invalid configuration" => {
                return no_password(address, error);
            }
            None if fault.is_of_trust() => (
                Trouble::Refused,
                format!("the store {shown} cannot be reached safely ({})", with_causes(error)),
                "see sslmode and sslrootcert in the URL, and the server's certificate".to_owned(),
            ),
            None => (
                Trouble::Away,
                format!(
                    "the store {shown} cannot be reached ({}; {})",
                    with_causes(error),
                    address.places()
                ),
                "see whether the server runs, and whether host and port are right".to_owned(),
            ),
        },
    };
    StoreError::new(trouble, what).with_remedy(remedy)
}

fn no_password(address: &Address, error: &Error) -> StoreError {
    let what = format!("the store {} cannot be opened ({})", address.shown, with_causes(error));
    StoreError::new(Trouble::Refused, what).with_remedy(password_remedy(address))
}

fn password_remedy(address: &Address) -> String {
    match &address.open_passwords {
        Some(path) => {
            let path = quote(&path.display().to_string());
            format!("the password file is left alone because others can read it: chmod 600 {path}")
        }
        None => "put the password into PGPASSWORD or into a password file (~/.pgpass)".to_owned(),
    }
}

/// The line that makes the database, on the first of the hosts that are tried.
fn createdb(address: &Address) -> String {
    let config = &address.config;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => Some(host.clone()),
        Some(Host::Unix(folder)) => Some(folder.display().to_string()),
        None => None,
    };
    let words = [
        host.map(|host| format!(" -h {}", quote(&host))),
        config.get_ports().first().map(|port| format!(" -p {port}")),
        config.get_user().map(|user| format!(" -U {}", quote(user))),
        Some(format!(" {}", quote(config.get_dbname().unwrap_or_default()))),
    ];
    format!("createdb{}", words.into_iter().flatten().collect::<String>())
}

/// The sentence about what a server refused.
fn refusal(address: &Address, limit: Duration, told: &DbError) -> StoreError {
    let (shown, code) = (&address.shown, told.code());
    let class = code.code().get(..2).unwrap_or_default();
    let said = match told.detail() {
        Some(detail) => format!("{} ({detail})", told.message()),
        None => told.message().to_owned(),
    };
    let (trouble, what, remedy) = match class {
        _ if *code == SqlState::LOCK_NOT_AVAILABLE => return locked(address, limit),
        _ if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::INVALID_SCHEMA_NAME => {
            return not_set_up(address);
        }
        _ if *code == SqlState::QUERY_CANCELED => (
            Trouble::Away,
            format!("the store {shown} did not get done within {}", for_people(limit)),
            "try again, or wait longer with --store-timeout".to_owned(),
        ),
        _ if *code == SqlState::INVALID_PASSWORD => (
            Trouble::Refused,
            format!("the store {shown} cannot be opened: {said}"),
            password_remedy(address),
        ),
        "28" => (
            Trouble::Refused,
            format!("the store {shown} cannot be opened: {said}"),
            "see user, database and sslmode in the URL, and pg_hba.conf on the server".to_owned(),
        ),
        "3D" => (
            Trouble::Refused,
            format!("the store {shown} is not there: {said}"),
            createdb(address),
        ),
        _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => (
            Trouble::Refused,
            format!("the store {shown} may not be used so: {said}"),
            format!(
                "GRANT USAGE ON SCHEMA {schema} TO {user}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {user}",
                schema = address.schema,
                user = address.role(),
            ),
        ),
        _ if *code == SqlState::READ_ONLY_SQL_TRANSACTION => (
            Trouble::ReadOnly,
            format!("the store {shown} cannot be written: {said}"),
            "name the primary in the URL (the server is a standby, or default_transaction_read_only is on)".to_owned(),
        ),
        _ if *code == SqlState::DISK_FULL => (
            Trouble::Full,
            format!("no room is left for the store {shown}: {said}"),
            "free some space on the server".to_owned(),
        ),
        "08" | "57" | "53" => (
            Trouble::Away,
            format!("the store {shown} does not answer: {said}"),
            "try again, and see the server's log".to_owned(),
        ),
        "42" | "22" => (
            Trouble::Damaged,
            format!("the tables of the store {shown} are not as they should be: {said}"),
            format!("doubletap doctor {}", address.option),
        ),
        "XX" => (
            Trouble::Damaged,
            format!("the store {shown} is damaged: {said}"),
            "see the server's log".to_owned(),
        ),
        _ => return StoreError::new(Trouble::Other, format!("the store {shown}: {said}")),
    };
    StoreError::new(trouble, what).with_remedy(remedy)
}
