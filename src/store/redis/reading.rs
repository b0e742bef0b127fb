//! Reads a chain: one script, one moment, one round trip.

use super::RedisShelf;
use super::keys::identity;
use super::line::Deadline;
use super::scripts::{READ, Run};
use super::{setup, writing};
use crate::claim::attempt::Attempt;
use crate::claim::key::{Kind, Subject};
use crate::claim::time::Now;
use crate::store::StoreError;
use crate::store::document::{self, Unreadable};
use crate::store::shelf::{Depth, Page, Parent, Wanted, time_of_server};
use crate::store::unreadable::UnreadableRow;

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
type Answer = (i64, Option<String>, String, i64, Vec<Field>);

/// A field of a chain and its value: a generation and its row, or what the scripts keep
/// beside those.
pub(super) type Field = (Vec<u8>, Vec<u8>);

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
        let (ms, version, revision, parent, fields): Answer =
            self.line.ask_by(deadline, |connection| run.on(connection))?;
        setup::check(&self.url, version.as_deref())?;
        let (attempts, unreadable) = rows(wanted.subject, &fields);
        let page = Page {
            now: time_of_server(ms),
            attempts,
            unreadable,
            parent: if parent == 1 { Parent::Holds } else { Parent::Lost },
        };
        Ok(Reading { page, revision, ms, number: self.line.number() })
    }
}

/// The attempts that these fields of a chain are, oldest first, and what cannot be read.
pub(super) fn rows(subject: &Subject, fields: &[Field]) -> (Vec<Attempt>, Vec<UnreadableRow>) {
    let (mut attempts, mut unreadable) = (Vec::new(), Vec::new());
    for (field, row) in fields {
        let generation = str::from_utf8(field).ok().and_then(|field| field.parse().ok());
        match generation.map(|generation| attempt(subject, generation, row)) {
            Some(Ok(attempt)) => attempts.push(attempt),
            Some(Err(row)) => unreadable.push(row),
            None => {}
        }
    }
    attempts.sort_by_key(|attempt| attempt.generation);
    (attempts, unreadable)
}

/// The attempt of a row: a line for the scripts, and its document.
pub(super) fn attempt(
    subject: &Subject,
    generation: i64,
    row: &[u8],
) -> Result<Attempt, UnreadableRow> {
    read(subject.kind, generation, row).map_err(|why| UnreadableRow::of(subject, generation, why))
}

fn read(kind: Kind, generation: i64, row: &[u8]) -> Result<Attempt, Unreadable> {
    let text = str::from_utf8(row).ok().and_then(|row| row.split_once('\n'));
    let (line, text) = text.ok_or("it is no row of a doubletap")?;
    let attempt = document::read(text)?;
    // The scripts go by the line, and by the place. A later release may say more in it.
    let rest = line.strip_prefix(&*writing::line(&attempt, kind));
    let is_so = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    if !is_so || attempt.generation != generation {
        return Err("its first line says something else than its document".into());
    }
    Ok(attempt)
}
