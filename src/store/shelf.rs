//! What keeps chains for a [`ChainStore`](super::chained::ChainStore): rows in memory, or
//! a server.
//!
//! A shelf decides nothing and knows no rules but one: what it is told to change about a
//! chain happens as a whole, and only if nothing else has changed that chain since it
//! was read. A server with locks takes the chain's lock first, reads, and writes; one
//! without compares before it writes, and reads again where that fails.

use std::time::Duration;

use crate::claim::attempt::{Attempt, Ownership};
use crate::claim::fence::Fence;
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Namespace, Subject};
use crate::claim::survey::Sizes;
use crate::claim::time::{BootId, BootMs, Now, WallMs};

use super::unreadable::UnreadableRow;
use super::{Chain, Finding, Frames, Heed, Spool, StoreError};

/// What stands for the start of a kernel where a server's clock counts: that does not start
/// anew with a machine.
pub const SERVER: &str = "server";

/// The time by a server's clock, which shows so many milliseconds since 1970.
#[must_use]
pub fn time_of_server(ms: i64) -> Now {
    Now { wall: WallMs(ms), boot: BootMs(ms), boot_id: BootId(SERVER.into()) }
}

/// How much of a chain is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What decides: at least the newest attempts down to the first that is not passed
    /// over ([`row::may_be_passed_over`](super::row)), the one two generations before the
    /// newest, every one that runs, every interrupted or forgotten one whose processes
    /// nobody has looked for (`remains`), and of a lease all.
    Decision,
    /// All of it.
    Whole,
}

/// What is to be read of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The chain.
    pub subject: &'a Subject,
    /// How much of it.
    pub depth: Depth,
    /// An attempt that is wanted whatever the depth, if it is there.
    pub own: Option<Fence>,
    /// The attempt that a step belongs to. Nothing may change it, either, before the
    /// step has been written.
    pub parent: Option<&'a Ownership>,
}

impl<'a> Wanted<'a> {
    /// What decides about a chain.
    #[must_use]
    pub fn of(subject: &'a Subject) -> Self {
        Self { subject, depth: Depth::Decision, own: None, parent: None }
    }
}

/// Whether the attempt that a step belongs to is still its owner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// It runs, and has that token; or there is none.
    Holds,
    /// It does not run any more, or is not there.
    Lost,
}

/// What was read of a chain, all at one moment.
#[derive(Clone, Debug)]
pub struct Page {
    /// The time by the clock that all leases on this shelf count on.
    pub now: Now,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
    /// The rows that cannot be read, in any order.
    pub unreadable: Vec<UnreadableRow>,
    /// How it stands with the attempt that was named as [`Wanted::parent`].
    pub parent: Parent,
}

/// What is to be changed about a chain: all of it, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// A new attempt. Its fence and its generation are nobody else's.
    pub added: Option<Attempt>,
    /// Attempts of the page as they are to be from now on; found by their fences, and of
    /// the same token and generation as before.
    pub changed: Vec<Attempt>,
    /// Attempts that go, with their outputs.
    pub removed: Vec<Fence>,
    /// Generations of rows that cannot be read, which go with their outputs.
    pub discarded: Vec<i64>,
    /// Output to be kept.
    pub output: Option<(Fence, Frames)>,
    /// Outputs that go.
    pub outputs_removed: Vec<Fence>,
    /// Operations whose steps go, all their attempts and outputs.
    pub steps_removed: Vec<OperationId>,
}

impl Changes {
    /// Whether there is nothing to be written.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let Self { added, changed, removed, discarded, output, outputs_removed, steps_removed } =
            self;
        added.is_none()
            && output.is_none()
            && changed.is_empty()
            && removed.is_empty()
            && discarded.is_empty()
            && outputs_removed.is_empty()
            && steps_removed.is_empty()
    }

    /// Whether somebody may be waiting for this: not for a lease that lasts longer than was
    /// known. Telling of it costs, on a server that has commits wait for each other.
    #[must_use]
    pub fn matter_to_waiters(&self, before: &Page) -> bool {
        let only_longer = |after: &Attempt| {
            before.attempts.iter().any(|before| {
                let renewed = Attempt {
                    until: after.until.clone(),
                    lease: after.lease,
                    tie: after.tie,
                    ..before.clone()
                };
                renewed == *after
                    && before.until.boot_id == after.until.boot_id
                    && before.until.at <= after.until.at
            })
        };
        self.added.is_some()
            || !self.removed.is_empty()
            || !self.discarded.is_empty()
            || !self.outputs_removed.is_empty()
            || !self.steps_removed.is_empty()
            || !self.changed.iter().all(only_longer)
    }
}

