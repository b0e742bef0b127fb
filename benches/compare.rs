//! Whole processes of `doubletap` beside the real programs they replace.
//!
//! # How to repeat
//!
//!     cargo bench --bench compare                        every row
//!     cargo bench --bench compare -- --quick             the same with fewer rounds
//!     cargo bench --bench compare -- replay              the rows with "replay" in their name
//!     cargo bench --features full --bench compare -- server
//!                                                        those of the stores on servers, which
//!                                                        only builds with these features have
//!
//! Prints markdown on stdout: the machine, then one table. It takes six minutes, and two with
//! `--quick`; four gigabytes of disk have to be free, and two of memory should be. Each round
//! measures ours and then the peer, so that both see the same moods of the machine; rounds before
//! the first counted one warm up. `over` is a verdict and no failure; a process that fails, or a
//! command that ran too often, ends the bench with status 1.
//!
//! # What the results are
//!
//! - `0.87×` is the median of the ratios of the rounds, ours over the peer's.
//! - `+3.10 ms (p90 …, max …)` is by how much the median of our times exceeds the median of the
//!   peer's, and the same of their 90th percentiles and of their maxima.
//! - `longest +40.00 ms (median …, p99 …, of …)` is by how much the longest of our times exceeds the
//!   median of the peer's, and how many of ours there are.
//! - `p99 +1.20 ms (median …, max …)` is the difference of the two times of a round, of which the
//!   99th percentile counts.
//! - `RSS 7.2 MiB` is the most memory that a process of ours has had; see `compare/peak.rs`.
//! - `0 ticks, 0 switches` is what a waiter uses while it waits for two seconds: processor time in
//!   ticks of 10 ms, and how often one of its threads ran; see `compare/waiter.rs`.
//!
//! The last two come from rounds of their own, which are not timed.
//!
//! # The peers
//!
//! - `bkt` (`cargo install bkt`) keeps the output of a command for a time: `bkt --ttl 1d -- …`.
//! - the `flock` idiom (`flock` is in util-linux, `sync` in coreutils) is what careful scripts do
//!   by hand, a marker beside a lock file:
//!   `flock F sh -c 'test -e M || { true && touch M && sync M; }'`.
//! - `sqlite3` (package sqlite3) removes rows with one statement.
//! - `tee`, `cat` and `sync` of coreutils move and keep a gigabyte.
//! - `psql` (package postgresql) and `redis-cli` (package redis) claim and record by hand what our
//!   stores on servers do: see `compare/postgres.rs` and `compare/redis.rs`.
//! - `etcdctl lock NAME true` (packages etcd-client and etcd-server) is the lease of others.
//! - we ourselves, in the rows that say how much one call may be in the way of another.
//!
//! A peer that is not installed is named in the table; our own time is measured all the same.
//!
//! # How to add a row
//!
//! Write two functions that prepare a side and return its [`row::Measure`], or one that prepares
//! both and returns a [`row::MeasureBoth`], and add a [`row::Row`] to the rows. The programs
//! that are compared are run from copies. Everything happens in a new folder below cargo's target
//! folder, which is the working directory, lies on a real disk and is removed at the end, also
//! after a failure, `^C` or TERM. After a KILL, remove `target/*/tmp/compare-*`.
//!
//! Servers are private ones in that folder, each ended with its row: see `compare/server.rs`. For
//! root they run under the accounts of their packages, which must be able to get to the target
//! folder.

#[cfg(any(feature = "postgres", feature = "redis"))]
#[path = "compare/etcd.rs"]
mod etcd;
#[path = "compare/gigabyte.rs"]
mod gigabyte;
#[path = "compare/idiom.rs"]
mod idiom;
#[path = "compare/idle.rs"]
mod idle;
#[path = "compare/interrupt.rs"]
mod interrupt;
#[path = "compare/lease.rs"]
mod lease;
#[path = "compare/machine.rs"]
mod machine;
#[path = "compare/million.rs"]
mod million;
#[path = "compare/must.rs"]
mod must;
#[path = "compare/neighbour.rs"]
mod neighbour;
#[path = "compare/numbers.rs"]
mod numbers;
#[path = "compare/once.rs"]
mod once;
#[path = "compare/options.rs"]
mod options;
#[path = "compare/peak.rs"]
mod peak;
#[cfg(feature = "postgres")]
#[path = "compare/postgres.rs"]
mod postgres;
#[cfg(feature = "redis")]
#[path = "compare/redis.rs"]
mod redis;
#[cfg(any(feature = "postgres", feature = "redis"))]
#[path = "compare/remote.rs"]
mod remote;
#[path = "compare/row.rs"]
mod row;
#[path = "compare/rows.rs"]
mod rows;
#[path = "compare/run.rs"]
mod run;
#[path = "compare/running.rs"]
mod running;
#[cfg(any(feature = "postgres", feature = "redis"))]
#[path = "compare/server.rs"]
mod server;
#[path = "compare/store.rs"]
mod store;
#[path = "compare/table.rs"]
mod table;
#[path = "compare/waiter.rs"]
mod waiter;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use interrupt::Interrupt;
use options::Options;
use row::Row;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == peak::PARENT).is_some() {
        return peak::parent(arguments);
    }
    let options = Options::parse(arguments)?;
    let rows: Vec<&Row> = rows::all().filter(|row| options.wants(row.name)).collect();
    if rows.is_empty() {
        let names: Vec<&str> = rows::all().map(|row| row.name).collect();
        bail!("no row has that in its name; the rows are: {}", names.join("; "));
    }
    let interrupt = Interrupt::listen()?;
    let folder = enter_folder()?;
    let mut out = io::stdout().lock();
    machine::describe(&mut out)?;
    table::head(&mut out)?;
    let mut all = Vec::new();
    for row in rows {
        let measured = row
            .measure(options.speed, &interrupt)
            .with_context(|| format!("row \"{}\"", row.name))?;
        table::line(&mut out, row, &measured)?;
        out.flush()?;
        all.push(measured);
    }
    table::foot(&mut out, &all)?;
    folder.close().context("cannot remove the folder of the bench")
}

/// Makes a new folder on the disk of the target folder and works in it.
///
/// Being there keeps paths short and free of quoting on both sides, and saves each child a
/// `chdir` of its own.
fn enter_folder() -> Result<TempDir> {
    let root = match option_env!("CARGO_TARGET_TMPDIR") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::current_dir()?.join("target/tmp"),
    };
    std::fs::create_dir_all(&root)?;
    let folder = tempfile::Builder::new().prefix("compare-").tempdir_in(&root)?;
    std::env::set_current_dir(folder.path())?;
    Ok(folder)
}
