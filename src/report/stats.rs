//! What `stats` says: one set of numbers, as a table for people and as a document
//! of JSON here, and as metrics in [`metrics`](super::metrics).

mod document;
mod plain;

use std::path::Path;

use crate::claim::key::{Kind, Namespace};
use crate::claim::run_times::RunTimes;
use crate::claim::standing::Standing;
use crate::claim::survey::{Group, Ranked, Survey};
use crate::claim::time::Now;
use crate::place::Place;

use super::log::LogTally;

pub use document::{
    AttemptsDocument, BucketDocument, CallsDocument, GroupDocument, LogDocument, RunTimesDocument,
    StatsDocument, StoreDocument, StoreTimesDocument, document,
};
pub use plain::table;

/// Everything that `stats` knows.
#[derive(Debug)]
pub struct Stats<'a> {
    /// What the store comes to.
    pub survey: &'a Survey,
    /// The only namespace that was counted.
    pub namespace: Option<&'a Namespace>,
    /// The store.
    pub store: &'a Place,
    /// The log that was read and what it comes to.
    pub log: Option<(&'a Path, &'a LogTally)>,
    /// When it was counted.
    pub now: &'a Now,
}

/// The percentiles that are told.
pub(super) const PERCENTILES: [u8; 3] = [50, 90, 99];

/// How many keys are in each state that they can be in.
pub(super) fn keys(survey: &Survey) -> Vec<(Kind, Standing, u64)> {
    let can_be = |kind| match kind {
        Kind::Once | Kind::Step => Standing::OF_ONCE,
        Kind::Lease => Standing::OF_LEASE,
    };
    let mut keys = Vec::new();
    for kind in [Kind::Once, Kind::Lease] {
        let count = |standing| survey.keys.get(&(kind, standing)).copied().unwrap_or(0);
        keys.extend(can_be(kind).map(|standing| (kind, standing, count(standing))));
    }
    let others = survey.keys.iter().filter(|((kind, state), _)| !can_be(*kind).contains(state));
    keys.extend(others.map(|((kind, state), count)| (*kind, *state, *count)));
    keys
}

/// The groups in which something ran, the one with the most first.
pub(super) fn groups(ranked: &Ranked) -> Vec<(&Group, &RunTimes)> {
    let all = ranked.groups.iter().map(|(group, times)| (group, times));
    let mut ran: Vec<_> = all.filter(|(_, times)| times.count() > 0).collect();
    ran.sort_by_key(|(group, times)| (std::cmp::Reverse(times.count()), *group));
    ran
}
