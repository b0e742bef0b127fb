//! What `stats` says to people.

use std::time::Duration;

use crate::claim::duration::{for_people, for_typing};
use crate::claim::run_times::RunTimes;
use crate::claim::size;
use crate::claim::survey::Ranked;
use crate::claim::time::WallMs;
use crate::report::columns::{Cell, columns, head};
use crate::report::form::Form;
use crate::report::log::{BOUNDS, Calls, LogTally};
use crate::text::escape;

use super::{PERCENTILES, Stats, groups, keys};

/// What stands in place of a name where several are counted together.
const OTHERS: &str = "(others)";

/// What stands in place of an empty name; no prefix is this.
const NOTHING: &str = "-";

/// The tables, with an empty line between them; what is zero is left out.
#[must_use]
pub fn table(stats: &Stats<'_>, form: Form) -> String {
    let survey = stats.survey;
    let mut tables = vec![totals(stats), states(stats)];
    tables.push(run_times(&survey.namespaces, &["KIND", "NAMESPACE"]));
    tables.push(run_times(&survey.prefixes, &["KIND", "NAMESPACE", "PREFIX"]));
    if let Some((_, tally)) = stats.log {
        tables.extend([calls(tally), store_times(tally)]);
    }
    tables.retain(|rows| !rows.is_empty());
    tables.iter().map(|rows| columns(rows, form)).collect::<Vec<_>>().join("\n")
}

fn totals(stats: &Stats<'_>) -> Vec<Vec<Cell>> {
    let survey = stats.survey;
    let sizes = survey.sizes;
    let mut rows = vec![("store", escape(&stats.store.to_string()))];
    // A server has no files that could be counted from here.
    if stats.store.file().is_some() {
        let outputs = size::for_people(sizes.output_files);
        rows.extend([
            ("store file", size::for_people(sizes.file)),
            ("write-ahead log", size::for_people(sizes.log)),
            ("output files", format!("{} with {outputs}", sizes.output_file_count)),
        ]);
    }
    rows.extend(stats.namespace.map(|namespace| ("namespace", namespace.to_string())));
    rows.push(("keys", survey.keys.values().sum::<u64>().to_string()));
    rows.push(("attempts", survey.attempts.to_string()));
    if let Some((oldest, newest)) = survey.started {
        let ago = |at: WallMs| format!("{} ago", for_people(at.age(stats.now.wall)));
        rows.push(("oldest start", ago(oldest)));
        rows.push(("newest start", ago(newest)));
    }
    rows.push(("output kept", size::for_people(survey.output_bytes)));
    if let Some((path, tally)) = stats.log {
        rows.push(("log", escape(&path.to_string_lossy())));
        rows.push(("calls logged", tally.lines.to_string()));
        rows.push(("lines skipped", tally.skipped_lines.to_string()));
    }
    rows.into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect()
}

/// Rows below a head, or nothing at all.
fn below(head: Vec<Cell>, rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
    if rows.is_empty() { rows } else { [vec![head], rows].concat() }
}

fn states(stats: &Stats<'_>) -> Vec<Vec<Cell>> {
    let counted = keys(stats.survey).into_iter().filter(|(_, _, count)| *count > 0);
    let rows = counted.map(|(kind, standing, count)| {
        vec![kind.as_str().into(), standing.into(), count.to_string().into()]
    });
    below(head(&["KIND", "STATE", "KEYS"]), rows.collect())
}

fn run_times(ranked: &Ranked, names: &[&str]) -> Vec<Vec<Cell>> {
    let mut rows: Vec<_> = groups(ranked)
        .into_iter()
        .map(|(group, times)| {
            let prefix = group.prefix.as_deref().map(|prefix| named(prefix).into());
            let name = [group.kind.as_str().into(), group.namespace.as_str().into()];
            name.into_iter().chain(prefix).chain(row(times)).collect()
        })
        .collect();
    if ranked.others.count() > 0 {
        rows.push(names.iter().map(|_| OTHERS.into()).chain(row(&ranked.others)).collect());
    }
    let columns = ["RUNS", "P50", "P90", "P99", "SUGGESTED TTL"];
    below(head(&[names, &columns].concat()), rows)
}

fn named(name: &str) -> &str {
    if name.is_empty() { NOTHING } else { name }
}

fn row(times: &RunTimes) -> Vec<Cell> {
    let percentile = |percent| times.percentile(percent).map_or_else(String::new, brief);
    let mut row: Vec<Cell> = vec![times.count().to_string().into()];
    row.extend(PERCENTILES.map(|percent| percentile(percent).into()));
    row.extend(times.suggested_lease().map(|lease| for_typing(lease).into()));
    row
}

/// A time with the digits that tell it from another.
fn brief(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        0..1000 => format!("{ms}ms"),
        1000..60_000 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        _ => for_people(time),
    }
}

fn calls(tally: &LogTally) -> Vec<Vec<Cell>> {
    let of_source = |source: &str, calls: &Calls| -> Vec<Vec<Cell>> {
        let rows = calls.iter().map(|((verb, outcome), count)| {
            let (verb, outcome) = (verb.as_str().into(), outcome.as_str().into());
            vec![verb, outcome, source.into(), count.to_string().into()]
        });
        rows.collect()
    };
    let named = tally.sources.iter().map(|(name, calls)| of_source(&escape(named(name)), calls));
    let rows = named.chain([of_source(OTHERS, &tally.others)]).flatten().collect();
    below(head(&["VERB", "OUTCOME", "SOURCE", "CALLS"]), rows)
}

fn store_times(tally: &LogTally) -> Vec<Vec<Cell>> {
    let bounds = BOUNDS.map(|bound| format!("up to {}", brief(Duration::from_millis(bound))));
    let last = BOUNDS.last().copied().map(|bound| brief(Duration::from_millis(bound)));
    let longer = format!("more than {}", last.unwrap_or_default());
    let counted = bounds.into_iter().chain([longer]).zip(tally.store);
    let rows = counted.filter(|(_, count)| *count > 0);
    below(
        head(&["TIME IN THE STORE", "CALLS"]),
        rows.map(|(bound, count)| vec![bound.into(), count.to_string().into()]).collect(),
    )
}
