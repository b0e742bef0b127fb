//! The JSON document of `stats`. Its shape is stable: fields may be added.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::claim::duration::for_typing;
use crate::claim::run_times::RunTimes;
use crate::claim::survey::{Group, Ranked};
use crate::report::document::{ms, timestamp};
use crate::report::log::{BOUNDS, Calls, LogTally};

use super::{Stats, groups, keys};

/// What a store comes to, and a log.
#[derive(Debug, Serialize)]
pub struct StatsDocument {
    /// The namespace that was counted; null for all.
    pub namespace: Option<String>,
    /// How many keys are in which state, by kind (`once`, `lease`) and state.
    /// States that no key is in are there with 0.
    pub keys: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// The attempts.
    pub attempts: AttemptsDocument,
    /// The whole store, whichever namespace was counted.
    pub store: StoreDocument,
    /// How long commands ran.
    pub run_times: RunTimesDocument,
    /// The calls in the log; null without `--log`.
    pub log: Option<LogDocument>,
}

/// The attempts, of all states.
#[derive(Debug, Serialize)]
pub struct AttemptsDocument {
    /// How many there are.
    pub count: u64,
    /// When the oldest started, RFC 3339 in UTC; null if there are none.
    pub oldest_start: Option<String>,
    /// When the newest started.
    pub newest_start: Option<String>,
    /// How many bytes of their output are kept.
    pub output_bytes: u64,
}

/// The store's files.
#[derive(Debug, Serialize)]
pub struct StoreDocument {
    /// Where it is.
    pub path: String,
    /// Its size.
    pub file_bytes: u64,
    /// The size of its write-ahead log.
    pub log_bytes: u64,
    /// How many files of outputs are beside it.
    pub output_files: u64,
    /// Their size.
    pub output_file_bytes: u64,
}

/// How long commands ran, by group. The groups with the most attempts are told
/// apart, 20 at the most, the one with the most runs first.
#[derive(Debug, Serialize)]
pub struct RunTimesDocument {
    /// By kind and namespace.
    pub by_namespace: Vec<GroupDocument>,
    /// All other namespaces together; null if there are none.
    pub other_namespaces: Option<GroupDocument>,
    /// By kind, namespace and prefix: a key up to its first digit or one of
    /// `-_:/.@#`.
    pub by_prefix: Vec<GroupDocument>,
    /// All other prefixes together; null if there are none.
    pub other_prefixes: Option<GroupDocument>,
}

/// How long the commands of a group ran. Percentiles are by the nearest rank; times
/// of nearly one length (within 1 in 128) may count as the longest of them.
#[derive(Debug, Serialize)]
pub struct GroupDocument {
    /// `once` or `lease`; null for others together.
    pub kind: Option<&'static str>,
    /// The namespace; null for others together.
    pub namespace: Option<String>,
    /// The prefix, which is empty for keys that begin with what ends one; null
    /// where it does not tell groups apart.
    pub prefix: Option<String>,
    /// How many ended attempts ran.
    pub runs: u64,
    /// Half of them ran at most so long.
    pub p50_ms: u64,
    /// Nine of ten.
    pub p90_ms: u64,
    /// 99 of a hundred.
    pub p99_ms: u64,
    /// Three times the last, at least 2 s and rounded up: a `--claim-ttl`, or the
    /// `--ttl` of a lease.
    pub suggested_lease_ms: u64,
    /// The same as it is typed.
    pub suggested_lease: String,
}

/// What a log comes to.
#[derive(Debug, Serialize)]
pub struct LogDocument {
    /// Where it is.
    pub path: String,
    /// How many lines are about calls, in the namespace that was counted.
    pub lines: u64,
    /// How many lines are not: not ours, or not whole.
    pub skipped_lines: u64,
    /// The calls. The sources with the most are told apart, 20 at the most.
    pub calls: Vec<CallsDocument>,
    /// The calls of all other sources together, with a null for the source.
    pub other_calls: Vec<CallsDocument>,
    /// How long the calls spent in the store.
    pub store_times: StoreTimesDocument,
}

