//! Writes the markdown table.

use std::io::{Result, Write};
use std::time::Duration;

use crate::must::Found;
use crate::numbers::median_time;
use crate::row::{Measured, Row, Sides};

/// Writes the head of the table.
pub(crate) fn head(out: &mut impl Write) -> Result<()> {
    writeln!(out, "| work | against | must | ours (median) | peer (median) | result | verdict |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    out.flush()
}

/// Writes the line of one measured row.
pub(crate) fn line(out: &mut impl Write, row: &Row, measured: &Measured) -> Result<()> {
    let Row { name, against, must, also, .. } = row;
    let Measured { times, also: also_found } = measured;
    let must = joined(must.to_string(), also.as_ref().map(ToString::to_string));
    let ours = time(median_time(&times.ours));
    let (peer, found) = if times.peer.is_empty() {
        (missing(row), None)
    } else {
        let found = row.must.compare(&times.ours, &times.peer);
        (time(median_time(&times.peer)), Some(found))
    };
    let found: Vec<&Found> = [&found, also_found].into_iter().flatten().collect();
    let words: Vec<&str> = found.iter().map(|found| found.words.as_str()).collect();
    let result = if words.is_empty() { "–".to_owned() } else { words.join("; ") };
    let verdict = found.iter().map(|found| found.verdict).max();
    let verdict = verdict.map_or_else(|| "–".to_owned(), |verdict| verdict.to_string());
    writeln!(out, "| {name} | {against} | {must} | {ours} | {peer} | {result} | {verdict} |")
}

/// Writes what the numbers above are made of.
pub(crate) fn foot(out: &mut impl Write, measured: &[Measured]) -> Result<()> {
    let counts: Vec<String> =
        measured.iter().map(|measured| measured.times.ours.len().to_string()).collect();
    writeln!(out)?;
    writeln!(
        out,
        "Times of each side, row by row: {}; ours and the peer in turn. A ratio is the median of \
         the rounds' ratios, `more` the difference of the medians, `p99 more` that of the rounds' \
         differences.",
        counts.join(", ")
    )
}

fn missing(row: &Row) -> String {
    match &row.sides {
        Sides::InTurn { program, .. } => {
            format!("{}: not installed ({})", program.name, program.install)
        }
        Sides::Together(_) => "–".to_owned(),
    }
}

fn joined(first: String, second: Option<String>) -> String {
    match second {
        Some(second) => format!("{first}; {second}"),
        None => first,
    }
}

/// Returns a time as people read it.
pub(crate) fn time(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{:.2} ms", time.as_secs_f64() * 1e3)
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}
