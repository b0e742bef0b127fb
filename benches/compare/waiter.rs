//! Both sides of the row about a caller that waits for a busy key.
//!
//! A holder runs a command that reads from a FIFO. A second caller of the key waits, and the kernel
//! has it blocked on the holder's lock. Then the FIFO is written to, and that is when both clocks
//! start. The holder's time ends when the holder does: its shell has ended and the outcome was
//! recorded. The waiter's time ends when the waiter does: it was woken, read the outcome and
//! replayed the output. So the difference of a round is how long after its holder a waiter ends;
//! it is negative where the waiter was the first, since a holder that has recorded wakes it before
//! it tidies up. Both ends are noticed by threads of the bench that were blocked on them.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::idle::{self, Spent};
use crate::row::{MeasureBoth, Times};
use crate::run;
use crate::running::{Running, until};
use crate::store::Store;

/// How long a waiter is watched.
const WATCHED: Duration = Duration::from_secs(2);

/// How long a waiter is left alone after the kernel has blocked one of its threads, so that the
/// other one has come to rest, too.
const REST: Duration = Duration::from_millis(5);

/// A store whose holders wait at a gate.
struct Stage {
    store: Store,
    folder: &'static str,
    /// Both ends of the FIFO: nobody blocks in `open`, and all go on when it is closed.
    gate: File,
    round: usize,
}

/// A holder at the gate, and a waiter that is blocked on it.
struct Pair {
    holder: Running,
    waiter: Running,
    counter: String,
}

/// Times the ends of a waiter and of its holder.
pub(crate) fn wake() -> Result<MeasureBoth> {
    let mut stage = Stage::create("waiter")?;
    Ok(Box::new(move || {
        let pair = stage.pair()?;
        stage.let_go(pair)
    }))
}

/// Finds out what a waiter uses while it waits.
pub(crate) fn idle() -> Result<Spent> {
    let mut stage = Stage::create("waiter-idle")?;
    let pair = stage.pair()?;
    let before = Spent::by(pair.waiter.pid())?;
    thread::sleep(WATCHED);
    let spent = Spent::by(pair.waiter.pid())?.since(&before);
    stage.let_go(pair)?;
    Ok(spent)
}

impl Stage {
    fn create(folder: &'static str) -> Result<Self> {
        let store = Store::create(folder)?;
        let path = format!("{folder}/gate");
        mkfifo(Path::new(&path), Mode::S_IRWXU).context("cannot make a FIFO")?;
        let gate = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(Self { store, folder, gate, round: 0 })
    }

    /// Starts a holder of a new key and then a waiter.
    fn pair(&mut self) -> Result<Pair> {
        self.round += 1;
        let (folder, key) = (self.folder, format!("wait-{}", self.round));
        let counter = format!("{folder}/runs-{}", self.round);
        let script = format!("echo ran >> {counter}; read x < {folder}/gate; echo hi");
        let call = |options| self.store.once(&key, options, &["sh", "-c", &script]);
        let mut holder = Running::start(call(&[]))?;
        until("the holder's command runs", || {
            ensure!(!holder.has_ended()?, "the holder ended too soon");
            Ok(Path::new(&counter).exists())
        })?;
        let mut waiter = Running::start(call(&["--wait", "forever"]))?;
        until("the waiter is blocked", || {
            ensure!(!waiter.has_ended()?, "the waiter did not wait");
            idle::is_blocked_on(&self.store.live())
        })?;
        thread::sleep(REST);
        Ok(Pair { holder, waiter, counter })
    }

    /// Lets the holder's command end, and times both ends from there.
    fn let_go(&mut self, pair: Pair) -> Result<Times> {
        let Pair { holder, waiter, counter } = pair;
        let (start, [holder_end, waiter_end]) = thread::scope(|scope| {
            let ends = [holder, waiter].map(|running| scope.spawn(|| running.end()));
            thread::sleep(REST);
            let start = Instant::now();
            let opened = self.gate.write_all(b"\n");
            opened.map(|()| (start, ends.map(ScopedJoinHandle::join)))
        })?;
        let since = |end: thread::Result<Result<Instant>>| -> Result<Duration> {
            let end = end.map_err(|_| anyhow!("a thread of the bench panicked"))??;
            Ok(end.duration_since(start))
        };
        let (peer, ours) = (since(holder_end)?, since(waiter_end)?);
        run::expect_one_run(&counter)?;
        Ok(Times { ours: vec![ours], peer: vec![peer] })
    }
}
