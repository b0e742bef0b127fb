//! Servers of a test's own: PostgreSQL and Redis as Debian packages them, started in
//! a temporary folder on a free port, so that a sentence may stop, kill, pause and
//! restart them; and hosts, which are network namespaces that can be cut off.
//!
//! Most sentences need only *a* server: [`Postgres::shared`] and [`Redis::shared`] are
//! started once per test process, and each sentence takes a database or a prefix of
//! its own there. One that does something to its server starts a private one.
//!
//! Whatever becomes of the test process, its servers end with it and leave nothing
//! behind: see [`keeper`]. The servers on the standard ports are never touched.

mod authority;
#[cfg(any(feature = "postgres", feature = "redis"))]
pub(crate) mod hearing;
mod keeper;
mod network;
mod place;
mod pooler;
mod postgres;
mod redis;
#[cfg(feature = "postgres")]
mod relay;
mod tool;
mod web;

pub(crate) use network::{Host, Network};
pub(crate) use postgres::Postgres;
pub(crate) use redis::{Persistence, Redis};
#[cfg(feature = "postgres")]
pub(crate) use relay::Handshakes;
pub(crate) use web::Web;
