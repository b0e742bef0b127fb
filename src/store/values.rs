//! What callers say to a store, and what it answers.

use std::ops::AddAssign;
use std::time::Duration;

use crate::claim::attempt::{Attempt, Promise};
use crate::claim::held::Claim;
use crate::claim::holder::Life;
use crate::claim::key::{Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::{Expiry, WallMs};
use crate::place::Place;

use super::{Output, StoreError};

/// Whether a row is still its owner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Owned {
    /// It is, and the write is in.
    Yes,
    /// It is not: nothing was changed.
    Lost(LostWhy),
}

/// Why a row is not its owner's any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWhy {
    /// There is no such row: pruned, or another store.
    Missing,
    /// Another attempt took its place, or it was forgotten.
    Superseded,
    /// It has an outcome already.
    AlreadyDone,
}

/// What a token is good for.
#[derive(Debug)]
#[must_use]
pub enum Resumed {
    /// The claim that it was drawn for, and that nobody has ended.
    Claim(Claim),
    /// Nothing any more: its attempt has ended with an outcome, or was given back.
    Ended(Box<Attempt>),
    /// Nothing.
    Lost(LostWhy),
}

/// What becomes of an attempt at its end.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Its outcome is a record.
    Recorded {
        /// How long it is replayed.
        keep: Keep,
    },
    /// It came to nothing that is kept: the next call runs again.
    Failed {
        /// How long the key stays busy first.
        rest: Option<Duration>,
    },
    /// A lease is given back.
    Released,
}

/// How long a record is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Until when.
    pub until: KeepUntil,
    /// Whether the caller asked for it.
    pub promise: Promise,
}

/// Until when a record is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepUntil {
    /// Until it is pruned.
    Pruned,
    /// For so long after its completion.
    For(Duration),
    /// Until this instant.
    At(WallMs),
}

impl Keep {
    /// The instant at which a record completed at `at` expires.
    #[must_use]
    pub fn expiry(self, at: WallMs) -> Expiry {
        match self.until {
            KeepUntil::Pruned => Expiry::Never,
            KeepUntil::For(span) => Expiry::At(at.plus(span)),
            KeepUntil::At(end) => Expiry::At(end),
        }
    }
}

/// Everything an owner says about the end of its attempt.
#[derive(Clone, Debug)]
pub struct Completion {
    /// What becomes of the attempt.
    pub verdict: Verdict,
    /// How the command ended, if it was started.
    pub outcome: Option<Outcome>,
    /// Why, where the outcome alone does not say it.
    pub reason: Option<String>,
    /// How long it ran, if it did.
    pub run: Option<Duration>,
    /// What it wrote, as frames, if that is kept.
    pub output: Option<Output>,
}

/// A completion that could not be written; the claim is not spent.
#[derive(Debug)]
pub struct Unrecorded {
    /// Still to be spent.
    pub claim: Claim,
    /// Why.
    pub error: StoreError,
}

/// What became of [`Store::forget`](super::Store::forget) or [`Store::settle`](super::Store::settle).
#[derive(Clone, Debug)]
#[must_use]
pub enum Dropped {
    /// It is done.
    Yes,
    /// There is no such key.
    Absent,
    /// Its holder lives, so nothing was changed.
    Held(Attempt, Life),
    /// There was nothing to settle: the newest attempt is not interrupted.
    Resolved(Attempt),
}

/// Which keys a sweep is about.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// One namespace, or all of them.
    pub namespace: Option<Namespace>,
    /// Keys whose newest attempt ended longer ago than this.
    pub older_than: Duration,
    /// Whether what was promised for a time that still runs goes too.
    pub promised: Promised,
    /// Whether what processes may be left of goes too.
    pub unlooked: Unlooked,
    /// Whether anything is removed.
    pub mode: SweepMode,
}

/// What becomes of records, and of keys that rest after a failure, whose promised time
/// still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promised {
    /// They stay.
    Spared,
    /// They go too.
    Included,
}

/// What becomes of attempts that somebody else has ended and whose processes nobody has
/// looked for since, and of the keys that they are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlooked {
    /// They stay until somebody has looked: whoever claims next on their machine does, before
    /// he runs anything.
    Spared,
    /// They go at their age, like others.
    Included,
}

impl Unlooked {
    /// What is right for a store in this place. Of what a server keeps most was run elsewhere,
    /// where nobody may ever claim again; there the lease has ended its right long before, and
    /// against what heeds no lease there is the fence.
    #[must_use]
    pub fn in_place(place: &Place) -> Self {
        match place {
            Place::File(_) => Self::Spared,
            Place::Server(_) => Self::Included,
        }
    }
}

/// Whether a sweep removes or only counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepMode {
    /// Remove.
    Remove,
    /// Count what would be removed.
    Count,
}

/// What a sweep removed, or would have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Keys.
    pub keys: u64,
    /// Their attempts.
    pub attempts: u64,
}

impl AddAssign for Swept {
    fn add_assign(&mut self, more: Self) {
        self.keys += more.keys;
        self.attempts += more.attempts;
    }
}

/// A key and its attempts, newest first.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The key.
    pub subject: Subject,
    /// Its attempts.
    pub attempts: Vec<Attempt>,
}

/// Whether a living holder is an obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// It is spared.
    No,
    /// It is superseded.
    Yes,
}
