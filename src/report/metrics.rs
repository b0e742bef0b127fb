//! `stats --prometheus`: the text format that Prometheus reads, as its textfile
//! collector takes it (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
//!
//! Run times are gauges, not a summary: they are of the attempts that are kept, and
//! a prune takes some away, which a rate over a counter would misread. What is
//! counted in the log only grows, until the log is put away.

use std::fmt::Write as _;
use std::time::Duration;

use crate::claim::run_times::RunTimes;
use crate::claim::survey::{Group, Ranked};

use super::document::ms;
use super::log::{BOUNDS, LogTally};
use super::stats::{PERCENTILES, Stats, groups, keys};

/// The source under which all that are not told apart are counted.
const OTHERS: &str = "(others)";

/// One metric and all its samples.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    samples: Vec<Sample>,
}

/// A line: what is added to the name, labels, and a value.
struct Sample {
    suffix: &'static str,
    labels: Vec<(&'static str, String)>,
    value: String,
}

fn sample(labels: Vec<(&'static str, String)>, value: &dyn ToString) -> Sample {
    Sample { suffix: "", labels, value: value.to_string() }
}

fn gauge(name: &'static str, help: &'static str, mut samples: Vec<Sample>) -> Family {
    samples.sort_by(|one, other| one.labels.cmp(&other.labels));
    Family { name, kind: "gauge", help, samples }
}

fn counter(name: &'static str, help: &'static str, samples: Vec<Sample>) -> Family {
    Family { kind: "counter", ..gauge(name, help, samples) }
}

/// All metrics, sorted by their names, and within by their labels.
#[must_use]
pub fn exposition(stats: &Stats<'_>) -> String {
    let mut families = of_store(stats);
    families.extend(of_runs(&stats.survey.namespaces, &NAMESPACES));
    families.extend(of_runs(&stats.survey.prefixes, &PREFIXES));
    families.extend(stats.log.into_iter().flat_map(|(_, tally)| of_log(tally)));
    families.retain(|family| !family.samples.is_empty());
    families.sort_by_key(|family| family.name);
    families.iter().map(write_out).collect()
}

fn write_out(family: &Family) -> String {
    let Family { name, kind, help, samples } = family;
    let mut text = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    for Sample { suffix, labels, value } in samples {
        let labels = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", quoted(value)));
        let labels = labels.collect::<Vec<_>>().join(",");
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        // Writing to a text does not fail.
        let _ = writeln!(text, "{name}{suffix}{labels} {value}");
    }
    text
}

/// A label's value as it stands between quotes.
fn quoted(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Milliseconds in seconds, to the digit.
fn seconds(ms: impl Into<i128>) -> String {
    let ms: i128 = ms.into();
    let sign = if ms < 0 { "-" } else { "" };
    let (whole, part) = (ms.unsigned_abs() / 1000, ms.unsigned_abs() % 1000);
    let text = format!("{sign}{whole}.{part:03}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn of_store(stats: &Stats<'_>) -> Vec<Family> {
    let survey = stats.survey;
    let single = |name, help, value: u64| gauge(name, help, vec![sample(Vec::new(), &value)]);
    let by_state = keys(survey).into_iter().map(|(kind, standing, count)| {
        let labels = [("kind", kind.as_str()), ("state", standing.as_str())];
        sample(labels.map(|(label, value)| (label, value.to_owned())).to_vec(), &count)
    });
    let start = |name, help, at: Option<i64>| {
        let at = at.map(|ms| sample(Vec::new(), &seconds(ms)));
        gauge(name, help, at.into_iter().collect())
    };
    vec![
        gauge("doubletap_keys", "Keys by kind and state.", by_state.collect()),
        single("doubletap_attempts", "Attempts that are kept.", survey.attempts),
        start(
            "doubletap_oldest_attempt_timestamp_seconds",
            "When the oldest attempt that is kept started.",
            survey.started.map(|(oldest, _)| oldest.0),
        ),
        start(
            "doubletap_newest_attempt_timestamp_seconds",
            "When the newest attempt that is kept started.",
            survey.started.map(|(_, newest)| newest.0),
        ),
        single(
            "doubletap_output_kept_bytes",
            "Output of commands that is kept.",
            survey.output_bytes,
        ),
        single("doubletap_store_file_bytes", "Size of the store's file.", survey.sizes.file),
        single("doubletap_store_log_bytes", "Size of its write-ahead log.", survey.sizes.log),
        single(
            "doubletap_output_files",
            "Files of outputs beside the store.",
            survey.sizes.output_file_count,
        ),
        single(
            "doubletap_output_file_bytes",
            "Size of the files of outputs beside the store.",
            survey.sizes.output_files,
        ),
    ]
}

/// What the metrics of one way to group are called.
struct Names {
    times: &'static str,
    runs: &'static str,
    lease: &'static str,
    others: &'static str,
}

const NAMESPACES: Names = Names {
    times: "doubletap_namespace_run_time_seconds",
    runs: "doubletap_namespace_runs",
    lease: "doubletap_namespace_suggested_lease_seconds",
    others: "doubletap_namespace_runs_of_others",
};

const PREFIXES: Names = Names {
    times: "doubletap_prefix_run_time_seconds",
    runs: "doubletap_prefix_runs",
    lease: "doubletap_prefix_suggested_lease_seconds",
    others: "doubletap_prefix_runs_of_others",
};

fn of_runs(ranked: &Ranked, names: &Names) -> Vec<Family> {
    let groups = groups(ranked);
    let each = |value: &dyn Fn(&RunTimes) -> Option<String>| -> Vec<Sample> {
        let samples = groups
            .iter()
            .filter_map(|(group, times)| value(times).map(|value| sample(labels(group), &value)));
        samples.collect()
    };
    let times = PERCENTILES.into_iter().flat_map(|percent| {
        let samples = each(&|times| times.percentile(percent).map(in_seconds));
        samples.into_iter().map(move |mut sample| {
            sample.labels.push(("percentile", percent.to_string()));
            sample
        })
    });
    let others = Some(ranked.others.count()).filter(|count| *count > 0);
    vec![
        gauge(
            names.times,
            "How long commands ran, of the attempts that are kept.",
            times.collect(),
        ),
        gauge(
            names.runs,
            "Attempts that are kept of commands that ran and ended.",
            each(&|times| Some(times.count().to_string())),
        ),
        gauge(
            names.lease,
            "Three times the 99th percentile, at least 2 seconds and rounded up.",
            each(&|times| times.suggested_lease().map(in_seconds)),
        ),
        gauge(
            names.others,
            "The same of all that are not told apart.",
            others.into_iter().map(|count| sample(Vec::new(), &count)).collect(),
        ),
    ]
}

fn in_seconds(duration: Duration) -> String {
    seconds(ms(duration))
}

fn labels(group: &Group) -> Vec<(&'static str, String)> {
    let mut labels =
        vec![("kind", group.kind.as_str().to_owned()), ("namespace", group.namespace.to_string())];
    labels.extend(group.prefix.clone().map(|prefix| ("prefix", prefix)));
    labels
}

fn of_log(tally: &LogTally) -> Vec<Family> {
    let mut by_source = tally.sources.clone();
    // A source of that very name is one of them.
    let others = by_source.entry(OTHERS.to_owned()).or_default();
    for (call, count) in &tally.others {
        *others.entry(call.clone()).or_default() += count;
    }
    let calls = by_source.iter().flat_map(|(source, calls)| {
        calls.iter().map(|((verb, outcome), count)| {
            let labels = [("outcome", outcome.as_str()), ("source", source), ("verb", verb)];
            sample(labels.map(|(label, value)| (label, value.to_owned())).to_vec(), count)
        })
    });
    vec![
        counter("doubletap_calls_total", "Calls in the log.", calls.collect()),
        counter(
            "doubletap_log_lines_skipped_total",
            "Lines of the log that are not of doubletap, or not whole.",
            vec![sample(Vec::new(), &tally.skipped_lines)],
        ),
        store_times(tally),
    ]
}

fn store_times(tally: &LogTally) -> Family {
    let bounds = BOUNDS.into_iter().map(seconds).chain(["+Inf".to_owned()]);
    let mut samples: Vec<_> = bounds
        .zip(tally.store_counts_up())
        .map(|(le, count)| Sample { suffix: "_bucket", ..sample(vec![("le", le)], &count) })
        .collect();
    samples.push(Sample { suffix: "_sum", ..sample(Vec::new(), &seconds(tally.store_ms)) });
    samples.push(Sample { suffix: "_count", ..sample(Vec::new(), &tally.lines) });
    Family {
        name: "doubletap_store_time_seconds",
        kind: "histogram",
        help: "How long calls in the log spent in the store, each in whole milliseconds.",
        samples,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_the_digits_of_the_milliseconds() {
        let expected = [(0, "0"), (1, "0.001"), (100, "0.1"), (10_000, "10"), (-1500, "-1.5")];
        for (ms, text) in expected {
            assert_eq!(seconds(ms), text);
        }
    }

    #[test]
    fn a_label_cannot_end_its_quotes_or_its_line() {
        assert_eq!(quoted("a\\b\"c\nd"), r#"a\\b\"c\nd"#);
    }
}
