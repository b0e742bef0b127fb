//! What the lines of a log come to (`--log`): calls by verb, outcome and source,
//! and how long they spent in the store.
//!
//! Others write while it is read, and it may be large: it is read once from its
//! beginning, and little is kept.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};

use serde::Deserialize;

use crate::cli::is_verb;

use super::line::CallOutcome;

/// The longest line that is looked at, in bytes. The longest that we write has a
/// label as long as an argument may be, with all of it escaped.
const LONGEST: u64 = 1 << 20;

/// How many sources are told apart.
const SOURCES: usize = 20;

/// How many sources are counted at once while they are ranked.
const RANKED: usize = 1000;

/// The upper ends of the classes of times in the store, in ms.
pub const BOUNDS: [u64; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/// How often a call came to what.
pub type Calls = BTreeMap<(String, CallOutcome), u64>;

/// What a log comes to.
#[derive(Debug, Default)]
pub struct LogTally {
    /// How many lines are of ours, and in the namespace that was asked for.
    pub lines: u64,
    /// How many are not of ours, or not whole.
    pub skipped_lines: u64,
    /// The calls of the sources with the most; of those that have no label, under
    /// the empty one.
    pub sources: BTreeMap<String, Calls>,
    /// The calls of all others.
    pub others: Calls,
    /// How many calls spent less time in the store than each of [`BOUNDS`], and
    /// not less than the one before; the last of them longer than all.
    pub store: [u64; BOUNDS.len() + 1],
    /// The times that all of them spent in the store, in ms.
    pub store_ms: u64,
}

/// What is read of a line. All that we write have it.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, rename = "ts")]
    _ts: Cow<'a, str>,
    #[serde(borrow)]
    verb: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow, rename = "key")]
    _key: Option<Cow<'a, str>>,
    outcome: CallOutcome,
    store_ms: u64,
    #[serde(borrow)]
    source: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "version")]
    _version: Cow<'a, str>,
}

impl LogTally {
    /// Reads a log to its end, or only what it says of one namespace.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(mut log: impl BufRead, namespace: Option<&str>) -> io::Result<Self> {
        let mut tally = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            if log.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.len() as u64 == LONGEST && !line.ends_with(b"\n") {
                log.skip_until(b'\n')?;
                tally.skipped_lines += 1;
                continue;
            }
            match serde_json::from_slice::<Entry<'_>>(&line) {
                Ok(entry) if is_verb(&entry.verb) => {
                    if namespace.is_none_or(|namespace| namespace == entry.namespace) {
                        tally.count(&entry);
                    }
                }
                _ => tally.skipped_lines += 1,
            }
        }
        tally.keep_largest(SOURCES);
        Ok(tally)
    }

    /// How many calls spent at most so long in the store, for each of [`BOUNDS`],
    /// and how many in all.
    #[must_use]
    pub fn store_counts_up(&self) -> [u64; BOUNDS.len() + 1] {
        let mut so_far = 0;
        self.store.map(|count| {
            so_far += count;
            so_far
        })
    }

    fn count(&mut self, entry: &Entry<'_>) {
        let source = entry.source.as_deref().unwrap_or_default();
        if !self.sources.contains_key(source) {
            if self.sources.len() >= RANKED {
                self.keep_largest(RANKED / 2);
            }
            self.sources.insert(source.to_owned(), Calls::new());
        }
        if let Some(calls) = self.sources.get_mut(source) {
            let call = (entry.verb.clone().into_owned(), entry.outcome);
            *calls.entry(call).or_default() += 1;
        }
        self.lines += 1;
        // What is written is whole milliseconds: 1 is less than 2.
        let class = BOUNDS.partition_point(|bound| *bound <= entry.store_ms);
        self.store[class] += 1;
        self.store_ms = self.store_ms.saturating_add(entry.store_ms);
    }

    /// Counts the sources with fewer calls together.
    fn keep_largest(&mut self, most: usize) {
        if self.sources.len() <= most {
            return;
        }
        let mut ranked: Vec<_> = std::mem::take(&mut self.sources).into_iter().collect();
        ranked.sort_by_key(|(_, calls)| std::cmp::Reverse(calls.values().sum::<u64>()));
        for (_, calls) in ranked.split_off(most) {
            for (call, count) in calls {
                *self.others.entry(call).or_default() += count;
            }
        }
        self.sources = ranked.into_iter().collect();
    }
}
