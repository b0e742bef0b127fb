//! One line of the comparison: two sides, measured in turn.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::options::Speed;
use crate::run;

/// Runs one round of a side and returns what it took; whatever it prepares or checks is outside
/// of that time.
pub(crate) type Measure = Box<dyn FnMut() -> Result<Duration>>;

/// What is compared, and how much of it.
pub(crate) struct Row {
    /// The work, as in the design's table of numbers.
    pub(crate) name: &'static str,
    /// What the peer does.
    pub(crate) against: &'static str,
    /// The highest ratio of ours to the peer's that is good enough.
    pub(crate) must: f64,
    /// How often both sides are run.
    pub(crate) rounds: Rounds,
    /// The program without which the peer's side cannot be measured.
    pub(crate) program: Program,
    /// Prepares our side.
    pub(crate) ours: fn() -> Result<Measure>,
    /// Prepares the peer's side; called only if its program is there.
    pub(crate) peer: fn() -> Result<Measure>,
}

/// A program of somebody else's, and where it comes from.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) install: &'static str,
}

pub(crate) const BKT: Program = Program { name: "bkt", install: "cargo install bkt" };
pub(crate) const FLOCK: Program = Program { name: "flock", install: "package util-linux" };

/// Numbers of rounds.
pub(crate) struct Rounds {
    /// Rounds that are run first and not counted.
    pub(crate) warm_up: usize,
    /// Counted rounds.
    pub(crate) full: usize,
    /// Counted rounds with `--quick`.
    pub(crate) quick: usize,
}

impl Rounds {
    /// Returns how many rounds count.
    pub(crate) fn counted(&self, speed: Speed) -> usize {
        match speed {
            Speed::Full => self.full,
            Speed::Quick => self.quick,
        }
    }
}

/// What a row came to.
pub(crate) struct Measured {
    /// The median of our rounds.
    pub(crate) ours: Duration,
    /// The peer's side, if its program is installed.
    pub(crate) peer: Option<Compared>,
}

/// The peer's side of a measured row.
pub(crate) struct Compared {
    /// The median of the peer's rounds.
    pub(crate) median: Duration,
    /// The median of the rounds' ratios, ours over the peer's.
    pub(crate) ratio: f64,
}

impl Row {
    /// Runs both sides in turn: ours, peer, ours, peer …
    pub(crate) fn measure(&self, speed: Speed) -> Result<Measured> {
        let mut ours = (self.ours)().context("preparing ours")?;
        let mut peer = match run::find(self.program.name)? {
            Some(_) => Some((self.peer)().context("preparing the peer")?),
            None => None,
        };
        let mut our_times = Vec::new();
        let mut peer_times = Vec::new();
        for round in 0..self.rounds.warm_up + self.rounds.counted(speed) {
            let our_time = ours().context("ours")?;
            let peer_time = peer.as_mut().map(|run| run().context("the peer")).transpose()?;
            if round >= self.rounds.warm_up {
                our_times.push(our_time);
                peer_times.extend(peer_time);
            }
        }
        Ok(summarize(&our_times, &peer_times))
    }
}

fn summarize(ours: &[Duration], peer: &[Duration]) -> Measured {
    let ratios = ours.iter().zip(peer).map(|(our, their)| our.div_duration_f64(*their));
    let compared = Compared { median: median_time(peer), ratio: median(ratios.collect()) };
    Measured { ours: median_time(ours), peer: (!peer.is_empty()).then_some(compared) }
}

/// Returns the median of some times, zero of none.
pub(crate) fn median_time(times: &[Duration]) -> Duration {
    Duration::from_secs_f64(median(times.iter().map(Duration::as_secs_f64).collect()))
}

/// Returns the middle number, or the mean of the two middle ones; zero of none.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => 0.0,
        count => f64::midpoint(numbers[(count - 1) / 2], numbers[count / 2]),
    }
}
