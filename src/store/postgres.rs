//! A store on a PostgreSQL server.
//!
//! This is a [`Shelf`]: the rules are [`ChainStore`](super::chained::ChainStore)'s.
//! `address` says where the server is, `connecting` makes connections and has everything
//! end in time, `transaction` keeps to one of them, `changing` is the one way in which
//! anything is written, and `failure` turns what goes wrong into sentences. A server is set up once (`setting_up`); waiters
//! are told what is written (`listening`).
//!
//! No statement is prepared by name and nothing is kept on the server between two calls,
//! so that it works through a pooler that hands out a connection for each transaction.

mod address;
mod changing;
mod connecting;
mod examining;
mod failure;
mod listening;
mod locking;
mod outputs;
mod passwords;
mod reading;
mod rows;
mod schema;
mod setting_up;
mod tls;
mod transaction;
mod url;
mod walking;
mod windows;

use std::time::{Duration, Instant};

use crate::claim::attempt::Attempt;
use crate::claim::fence::Fence;
use crate::claim::id::Token;
use crate::claim::key::{Namespace, Subject};
use crate::claim::survey::Sizes;
use crate::claim::time::{Now, WallMs};
use crate::place::Url;

use super::setup::Setup;
use super::shelf::{Asked, Durability, Page, Shelf, Step, Wanted, time_of_server};
use super::{Chain, Finding, Frames, Heed, StoreError};

pub use address::Lookup;
pub use setting_up::setup;

use address::Address;
use connecting::Server;
use listening::Ears;
use rows::int8;
use schema::{CLOCK, Statements};
use setting_up::Found;

/// Chains on a PostgreSQL server.
pub struct PostgresShelf {
    server: Server,
    statements: Statements,
    ears: Ears,
    /// The server's time, and when that was.
    opened: (Now, Instant),
}

impl PostgresShelf {
    /// Connects, and sees that the tables are there. `lookup` reads the variables that
    /// libpq reads, for what the URL leaves out.
    ///
    /// # Errors
    /// When the server cannot be reached, or the store has not been set up, or by a newer
    /// doubletap.
    pub fn open(
        url: &Url,
        timeout: Duration,
        setup: Setup,
        lookup: &Lookup<'_>,
    ) -> Result<Self, StoreError> {
        let mut server = Server::at(Address::read(url, lookup)?, timeout)?;
        let mut greeting = greet(&mut server)?;
        if let Err(why) = setting_up::check(&server, greeting.0.map(|found| found.version)) {
            match setup {
                Setup::Required => return Err(why),
                Setup::Automatic => setting_up::set_up(&mut server).map(drop)?,
            }
            greeting = greet(&mut server)?;
        }
        let (Some(found), asked) = greeting else {
            return Err(failure::not_set_up(&server.address));
        };
        let statements = Statements::of(&server.address.schema);
        let opened = (time_of_server(found.ms), asked);
        Ok(Self { server, statements, ears: Ears::default(), opened })
    }

    /// What the server's clock said when the store was opened, and when it was asked.
    #[must_use]
    pub fn opened(&self) -> (Now, Instant) {
        self.opened.clone()
    }
}

/// Connects, if that has not been done, and asks for the store; says when it did so.
fn greet(server: &mut Server) -> Result<(Option<Found>, Instant), StoreError> {
    let deadline = server.deadline();
    let connected = server.connect(deadline);
    let asked = Instant::now();
    let found = connected.and_then(|()| setting_up::find(server, deadline));
    Ok((found.map_err(|fault| server.told(&fault))?, asked))
}

impl Shelf for PostgresShelf {
    fn wait_at_most(&mut self, limit: Duration) {
        self.server.limit = limit;
    }

    fn locked_for(&self, limit: Duration) -> StoreError {
        failure::locked(&self.server.address, limit)
    }

    fn option(&self) -> String {
        self.server.address.option.clone()
    }

    fn now(&mut self) -> Result<Now, StoreError> {
        let ms = self.number(&format!("SELECT {CLOCK}"), &[]);
        ms.map(time_of_server).map_err(|fault| self.server.told(&fault))
    }

    fn read(&mut self, wanted: Wanted<'_>) -> Result<Page, StoreError> {
        self.read_page(wanted).map_err(|fault| self.server.told(&fault))
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
        self.walk_along(asked, told)
    }

    fn ended_before(
        &mut self,
        horizon: WallMs,
        after: Fence,
        namespace: Option<&Namespace>,
        at_most: usize,
    ) -> Result<Vec<(Fence, Subject)>, StoreError> {
        let ended = self.ended((horizon, after), namespace, at_most);
        ended.map_err(|fault| self.server.told(&fault))
    }

    fn unended(&mut self) -> Result<Vec<(Subject, Attempt)>, StoreError> {
        let condition = format!(
            "{} AND state = 'running' AND kind <> 'step' ORDER BY fence DESC",
            schema::UNSETTLED
        );
        let found = self.read_each(&condition, &[]).map_err(|fault| self.server.told(&fault))?;
        Ok(found.into_iter().flatten().collect())
    }

    fn subject_of(&mut self, fence: Fence) -> Result<Option<Subject>, StoreError> {
        let found = self.read_one("fence = $1", &[int8(fence.0)]);
        Ok(found.map_err(|fault| self.server.told(&fault))?.map(|(subject, _)| subject))
    }

    fn find(
        &mut self,
        token: Token,
        fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError> {
        self.find_by_token(token, fence).map_err(|fault| self.server.told(&fault))
    }

    fn output(&mut self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        self.read_output(fence).map_err(|fault| self.server.told(&fault))
    }

    fn longest_lease(&mut self) -> Result<Duration, StoreError> {
        self.longest().map_err(|fault| self.server.told(&fault))
    }

    fn sizes(&mut self) -> Result<Sizes, StoreError> {
        let size = |table: &str| {
            format!(
                "pg_total_relation_size('{}.{table}')",
                self.server.address.schema.replace('\'', "''")
            )
        };
        let statement =
            format!("SELECT {} + {} + {}", size("attempt"), size("output"), size("fence"));
        let bytes = self.number(&statement, &[]).map_err(|fault| self.server.told(&fault))?;
        Ok(Sizes { file: bytes.unsigned_abs(), ..Sizes::default() })
    }

    fn examine(&mut self) -> Vec<Finding> {
        self.examine_all()
    }

    fn heed(&mut self, told: Heed) {
        self.server.heed = told;
    }

    fn watch(&mut self, subject: &Subject, ring: Box<dyn Fn() + Send>) -> bool {
        self.watch_chain(subject, ring)
    }
}
