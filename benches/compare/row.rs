//! One line of the comparison: two sides, and what ours must keep to.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::interrupt::Interrupt;
use crate::must::{Also, Found, Must};
use crate::options::Speed;
use crate::run;

/// Runs one round of a side and returns what it took; whatever it prepares or checks is outside
/// of that time.
pub(crate) type Measure = Box<dyn FnMut() -> Result<Duration>>;

/// Runs one round of both sides at once, or as many of each as fit.
pub(crate) type MeasureBoth = Box<dyn FnMut() -> Result<Times>>;

/// What is compared, and how much of it.
pub(crate) struct Row {
    /// The work, as in the design's table of numbers.
    pub(crate) name: &'static str,
    /// What the peer does.
    pub(crate) against: &'static str,
    /// What our times must keep to, beside the peer's.
    pub(crate) must: Must,
    /// What else we must keep to.
    pub(crate) also: Option<Also>,
    /// How often both sides are run.
    pub(crate) rounds: Rounds,
    /// How both sides are run.
    pub(crate) sides: Sides,
}

/// How the two sides of a row are measured.
pub(crate) enum Sides {
    /// In turn: ours, peer, ours, peer …
    InTurn {
        /// Prepares our side.
        ours: fn() -> Result<Measure>,
        /// Prepares the peer's side; called only if its program is there.
        peer: fn() -> Result<Measure>,
        /// The program without which the peer's side cannot be measured.
        program: Program,
    },
    /// In rounds that yield times of both: we are compared to ourselves.
    Together(fn() -> Result<MeasureBoth>),
}

/// A program of somebody else's, and where it comes from.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) install: &'static str,
}

pub(crate) const BKT: Program = Program { name: "bkt", install: "cargo install bkt" };
pub(crate) const FLOCK: Program = Program { name: "flock", install: "package util-linux" };
pub(crate) const TEE: Program = Program { name: "tee", install: "package coreutils" };
pub(crate) const CAT: Program = Program { name: "cat", install: "package coreutils" };
pub(crate) const SQLITE: Program = Program { name: "sqlite3", install: "package sqlite3" };
#[cfg(feature = "postgres")]
pub(crate) const PSQL: Program = Program { name: "psql", install: "package postgresql" };
#[cfg(feature = "redis")]
pub(crate) const REDIS: Program = Program { name: "redis-cli", install: "package redis" };
#[cfg(any(feature = "postgres", feature = "redis"))]
pub(crate) const ETCD: Program =
    Program { name: "etcd", install: "packages etcd-client and etcd-server" };

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
    fn counted(&self, speed: Speed) -> usize {
        match speed {
            Speed::Full => self.full,
            Speed::Quick => self.quick,
        }
    }
}

/// What both sides took, round by round.
#[derive(Default)]
pub(crate) struct Times {
    pub(crate) ours: Vec<Duration>,
    /// Empty if the peer's program is not installed.
    pub(crate) peer: Vec<Duration>,
}

/// What a row came to.
pub(crate) struct Measured {
    pub(crate) times: Times,
    pub(crate) also: Option<Found>,
}

impl Row {
    /// Runs the rounds, and then those that are not timed.
    pub(crate) fn measure(&self, speed: Speed, interrupt: &Interrupt) -> Result<Measured> {
        let mut round = self.sides.prepare()?;
        let mut times = Times::default();
        for number in 0..self.rounds.warm_up + self.rounds.counted(speed) {
            interrupt.check()?;
            let measured = round()?;
            if number >= self.rounds.warm_up {
                times.ours.extend(measured.ours);
                times.peer.extend(measured.peer);
            }
        }
        interrupt.check()?;
        let also = self.also.as_ref().map(Also::find_out).transpose().context("besides time")?;
        Ok(Measured { times, also })
    }
}

impl Sides {
    fn prepare(&self) -> Result<MeasureBoth> {
        let (ours, peer, program) = match self {
            Self::InTurn { ours, peer, program } => (ours, peer, program),
            Self::Together(both) => return both().context("preparing both sides"),
        };
        let mut ours = ours().context("preparing ours")?;
        let mut peer = match run::find(program.name)? {
            Some(_) => Some(peer().context("preparing the peer")?),
            None => None,
        };
        Ok(Box::new(move || {
            let our_time = ours().context("ours")?;
            let peer_time = peer.as_mut().map(|run| run().context("the peer")).transpose()?;
            Ok(Times { ours: vec![our_time], peer: peer_time.into_iter().collect() })
        }))
    }
}
