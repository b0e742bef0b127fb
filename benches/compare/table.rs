//! Writes the markdown table.

use std::io::{Result, Write};
use std::time::Duration;

use crate::options::Speed;
use crate::row::{Measured, Row};

/// Writes the head of the table.
pub(crate) fn head(out: &mut impl Write) -> Result<()> {
    writeln!(out, "| work | against | must | ours (median) | peer (median) | ratio | verdict |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    out.flush()
}

/// Writes the line of one measured row.
pub(crate) fn line(out: &mut impl Write, row: &Row, measured: &Measured) -> Result<()> {
    let Row { name, against, must, program, .. } = row;
    let ours = time(measured.ours);
    let rest = match &measured.peer {
        None => format!("{}: not installed ({}) | – | –", program.name, program.install),
        Some(peer) => {
            let verdict = if peer.ratio <= *must { "ok" } else { "over" };
            format!("{} | {:.2}× | {verdict}", time(peer.median), peer.ratio)
        }
    };
    writeln!(out, "| {name} | {against} | ≤ {must:.1}× | {ours} | {rest} |")
}

/// Writes what the numbers above are made of.
pub(crate) fn foot(out: &mut impl Write, rows: &[&Row], speed: Speed) -> Result<()> {
    let rounds: Vec<String> =
        rows.iter().map(|row| row.rounds.counted(speed).to_string()).collect();
    writeln!(out)?;
    writeln!(
        out,
        "Rounds, row by row: {}; ours and the peer in turn. Ratio: the median of the rounds' ratios.",
        rounds.join(", ")
    )
}

/// Returns a time as people read it.
pub(crate) fn time(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{:.2} ms", time.as_secs_f64() * 1e3)
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}
