//! Both sides of the rows about an output of one gigabyte.
//!
//! All read the same file of random bytes, which a first reading leaves in memory if there is
//! room. Before each measured side everything that is still on its way to the disk is waited for,
//! so that nobody pays for the other's writes. What a side has written is removed after it,
//! outside of its time.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::peak;
use crate::row::Measure;
use crate::run;
use crate::store::Store;

/// How many bytes a large output has.
pub(crate) const SIZE: u64 = 1 << 30;

/// The options of a call that keeps all of its output.
pub(crate) const ALL: &[&str] = &["--max-output", "none"];

const FILE: &str = "gigabyte";

/// Returns the file of random bytes, which nothing can make smaller; made when it is first needed.
pub(crate) fn file() -> Result<&'static str> {
    if !Path::new(FILE).exists() {
        let mut random = File::open("/dev/urandom")?.take(SIZE);
        let mut file = File::create(FILE)?;
        io::copy(&mut random, &mut file).context("cannot write a gigabyte")?;
    }
    Ok(FILE)
}

/// Waits for everything that is on its way to a disk.
pub(crate) fn settle() {
    nix::unistd::sync();
}

/// Captures it, and has it durable at the end.
pub(crate) fn capture() -> Result<Measure> {
    let (store, file) = (Store::create("capture-ours")?, file()?);
    Ok(Box::new(move || {
        settle();
        let time = run::one(store.once("capture", ALL, &["cat", file]))?;
        store.expect_spool(SIZE)?;
        store.empty()?;
        Ok(time)
    }))
}

/// The same by hand.
pub(crate) fn tee() -> Result<Measure> {
    let (shell, file) = (run::need("sh")?, file()?);
    let copy = "capture-copy";
    let script = format!("cat {file} | tee {copy} > /dev/null; sync {copy}");
    Ok(Box::new(move || {
        settle();
        let mut command = run::command(&shell);
        command.args(["-c", &script]);
        let time = run::one(command)?;
        let size = fs::metadata(copy)?.len();
        ensure!(size == SIZE, "the copy has {size} bytes");
        fs::remove_file(copy)?;
        Ok(time)
    }))
}

/// Finds out how much memory a capture takes.
pub(crate) fn capture_peak_kib() -> Result<u64> {
    let (store, file) = (Store::create("capture-peak")?, file()?);
    run::one(peak::watched(&store.once("capture", ALL, &["cat", file]), "capture-peak-kib")?)?;
    store.expect_spool(SIZE)?;
    peak::read_kib("capture-peak-kib")
}

/// Replays it into a pipe; its command counts its runs, so that a rerun cannot pass for a replay.
pub(crate) fn replay() -> Result<Measure> {
    let cat = run::need("cat")?;
    let record = Record::create("replay-large")?;
    Ok(Box::new(move || {
        settle();
        let time = run::piped(record.once(), run::command(&cat))?;
        record.expect_replay()?;
        Ok(time)
    }))
}

/// The bytes themselves into a pipe.
pub(crate) fn cat() -> Result<Measure> {
    let (cat, file) = (run::need("cat")?, file()?);
    Ok(Box::new(move || {
        settle();
        let mut command = run::command(&cat);
        command.arg(file);
        run::piped(command, run::command(&cat))
    }))
}

/// Finds out how much memory a replay takes, and whether it gives the same bytes.
pub(crate) fn replay_peak_kib() -> Result<u64> {
    let record = Record::create("replay-peak")?;
    let mut compare = run::command(&run::need("cmp")?);
    compare.args(["-", file()?]);
    run::piped(peak::watched(&record.once(), "replay-peak-kib")?, compare)?;
    record.expect_replay()?;
    peak::read_kib("replay-peak-kib")
}

/// A record of a gigabyte.
struct Record {
    store: Store,
    counter: String,
    script: String,
}

impl Record {
    fn create(folder: &str) -> Result<Self> {
        let counter = format!("{folder}/runs");
        let script = format!("echo ran >> {counter}; cat {}", file()?);
        let record = Self { store: Store::create(folder)?, counter, script };
        run::one(record.once())?;
        record.store.expect_spool(SIZE)?;
        Ok(record)
    }

    fn once(&self) -> Command {
        self.store.once("replay", ALL, &["sh", "-c", &self.script])
    }

    fn expect_replay(&self) -> Result<()> {
        run::expect_one_run(&self.counter)
    }
}