/// How many calls came to an outcome.
#[derive(Debug, Serialize)]
pub struct CallsDocument {
    /// The verb.
    pub verb: String,
    /// What they came to.
    pub outcome: &'static str,
    /// Their label, which is empty where they have none.
    pub source: Option<String>,
    /// How many they are.
    pub count: u64,
}

/// How long calls spent in the store, each in whole milliseconds.
#[derive(Debug, Serialize)]
pub struct StoreTimesDocument {
    /// How many calls spent at most so long.
    pub buckets: Vec<BucketDocument>,
    /// How long all of them spent together.
    pub sum_ms: u64,
    /// How many they are.
    pub count: u64,
}

/// How many calls spent at most so long; each bucket has what the one before has.
#[derive(Debug, Serialize)]
pub struct BucketDocument {
    /// The longest time; null for any.
    pub le_ms: Option<u64>,
    /// How many calls.
    pub count: u64,
}

/// The document.
#[must_use]
pub fn document(stats: &Stats<'_>) -> StatsDocument {
    let survey = stats.survey;
    let mut by_kind = BTreeMap::<_, BTreeMap<_, _>>::new();
    for (kind, standing, count) in keys(survey) {
        by_kind.entry(kind.as_str()).or_default().insert(standing.as_str(), count);
    }
    StatsDocument {
        namespace: stats.namespace.map(ToString::to_string),
        keys: by_kind,
        attempts: AttemptsDocument {
            count: survey.attempts,
            oldest_start: survey.started.map(|(oldest, _)| timestamp(oldest)),
            newest_start: survey.started.map(|(_, newest)| timestamp(newest)),
            output_bytes: survey.output_bytes,
        },
        store: StoreDocument {
            path: stats.store.to_string(),
            file_bytes: survey.sizes.file,
            log_bytes: survey.sizes.log,
            output_files: survey.sizes.output_file_count,
            output_file_bytes: survey.sizes.output_files,
        },
        run_times: RunTimesDocument {
            by_namespace: all_of(&survey.namespaces),
            other_namespaces: group(None, &survey.namespaces.others),
            by_prefix: all_of(&survey.prefixes),
            other_prefixes: group(None, &survey.prefixes.others),
        },
        log: stats.log.map(|(path, tally)| log(path.to_string_lossy().into_owned(), tally)),
    }
}

fn all_of(ranked: &Ranked) -> Vec<GroupDocument> {
    groups(ranked).into_iter().filter_map(|(name, times)| group(Some(name), times)).collect()
}

fn group(name: Option<&Group>, times: &RunTimes) -> Option<GroupDocument> {
    let suggested = times.suggested_lease()?;
    let percentile = |percent| times.percentile(percent).map(ms);
    Some(GroupDocument {
        kind: name.map(|name| name.kind.as_str()),
        namespace: name.map(|name| name.namespace.to_string()),
        prefix: name.and_then(|name| name.prefix.clone()),
        runs: times.count(),
        p50_ms: percentile(50)?,
        p90_ms: percentile(90)?,
        p99_ms: percentile(99)?,
        suggested_lease_ms: ms(suggested),
        suggested_lease: for_typing(suggested),
    })
}

fn log(path: String, tally: &LogTally) -> LogDocument {
    let of_source = |source: &String, calls| documents(Some(source), calls);
    let bounds = BOUNDS.into_iter().map(Some).chain([None]);
    LogDocument {
        path,
        lines: tally.lines,
        skipped_lines: tally.skipped_lines,
        calls: tally.sources.iter().flat_map(|(source, calls)| of_source(source, calls)).collect(),
        other_calls: documents(None, &tally.others),
        store_times: StoreTimesDocument {
            buckets: bounds
                .zip(tally.store_counts_up())
                .map(|(le_ms, count)| BucketDocument { le_ms, count })
                .collect(),
            sum_ms: tally.store_ms,
            count: tally.lines,
        },
    }
}

fn documents(source: Option<&String>, calls: &Calls) -> Vec<CallsDocument> {
    let documents = calls.iter().map(|((verb, outcome), count)| CallsDocument {
        verb: verb.clone(),
        outcome: outcome.as_str(),
        source: source.cloned(),
        count: *count,
    });
    documents.collect()
}
