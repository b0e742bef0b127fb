//! Whole processes of `doubletap` beside the real programs they replace.
//!
//! # How to repeat
//!
//!     cargo bench --bench compare                        every row
//!     cargo bench --bench compare -- --quick             the same with fewer rounds
//!     cargo bench --bench compare -- replay              the rows with "replay" in their name
//!
//! Prints markdown on stdout: the machine, then one table. Each round measures ours and then the
//! peer, so that both see the same moods of the machine; rounds before the first counted one warm
//! up. A ratio is the median of the ratios of the rounds, ours over the peer's. `over` is a
//! verdict and no failure; a process that fails, or a command that ran too often, ends the bench
//! with status 1.
//!
//! # The peers
//!
//! - `bkt` (`cargo install bkt`) keeps the output of a command for a time: `bkt --ttl 1d -- …`.
//! - the `flock` idiom (`flock` is in util-linux, `sync` in coreutils) is what careful scripts do
//!   by hand, a marker beside a lock file:
//!   `flock F sh -c 'test -e M || { true && touch M && sync M; }'`.
//!
//! A peer that is not installed is named in the table; our own time is measured all the same.
//!
//! # How to add a row
//!
//! Write two functions that prepare a side and return its [`row::Measure`], and add a
//! [`row::Row`] to [`ROWS`]. All programs are run from copies. Everything happens in a new folder under cargo's `target/tmp`, which
//! is the working directory, lies on a real disk and is removed at the end.

#[path = "compare/idiom.rs"]
mod idiom;
#[path = "compare/machine.rs"]
mod machine;
#[path = "compare/once.rs"]
mod once;
#[path = "compare/options.rs"]
mod options;
#[path = "compare/row.rs"]
mod row;
#[path = "compare/run.rs"]
mod run;
#[path = "compare/table.rs"]
mod table;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use options::Options;
use row::{Rounds, Row};

const ROWS: &[Row] = &[
    Row {
        name: "replay of a small record",
        against: "`bkt` cache hit",
        must: 1.0,
        rounds: Rounds { warm_up: 20, full: 500, quick: 100 },
        program: row::BKT,
        ours: once::replay,
        peer: once::bkt_hit,
    },
    Row {
        name: "fresh durable `once` of `true`",
        against: "`flock` idiom",
        must: 0.7,
        rounds: Rounds { warm_up: 20, full: 300, quick: 60 },
        program: row::FLOCK,
        ours: once::fresh,
        peer: idiom::fresh,
    },
    Row {
        name: "50 processes, one key",
        against: "the same herd of the idiom",
        must: 1.0,
        rounds: Rounds { warm_up: 2, full: 30, quick: 7 },
        program: row::FLOCK,
        ours: once::herd,
        peer: idiom::herd,
    },
    Row {
        name: "500 keys, 8 at a time",
        against: "the idiom on 500 files",
        must: 1.2,
        rounds: Rounds { warm_up: 1, full: 11, quick: 3 },
        program: row::FLOCK,
        ours: once::many_keys,
        peer: idiom::many_files,
    },
];

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let rows: Vec<&Row> = ROWS.iter().filter(|row| options.wants(row.name)).collect();
    if rows.is_empty() {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        bail!("no row has that in its name; the rows are: {}", names.join("; "));
    }
    let folder = enter_folder()?;
    let mut out = io::stdout().lock();
    machine::describe(&mut out)?;
    table::head(&mut out)?;
    for row in &rows {
        let result = row.measure(options.speed).with_context(|| format!("row \"{}\"", row.name))?;
        table::line(&mut out, row, &result)?;
        out.flush()?;
    }
    table::foot(&mut out, &rows, options.speed)?;
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
