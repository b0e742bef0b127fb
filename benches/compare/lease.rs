//! The rows about `lease`: what it costs beside `flock`, how soon a waiter runs, and what holding
//! costs.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::idle::Spent;
use crate::peak;
use crate::row::Measure;
use crate::run;
use crate::running::{Running, until};
use crate::store::Store;

/// The lease of a holder that is watched.
const TTL: &str = "4s";

/// How long it is watched: as long as four renewals take.
const WATCHED: Duration = Duration::from_secs(4);

/// Runs `true` under the same name each round.
pub(crate) fn held() -> Result<Measure> {
    let store = Store::create("lease-ours")?;
    Ok(Box::new(move || run::one(store.lease("name", &[], &["true"]))))
}

/// Runs `true` under the same lock file each round.
pub(crate) fn flock() -> Result<Measure> {
    fs::create_dir("lease-flock")?;
    let flock = run::need("flock")?;
    Ok(Box::new(move || {
        let mut command = run::command(&flock);
        command.args(["lease-flock/lock", "true"]);
        run::one(command)
    }))
}

/// Finds out what a holder uses while four renewals go by.
pub(crate) fn idle() -> Result<Spent> {
    let stage = Stage::create("lease-idle")?;
    let holder = stage.hold(stage.store.lease("name", &["--ttl", TTL], &stage.command()))?;
    let before = Spent::by(holder.pid())?;
    thread::sleep(WATCHED);
    let spent = Spent::by(holder.pid())?.since(&before);
    stage.let_go(holder)?;
    Ok(spent)
}

/// Finds out the most memory that a holder has had over four renewals.
pub(crate) fn peak_kib() -> Result<u64> {
    let stage = Stage::create("lease-peak")?;
    let holder = stage.store.lease("name", &["--ttl", TTL], &stage.command());
    let holder = stage.hold(peak::watched(&holder, "lease-peak/peak")?)?;
    thread::sleep(WATCHED);
    stage.let_go(holder)?;
    peak::read_kib("lease-peak/peak")
}

/// A store whose holders wait at a gate.
struct Stage {
    store: Store,
    script: String,
    ready: String,
    gate: File,
}

impl Stage {
    fn create(folder: &str) -> Result<Self> {
        let store = Store::create(folder)?;
        let path = format!("{folder}/gate");
        mkfifo(Path::new(&path), Mode::S_IRWXU).context("cannot make a FIFO")?;
        let gate = OpenOptions::new().read(true).write(true).open(&path)?;
        let ready = format!("{folder}/ready");
        let script = format!("echo ready > {ready}; read x < {path}");
        Ok(Self { store, script, ready, gate })
    }

    fn command(&self) -> [&str; 3] {
        ["sh", "-c", &self.script]
    }

    /// Starts a holder, and leaves it alone until its first renewal is over.
    fn hold(&self, command: std::process::Command) -> Result<Running> {
        let holder = Running::start(command)?;
        until("the holder's command runs", || Ok(Path::new(&self.ready).exists()))?;
        thread::sleep(Duration::from_millis(1500));
        Ok(holder)
    }

    fn let_go(&self, holder: Running) -> Result<()> {
        (&self.gate).write_all(b"\n")?;
        holder.end().map(drop)
    }
}
