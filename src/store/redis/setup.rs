//! Opens a store, and makes one: a number that says what format it has.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::address::Address;
use super::failure;
use super::keys::Keys;
use super::line::{Deadline, Line};
use super::scripts::{Run, SETUP};
use super::{RedisShelf, Terms, reading};
use crate::place::Url;
use crate::store::StoreError;
use crate::store::setup::{Made, Setup};

/// The format of what is kept. Another number means that an older doubletap would misread
/// it; what only adds fields needs none.
pub(super) const FORMAT: u32 = 1;

/// Sets a store up. However many do that at once, one creates it.
///
/// # Errors
/// When the server cannot be reached or written, or a later release made the store.
pub fn setup(
    url: &Url,
    timeout: Duration,
    lookup: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Made, StoreError> {
    let address = Address::of(url, lookup)?;
    let keys = Keys::of(&address.name);
    make(&mut Line::new(url, address)?, &keys, Deadline::after(timeout))
}

fn make(line: &mut Line, keys: &Keys, deadline: Deadline) -> Result<Made, StoreError> {
    let run = Run::of(&SETUP, &[keys.version()], &[FORMAT]);
    // Asked for twice it does nothing the second time, and then that is what it says.
    let made: String = line.ask_by(deadline, |connection| run.on(connection))?;
    match made.as_str() {
        "created" => Ok(Made::Created),
        "migrated" => Ok(Made::Migrated),
        "nothing" => Ok(Made::Nothing),
        other => Err(of_another(line.url(), other)),
    }
}

/// The sentence about a store of a format that is not this one: a later release has made it,
/// or nobody of ours.
fn of_another(url: &Url, format: &str) -> StoreError {
    if !format.is_empty() && format.bytes().all(|digit| digit.is_ascii_digit()) {
        failure::newer(url, format, FORMAT)
    } else {
        failure::foreign(url, format)
    }
}

/// Whether a store of this format, if any, can be used.
pub(super) fn check(url: &Url, version: Option<&str>) -> Result<(), StoreError> {
    match version.map(|version| (version, version.parse::<u32>())) {
        Some((_, Ok(FORMAT))) => Ok(()),
        Some((_, Ok(older))) if older < FORMAT => Err(failure::not_set_up(url)),
        Some((other, _)) => Err(of_another(url, other)),
        None => Err(failure::not_set_up(url)),
    }
}

/// Opens a store that is set up, or sets it up.
pub(super) fn open(
    url: &Url,
    timeout: Duration,
    terms: Terms,
    lookup: &dyn Fn(&str) -> Option<OsString>,
) -> Result<RedisShelf, StoreError> {
    let address = Address::of(url, lookup)?;
    let keys = Keys::of(&address.name);
    let mut line = Line::new(url, address)?;
    let deadline = Deadline::after(timeout);
    if terms.setup == Setup::Automatic {
        make(&mut line, &keys, deadline)?;
    }
    // All that has to be known before the first use, in one exchange.
    let mut greeting = redis::pipe();
    greeting.cmd("GET").arg(keys.version()).cmd("TIME");
    let ((version, time), asked): ((Option<String>, (i64, i64)), Instant) =
        line.ask_by(deadline, |connection| {
            let asked = Instant::now();
            Ok((greeting.query(connection)?, asked))
        })?;
    check(url, version.as_deref())?;
    let opened = (reading::clock(time), asked);
    Ok(RedisShelf::new((url.clone(), line, keys), timeout, terms.acknowledgements, opened))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Trouble;

    #[test]
    fn a_store_of_another_format_is_refused() {
        let url = crate::place::url("redis://app:s3cret@h").unwrap().unwrap();
        assert!(check(&url, Some("1")).is_ok());
        for version in [None, Some("0"), Some("2"), Some("x")] {
            let error = check(&url, version).unwrap_err();
            assert_eq!(error.trouble(), Trouble::Refused);
            assert!(error.remedy().is_some());
            assert!(!error.to_string().contains("s3cret"));
        }
    }
}
