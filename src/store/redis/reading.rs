//! Reads a chain: one script, one moment, one round trip.

use super::RedisShelf;
use super::keys::identity;
use super::line::Deadline;
use super::scripts::{READ, Run};
use super::setup;
use crate::claim::attempt::Attempt;
use crate::claim::key::Kind;
use crate::claim::time::Now;
use crate::store::shelf::{Depth, Page, Parent, Wanted, time_of_server};
use crate::store::{StoreError, Trouble, document};

/// A page, and what it takes to say whether it is still true.
pub(super) struct Reading {
    pub(super) page: Page,
    /// The number of the chain's last change.
    pub(super) revision: String,
    /// The server's clock.
    pub(super) ms: i64,
    /// The connection that it was read on.
    pub(super) number: u64,
}

/// The time of the server, by what `TIME` answers: seconds, and microseconds beyond them.
pub(super) fn clock((seconds, micros): (i64, i64)) -> Now {
    time_of_server(seconds * 1000 + micros / 1000)
}

/// What the script answers.
type Answer = (i64, Option<String>, String, i64, Vec<Vec<u8>>);

impl RedisShelf {
    /// Reads what is wanted of a chain.
    pub(super) fn read_chain(
        &mut self,
        wanted: Wanted<'_>,
        deadline: Deadline,
    ) -> Result<Reading, StoreError> {
        let keys = &self.keys;
        let (depth, kind) = (wanted.depth, wanted.subject.kind);
        let whole = depth == Depth::Whole || kind == Kind::Lease;
        let fence = |fence: i64| fence.to_string();
        let mut named = vec![keys.version(), keys.chain(wanted.subject), keys.fences()];
        let mut arguments = vec![
            if whole { "whole" } else { "decision" }.to_owned(),
            identity(wanted.subject),
            wanted.own.map_or_else(String::new, |own| fence(own.0)),
        ];
        match wanted.parent {
            Some(parent) => {
                named.push(keys.chain(&parent.subject));
                arguments.push(identity(&parent.subject));
                arguments.extend([fence(parent.fence.0), parent.token.to_string()]);
            }
            None => arguments.extend([const { String::new() }; 3]),
        }
        let run = Run::of(&READ, &named, &arguments);
        let (ms, version, revision, parent, rows): Answer =
            self.line.ask_by(deadline, |connection| run.on(connection))?;
        setup::check(&self.url, version.as_deref())?;
        let page = Page {
            now: time_of_server(ms),
            attempts: attempts(&rows)?,
            parent: if parent == 1 { Parent::Holds } else { Parent::Lost },
        };
        Ok(Reading { page, revision, ms, number: self.line.number() })
    }
}

/// The attempts that these values of a chain are, oldest first. Those that are no rows are
/// left out.
pub(super) fn attempts(values: &[Vec<u8>]) -> Result<Vec<Attempt>, StoreError> {
    let rows = values.iter().filter(|value| value.contains(&b'\n'));
    let mut attempts = rows.map(|row| attempt(row)).collect::<Result<Vec<_>, _>>()?;
    attempts.sort_by_key(|attempt| attempt.generation);
    Ok(attempts)
}

/// The attempt of a row: a line for the scripts, and its document.
pub(super) fn attempt(row: &[u8]) -> Result<Attempt, StoreError> {
    let text = str::from_utf8(row).ok().and_then(|row| row.split_once('\n'));
    let (_, text) = text.ok_or_else(|| {
        StoreError::new(Trouble::Damaged, "the store holds a row that no doubletap wrote")
            .with_remedy("restore it, or name another with --store")
    })?;
    document::read(text)
}
