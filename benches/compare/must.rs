//! What a row must keep to, and whether it does.

use std::fmt;
use std::iter::zip;
use std::time::Duration;

use anyhow::Result;

use crate::idle::Spent;
use crate::numbers::{median, percentile, seconds};

/// The limit of a row's times.
pub(crate) enum Must {
    /// The most that the median of the rounds' ratios, ours over the peer's, may be.
    Ratio(f64),
    /// The most by which the median of our times may exceed the median of the peer's.
    MedianMore(Duration),
    /// The most by which a time of ours may exceed the peer's of the same round, in all but one
    /// round of a hundred.
    P99More(Duration),
    /// The most by which the longest of our times may exceed the median of the peer's.
    LongestMore(Duration),
}

/// A limit of something else than time, found out in rounds of its own that are not timed.
pub(crate) enum Also {
    /// The most memory that a process may have had at any moment, in KiB.
    Memory { most_kib: u64, peak_kib: fn() -> Result<u64> },
    /// How often a process that has nothing to do may be woken, using no processor time.
    Idle { most_switches: u64, spent: fn() -> Result<Spent> },
    /// What a process may have in memory that holds a name, in KiB, and how often it may be woken
    /// while four renewals go by.
    Held {
        most_kib: u64,
        peak_kib: fn() -> Result<u64>,
        most_switches: u64,
        spent: fn() -> Result<Spent>,
    },
}

/// What was found, in words, and whether it keeps to the limit.
pub(crate) struct Found {
    pub(crate) words: String,
    pub(crate) verdict: Verdict,
}

/// Whether a limit is kept; the worse one is the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Kept,
    Over,
}

impl Must {
    /// Holds the times of both sides to the limit; those of one round have the same place.
    pub(crate) fn compare(&self, ours: &[Duration], peer: &[Duration]) -> Found {
        let (ours, peer) = (seconds(ours), seconds(peer));
        match self {
            Self::Ratio(most) => {
                let ratios: Vec<f64> = zip(&ours, &peer).map(|(our, their)| our / their).collect();
                let ratio = median(&ratios);
                Found { words: format!("{ratio:.2}×"), verdict: Verdict::of(ratio <= *most) }
            }
            Self::MedianMore(most) => {
                let more = median(&ours) - median(&peer);
                let at = |percent| percentile(&ours, percent) - percentile(&peer, percent);
                let [p90, max] = [at(90), at(100)].map(signed);
                let words = format!("{} (p90 {p90}, max {max})", signed(more));
                Found { words, verdict: Verdict::of(more <= most.as_secs_f64()) }
            }
            Self::LongestMore(most) => {
                let usual = median(&peer);
                let at = |percent| signed(percentile(&ours, percent) - usual);
                let longest = percentile(&ours, 100) - usual;
                let words = format!(
                    "longest {} (median {}, p99 {}, of {})",
                    signed(longest),
                    at(50),
                    at(99),
                    ours.len()
                );
                Found { words, verdict: Verdict::of(longest <= most.as_secs_f64()) }
            }
            Self::P99More(most) => {
                let more: Vec<f64> = zip(&ours, &peer).map(|(our, their)| our - their).collect();
                let [p50, p99, max] = [50, 99, 100].map(|percent| percentile(&more, percent));
                let [median, tail, worst] = [p50, p99, max].map(signed);
                let words = format!("p99 {tail} (median {median}, max {worst})");
                Found { words, verdict: Verdict::of(p99 <= most.as_secs_f64()) }
            }
        }
    }
}

impl Also {
    /// Finds out.
    pub(crate) fn find_out(&self) -> Result<Found> {
        Ok(match self {
            Self::Memory { most_kib, peak_kib } => {
                let kib = peak_kib()?;
                Found { words: memory(kib), verdict: Verdict::of(kib <= *most_kib) }
            }
            Self::Held { most_kib, peak_kib, most_switches, spent } => {
                let (kib, Spent { ticks, switches }) = (peak_kib()?, spent()?);
                let words = format!("{}, {switches} switches in 4 renewals", memory(kib));
                let kept = kib <= *most_kib && switches <= *most_switches && ticks == 0;
                Found { words, verdict: Verdict::of(kept) }
            }
            Self::Idle { most_switches, spent } => {
                let Spent { ticks, switches } = spent()?;
                let verdict = Verdict::of(ticks == 0 && switches <= *most_switches);
                Found { words: format!("{ticks} ticks, {switches} switches"), verdict }
            }
        })
    }
}

impl Verdict {
    fn of(kept: bool) -> Self {
        if kept { Self::Kept } else { Self::Over }
    }
}

impl fmt::Display for Must {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(most) => write!(f, "≤ {most:.1}×"),
            Self::MedianMore(most) => write!(f, "≤ {} ms more", most.as_millis()),
            Self::P99More(most) => write!(f, "p99 ≤ {} ms more", most.as_millis()),
            Self::LongestMore(most) => write!(f, "longest ≤ {} ms more", most.as_millis()),
        }
    }
}

impl fmt::Display for Also {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { most_kib, .. } => write!(f, "RSS ≤ {} MiB", most_kib >> 10),
            Self::Idle { .. } => f.write_str("no CPU while waiting"),
            Self::Held { most_kib, .. } => {
                write!(f, "held: RSS ≤ {} MiB, a wake-up per renewal", most_kib >> 10)
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kept => "ok",
            Self::Over => "over",
        })
    }
}

fn memory(kib: u64) -> String {
    let tenths = (kib * 10).div_ceil(1 << 10);
    format!("RSS {}.{} MiB", tenths / 10, tenths % 10)
}

/// Returns a difference, given in seconds, as people read it.
fn signed(seconds: f64) -> String {
    let sign = if seconds < 0.0 { '−' } else { '+' };
    format!("{sign}{:.2} ms", seconds.abs() * 1e3)
}