/// What a change promises when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives power loss, as far as the server can promise that.
    Power,
    /// It may be undone by power loss of the server or by a fail-over, and by nothing less.
    Process,
}

/// Draws the next fence of the shelf: `max(last + 1, now.wall)`, never the same twice. One
/// that is drawn and not used is skipped.
pub type Fences<'a> = dyn FnMut(&Now) -> Result<Fence, StoreError> + 'a;

/// Says what is to be changed, from what was read; nothing is an answer too. It may be
/// asked again with a newer page.
pub type Step<'a> = dyn FnMut(&Page, &mut Fences<'_>) -> Result<Changes, StoreError> + 'a;

/// Which chains are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// All keys of a namespace, or of all of them; steps are no keys.
    Keys(Option<&'a Namespace>),
    /// The steps of an operation.
    Steps(OperationId),
}

/// Keeps chains, outputs and one fence.
pub trait Shelf: Send {
    /// Every call from here on takes at most so long, and ends with an error of
    /// [`Trouble::Locked`](super::Trouble) then, or of [`Trouble::Away`](super::Trouble)
    /// where it is a server that does not answer. An output that passes in parts has as long
    /// for each of them.
    fn wait_at_most(&mut self, limit: Duration);

    /// The error of having waited so long in vain for what others have locked.
    fn locked_for(&self, limit: Duration) -> StoreError;

    /// The option that names it again, in a line to be typed.
    fn option(&self) -> String {
        String::new()
    }

    /// The time by the clock that leases count on.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn now(&mut self) -> Result<Now, StoreError>;

    /// Reads, and locks nothing.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&mut self, wanted: Wanted<'_>) -> Result<Page, StoreError>;

    /// Reads and writes one chain as one step.
    ///
    /// # Errors
    /// When it cannot be written; or, where the answer of a server was lost, when it may
    /// have been. [`Step`]'s own errors change nothing.
    fn change(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        step: &mut Step<'_>,
    ) -> Result<(), StoreError>;

    /// Tells of chains, whole, each once, in the order of kind, namespace and key. What
    /// others write meanwhile may be told or not. `told` may end the walk with an error.
    ///
    /// # Errors
    /// When it cannot be read, and those of `told`.
    fn walk(
        &mut self,
        asked: Asked<'_>,
        told: &mut dyn FnMut(Chain) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// The keys to run once of the next attempts after a fence that ended before the
    /// horizon, at most so many, in the order of the fences.
    ///
    /// # Errors
    /// When it cannot be read.
    fn ended_before(
        &mut self,
        horizon: WallMs,
        after: Fence,
        namespace: Option<&Namespace>,
        at_most: usize,
    ) -> Result<Vec<(Fence, Subject)>, StoreError>;

    /// Every attempt that has not ended, newest first; steps are left out, and what cannot
    /// be read.
    ///
    /// # Errors
    /// When it cannot be read.
    fn unended(&mut self) -> Result<Vec<(Subject, Attempt)>, StoreError>;

    /// The chain of an attempt.
    ///
    /// # Errors
    /// When it cannot be read.
    fn subject_of(&mut self, fence: Fence) -> Result<Option<Subject>, StoreError>;

    /// Finds the attempt that a token was drawn for; the fence, where it is known, makes
    /// that faster.
    ///
    /// # Errors
    /// When it cannot be read.
    fn find(
        &mut self,
        token: Token,
        fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError>;

    /// The output of an attempt.
    ///
    /// # Errors
    /// When it cannot be read.
    fn output(&mut self, fence: Fence) -> Result<Option<Frames>, StoreError>;

    /// The longest lease of any attempt that can still matter: of a lease only those that
    /// run.
    ///
    /// # Errors
    /// When it cannot be read.
    fn longest_lease(&mut self) -> Result<Duration, StoreError>;

    /// How much room it takes.
    ///
    /// # Errors
    /// When it cannot be read.
    fn sizes(&mut self) -> Result<Sizes, StoreError>;

    /// Looks for what is wrong with it, at every row, and says what it promises.
    fn examine(&mut self) -> Vec<Finding>;

    /// Ends every call from here on, with an error of [`Trouble::Away`](super::Trouble), as
    /// soon as we are told to end, where it would wait for a server.
    fn heed(&mut self, _told: Heed) {}

    /// Has `ring` be called, on another thread, soon after anything is written to a
    /// chain; says whether that will be. When it returns, nothing that is written from
    /// then on is missed. Another call for the same chain changes nothing.
    fn watch(&mut self, _subject: &Subject, _ring: Box<dyn Fn() + Send>) -> bool {
        false
    }

    /// Where output goes while its command runs.
    fn spool(&self, _owner: &Ownership) -> Spool {
        Spool::Unnamed
    }
}
