//! How a store on a server is opened and set up, in builds that know one.

use std::env;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use crate::claim::time::{Clock as _, Now};
use crate::place::{Engine, Url};
use crate::store::chained::ChainStore;
#[cfg(feature = "postgres")]
use crate::store::postgres::{self, PostgresShelf};
#[cfg(feature = "redis")]
use crate::store::redis::{self, RedisShelf};
use crate::store::setup::{Made, Setup};
use crate::store::{Store, StoreError};

use super::Context;

impl Context {
    /// Opens the store at a URL, and notes its time.
    pub(super) fn open_server(
        &self,
        url: &Url,
        limit: Duration,
    ) -> Result<Box<dyn Store>, StoreError> {
        let setup = if self.server.auto_setup { Setup::Automatic } else { Setup::Required };
        let (store, (now, asked)): (Box<dyn Store>, (Now, Instant)) = match url.engine() {
            #[cfg(feature = "postgres")]
            Engine::Postgres => {
                let chains = PostgresShelf::open(url, limit, setup, &variable)?;
                let opened = chains.opened();
                (Box::new(ChainStore::over(chains, limit)), opened)
            }
            #[cfg(feature = "redis")]
            Engine::Redis => {
                let acknowledgements = self.server.redis_wait.unwrap_or(0);
                let terms = redis::Terms { setup, acknowledgements };
                let chains = RedisShelf::open(url, limit, terms, &variable)?;
                let opened = chains.opened();
                (Box::new(ChainStore::over(chains, limit)), opened)
            }
            #[cfg(not(all(feature = "postgres", feature = "redis")))]
            _ => return Err(super::opening::not_built_in(url)),
        };
        // What it said first is as good as what it says now.
        let _ = self.told.set((now, self.clock.now().boot.minus(asked.elapsed())));
        Ok(store)
    }

    /// Sets the store at a URL up.
    pub(super) fn set_up_server(&self, url: &Url) -> Result<Made, StoreError> {
        match url.engine() {
            #[cfg(feature = "postgres")]
            Engine::Postgres => postgres::setup(url, self.store_timeout, &variable),
            #[cfg(feature = "redis")]
            Engine::Redis => redis::setup(url, self.store_timeout, &variable),
            #[cfg(not(all(feature = "postgres", feature = "redis")))]
            _ => Err(super::opening::not_built_in(url)),
        }
    }
}

/// What the clients of a server read from the environment, such as `PGPASSWORD`.
#[expect(clippy::disallowed_methods, reason = "these variables are not ours")]
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}
