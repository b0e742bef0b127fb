//! A store on Redis: a [`Shelf`], under the rules of [`ChainStore`](super::chained::ChainStore).
//!
//! A chain is a hash of rows, one for each generation: a line that scripts can read, and the
//! attempt as a JSON document. Indexes beside it find attempts by fence and by token, those
//! that run, and chains in their order (`keys` names all of them).
//!
//! Nothing is locked. One script reads a chain, its number and the server's clock; what is to
//! be changed is decided here; another script does it if the number is still the same, which
//! no two states of a chain share, and, if it is a claim, if little of its lease has gone by.
//! Else all of it is done again. So a change happens as a whole or not at all, and a claim
//! that comes late does not begin with a lease that is over.
//!
//! Redis makes no single write durable. How much a restart, a fail-over or a full memory can
//! undo is for the server's settings to say (`examining`).

mod address;
mod examining;
mod failure;
mod keys;
mod line;
mod listing;
mod outputs;
mod plain;
mod reading;
mod scripts;
mod setup;
mod watching;
mod wire;
mod writing;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keys::Keys;
use line::{Deadline, Line, Sent};

use crate::claim::attempt::Attempt;
use crate::claim::duration::to_ms;
use crate::claim::fence::Fence;
use crate::claim::id::Token;
use crate::claim::key::{Namespace, Subject};
use crate::claim::survey::Sizes;
use crate::claim::time::{Now, WallMs};
use crate::place::Url;
use crate::text::quote;

use super::setup::Setup;
use super::shelf::{Asked, Durability, Page, Shelf, Step, Wanted};
use super::{Chain, Finding, Frames, Heed, StoreError};

pub use setup::setup;

/// So long before its time is over a server is to say that it has waited in vain.
const WAY_BACK: Duration = Duration::from_millis(250);

/// On which terms a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Whether it has to be set up already.
    pub setup: Setup,
    /// How many replicas have to acknowledge what must be durable.
    pub acknowledgements: u32,
}

/// A store on Redis.
pub struct RedisShelf {
    url: Url,
    line: Line,
    keys: Keys,
    limit: Duration,
    acknowledgements: u32,
    /// Whether something was written, or may have been, that too few have acknowledged.
    owes: bool,
    /// The channels that are listened to.
    watched: BTreeSet<String>,
    /// Goes with the shelf; then nobody waits any more.
    alive: Arc<()>,
    /// The server's time, and when that was.
    opened: (Now, Instant),
}

impl RedisShelf {
    /// Opens the store at a URL. `lookup` answers for the environment.
    ///
    /// # Errors
    /// When the server cannot be reached in time, does not let us in, or has no such store.
    pub fn open(
        url: &Url,
        timeout: Duration,
        terms: Terms,
        lookup: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, StoreError> {
        setup::open(url, timeout, terms, lookup)
    }

    fn new(
        (url, line, keys): (Url, Line, Keys),
        limit: Duration,
        acknowledgements: u32,
        opened: (Now, Instant),
    ) -> Self {
        let (watched, alive) = (BTreeSet::new(), Arc::new(()));
        Self { url, line, keys, limit, acknowledgements, owes: false, watched, alive, opened }
    }

    /// What the server's clock said when the store was opened, and when it was asked.
    #[must_use]
    pub fn opened(&self) -> (Now, Instant) {
        self.opened.clone()
    }

    fn deadline(&self) -> Deadline {
        Deadline::after(self.limit)
    }

    /// Whether what is written so durably has to be acknowledged.
    fn is_to_be_acknowledged(&self, durability: Durability) -> bool {
        self.acknowledgements > 0 && durability == Durability::Power
    }

    /// Waits until as many replicas as asked have what was written on the connection of this
    /// number: another one knows of no write to wait for.
    fn acknowledge(
        &mut self,
        durability: Durability,
        number: u64,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        if !self.is_to_be_acknowledged(durability) {
            return Ok(());
        }
        let asked = self.acknowledgements;
        // The answer has to come within the time, too.
        let left = deadline.left().unwrap_or_default();
        let way_back = (left / 10).max(WAY_BACK.min(left / 2));
        let mut wait = redis::cmd("WAIT");
        wait.arg(asked).arg(to_ms(left.saturating_sub(way_back)).max(1));
        match self.line.write(number, deadline, |connection| wait.query::<u32>(connection))? {
            Sent::Answered(given) if given >= asked => self.owes = false,
            Sent::Answered(given) => {
                return Err(failure::unacknowledged(&self.url, asked, given));
            }
            Sent::Undone => return Err(failure::unacknowledged(&self.url, asked, 0)),
        }
        Ok(())
    }

    /// The same for what was written before, if it has been acknowledged by too few: whoever
    /// asks again with the same token finds that there is nothing left to write.
    fn settle_acknowledgements(
        &mut self,
        durability: Durability,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        if !self.owes {
            return Ok(());
        }
        // A connection waits for what it has written itself, and for all before that.
        let mut touch = redis::cmd("INCR");
        touch.arg(self.keys.revision());
        self.line.ask::<i64>(&touch, deadline)?;
        self.acknowledge(durability, self.line.number(), deadline)
    }
}

impl Shelf for RedisShelf {
    fn wait_at_most(&mut self, limit: Duration) {
        self.limit = limit;
    }

    fn locked_for(&self, limit: Duration) -> StoreError {
        failure::contended(&self.url, limit)
    }

    fn option(&self) -> String {
        format!("--store {}", quote(&self.url.to_type()))
    }

    fn now(&mut self) -> Result<Now, StoreError> {
        let deadline = self.deadline();
        self.line.ask(&redis::cmd("TIME"), deadline).map(reading::clock)
    }

    fn read(&mut self, wanted: Wanted<'_>) -> Result<Page, StoreError> {
        let deadline = self.deadline();
        self.read_chain(wanted, deadline).map(|reading| reading.page)
    }

    fn change(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        step: &mut Step<'_>,
    ) -> Result<(), StoreError> {
        self.change_chain(wanted, durability, step)
    }

    fn walk(
        &mut self,
        asked: Asked<'_>,
        told: &mut dyn FnMut(Chain) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.walk_chains(asked, told)
    }

    fn ended_before(
        &mut self,
        horizon: WallMs,
        after: Fence,
        namespace: Option<&Namespace>,
        at_most: usize,
    ) -> Result<Vec<(Fence, Subject)>, StoreError> {
        self.keys_ended_before(horizon, after, namespace, at_most)
    }

    fn unended(&mut self) -> Result<Vec<(Subject, Attempt)>, StoreError> {
        self.unended_attempts()
    }

    fn subject_of(&mut self, fence: Fence) -> Result<Option<Subject>, StoreError> {
        self.find_subject(fence)
    }

    fn find(
        &mut self,
        token: Token,
        fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError> {
        self.find_attempt(token, fence)
    }

    fn output(&mut self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        self.fetch_output(fence)
    }

    fn longest_lease(&mut self) -> Result<Duration, StoreError> {
        self.read_longest_lease()
    }

    /// Nothing: a server has no file for a store, and counting what its keys take would read
    /// all of them.
    fn sizes(&mut self) -> Result<Sizes, StoreError> {
        Ok(Sizes::default())
    }

    fn examine(&mut self) -> Vec<Finding> {
        self.findings()
    }

    fn heed(&mut self, told: Heed) {
        self.line.heed(told);
    }

    fn watch(&mut self, subject: &Subject, ring: Box<dyn Fn() + Send>) -> bool {
        self.listen(subject, ring)
    }
}
