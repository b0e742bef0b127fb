//! An attempt: one claim and what became of it.

use std::time::Duration;

use super::fence::Fence;
use super::fingerprint::Fingerprint;
use super::holder::{Group, Holder, Tie};
use super::id::{OperationId, Token};
use super::key::Subject;
use super::outcome::Outcome;
use super::time::{Expiry, Until, WallMs};

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Claimed and not ended.
    Running,
    /// Ended, and its outcome is a record.
    Done,
    /// Ended without a record: the next call runs again.
    Failed,
    /// Its holder died without recording an outcome.
    Interrupted,
    /// Dropped on purpose.
    Forgotten,
    /// A lease that its holder gave back.
    Released,
}

impl State {
    /// Every state, in the order of the vocabulary.
    pub const ALL: [State; 6] = [
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Interrupted,
        Self::Forgotten,
        Self::Released,
    ];

    /// The word for it in stores and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Forgotten => "forgotten",
            Self::Released => "released",
        }
    }

    /// Reads the word that [`State::as_str`] writes.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// Why an attempt was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Nothing was on record.
    Ordinary,
    /// `--rerun`: a record was in force, and stays so unless this succeeds.
    Rerun,
}

/// Whether processes of a dead attempt may still be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remains {
    /// Nobody has looked yet.
    Possible,
    /// Nobody is left.
    None,
}

/// Where a record's end came from; prune spares what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promise {
    /// The caller named an end with an option.
    Explicit,
    /// Nobody did.
    Default,
}

/// What is kept of the command line: enough to recognise it, nothing that
/// could be a password.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandSummary {
    /// The first word.
    pub word: String,
    /// How many words there are.
    pub words: u32,
}

/// What is kept of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutputSummary {
    /// Bytes of both streams that were kept.
    pub bytes: u64,
    /// Whether that is all there was.
    pub extent: Extent,
}

/// Whether an output was kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Only the first part.
    Truncated,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct End {
    /// When.
    pub at: WallMs,
    /// How the command ended, if that is known.
    pub outcome: Option<Outcome>,
    /// Why, where the outcome alone does not say it.
    pub reason: Option<String>,
    /// How long the command ran, if it did.
    pub run: Option<Duration>,
    /// The output, if any was kept.
    pub output: Option<OutputSummary>,
    /// When the record stops being replayed.
    pub expiry: Expiry,
    /// Whether somebody asked for that expiry.
    pub promise: Promise,
}

/// One attempt: one row of a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Its number within its key: 1, 2, 3 …
    pub generation: i64,
    /// What became of it.
    pub state: State,
    /// What it tries to get done.
    pub operation: OperationId,
    /// Its number within its operation: 1, 2, 3 …
    pub number: u32,
    /// Why it was made.
    pub origin: Origin,
    /// The proof of ownership.
    pub token: Token,
    /// Its fencing token.
    pub fence: Fence,
    /// What was asked for.
    pub fingerprint: Fingerprint,
    /// The command, in short.
    pub command: CommandSummary,
    /// Who claimed it.
    pub holder: Holder,
    /// What its claim hangs on.
    pub tie: Tie,
    /// The attempt that it is a step of, if it is one.
    pub parent: Option<Fence>,
    /// The inode of the lock file on which its holder holds a byte, where
    /// there are such locks.
    pub lock_inode: Option<u64>,
    /// What its command is, where that can be known.
    pub group: Option<Group>,
    /// Whether processes of it may be left.
    pub remains: Remains,
    /// The length of its lease.
    pub lease: Duration,
    /// The end of its lease.
    pub until: Until,
    /// Until when its key stays busy though nobody holds it: after a failure
    /// (`--retry-after`), or from the start (`--min-hold`).
    pub rests_until: Option<Until>,
    /// When it was claimed.
    pub started: WallMs,
    /// How it ended; absent while it runs.
    pub end: Option<End>,
}

/// Proves ownership of a claim without the right to end it: enough to renew.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// What is owned.
    pub subject: Subject,
    /// The claim's fence, which names its row.
    pub fence: Fence,
    /// The proof.
    pub token: Token,
}

impl Attempt {
    /// What names its row and proves that it is this one.
    #[must_use]
    pub fn ownership(&self, subject: &Subject) -> Ownership {
        Ownership { subject: subject.clone(), fence: self.fence, token: self.token }
    }

    /// Whether it is what `forget` leaves behind: nobody's attempt.
    #[must_use]
    pub fn is_tombstone(&self) -> bool {
        self.state == State::Forgotten && self.number == 0
    }

    /// What is kept of its output, if it ended and something is.
    #[must_use]
    pub fn output(&self) -> Option<OutputSummary> {
        self.end.as_ref().and_then(|end| end.output)
    }

    /// Whether nothing is left of what a failure printed.
    #[must_use]
    pub fn has_let_go_of_output(&self) -> bool {
        let gone = OutputSummary { bytes: 0, extent: Extent::Truncated };
        self.state == State::Failed && self.output() == Some(gone)
    }

    /// Whether it has ended by itself, with an end that can be given to others.
    #[must_use]
    pub fn has_given(&self) -> bool {
        matches!(self.state, State::Done | State::Failed) && self.outcome().is_some()
    }

    /// How its command ended, if that is known.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.end.as_ref().and_then(|end| end.outcome)
    }
}
