//! Both sides of the rows about a caller that waits for a busy key or name.
//!
//! A holder runs a command that reads from a FIFO. A second caller of the key waits, and the kernel
//! has it blocked on the holder's lock. Then the FIFO is written to, and that is when both clocks
//! start. The holder's time ends when the holder does: its shell has ended and the outcome was
//! recorded. The waiter's time ends when the waiter does: it was woken, read the outcome and
//! replayed the output. So the difference of a round is how long after its holder a waiter ends;
//! it is negative where the waiter was the first, since a holder that has recorded wakes it before
//! it tidies up. (A waiter for a name runs `true` then, which its time includes.) Both ends are noticed by threads of the bench that were blocked on them.

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

/// The verb whose waiters are watched.
#[derive(Clone, Copy)]
enum Verb {
    /// A waiter gets the holder's outcome.
    Once,
    /// A waiter runs its own command.
    Lease,
}

/// A store whose holders wait at a gate.
struct Stage {
    verb: Verb,
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

/// Times the ends of a waiter for an outcome and of its holder.
pub(crate) fn wake() -> Result<MeasureBoth> {
    Ok(timed(Stage::create("waiter", Verb::Once)?))
}

/// Times the end of the command of a waiter for a name, and of its holder.
pub(crate) fn wake_for_name() -> Result<MeasureBoth> {
    Ok(timed(Stage::create("waiter-lease", Verb::Lease)?))
}

fn timed(mut stage: Stage) -> MeasureBoth {
    Box::new(move || {
        let pair = stage.pair()?;
        stage.let_go(pair)
    })
}

/// Finds out what a waiter uses while it waits.
pub(crate) fn idle() -> Result<Spent> {
    idle_waiter(Stage::create("waiter-idle", Verb::Once)?)
}

/// Finds out what a waiter for a name uses while it waits.
pub(crate) fn idle_for_name() -> Result<Spent> {
    idle_waiter(Stage::create("waiter-lease-idle", Verb::Lease)?)
}

fn idle_waiter(mut stage: Stage) -> Result<Spent> {
    let pair = stage.pair()?;
    let before = Spent::by(pair.waiter.pid())?;
    thread::sleep(WATCHED);
    let spent = Spent::by(pair.waiter.pid())?.since(&before);
    stage.let_go(pair)?;
    Ok(spent)
}

impl Stage {
    fn create(folder: &'static str, verb: Verb) -> Result<Self> {
        let store = Store::create(folder)?;
        let path = format!("{folder}/gate");
        mkfifo(Path::new(&path), Mode::S_IRWXU).context("cannot make a FIFO")?;
        let gate = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(Self { verb, store, folder, gate, round: 0 })
    }

    /// Starts a holder of a new key and then a waiter.
    fn pair(&mut self) -> Result<Pair> {
        self.round += 1;
        let (folder, key) = (self.folder, format!("wait-{}", self.round));
        let counter = format!("{folder}/runs-{}", self.round);
        let script = format!("echo ran >> {counter}; read x < {folder}/gate; echo hi");
        let holds = ["sh", "-c", &script];
        let (holder, waiter) = match self.verb {
            Verb::Once => {
                let waits = self.store.once(&key, &["--wait", "forever"], &holds);
                (self.store.once(&key, &[], &holds), waits)
            }
            Verb::Lease => {
                let waits = self.store.lease(&key, &["--wait", "forever"], &["true"]);
                (self.store.lease(&key, &[], &holds), waits)
            }
        };
        let mut holder = Running::start(holder)?;
        until("the holder's command runs", || {
            ensure!(!holder.has_ended()?, "the holder ended too soon");
            Ok(Path::new(&counter).exists())
        })?;
        let mut waiter = Running::start(waiter)?;
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
