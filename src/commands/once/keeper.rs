//! The thread that keeps a claim while its command runs.
//!
//! It alone touches the store meanwhile: it renews the lease every quarter of
//! it, and tells the owner of the command when the claim is lost. A store that
//! is slow or locked holds up nobody else.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::anyhow;

use crate::claim::attempt::Ownership;
use crate::process::supervise::Transacting;
use crate::process::wake::{Bell, Reason, Waker};
use crate::report::voice::Voice;
use crate::store::sqlite::SqliteStore;
use crate::store::{Owned, Store as _, StoreError};

/// The pause after a renewal that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// What protects a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// A lock that the kernel drops when we end; the lease is for people.
    Kernel,
    /// The lease alone: a command must not outlive it.
    Lease,
}

/// What a claim is kept with.
pub(super) struct Keeping {
    /// Whose it is.
    pub(super) owner: Ownership,
    /// The length of its lease.
    pub(super) lease: Duration,
    /// How long one renewal may take.
    pub(super) limit: Duration,
    /// What protects it.
    pub(super) guard: Guard,
    /// When the claim was sent.
    pub(super) claimed: Instant,
}

/// Keeps a claim: idle at first, and with a thread of its own from when the
/// command turns out to last.
pub(super) struct Keeper {
    /// What the thread works with while it runs.
    work: Arc<Mutex<Option<Work>>>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
    voice: Voice,
}

impl Keeper {
    /// A keeper that does nothing yet.
    pub(super) fn new(
        store: SqliteStore,
        keeping: Keeping,
        transacting: Arc<Transacting>,
        voice: Voice,
    ) -> Self {
        let renewed = keeping.claimed;
        let work = Work { store, renewed, keeping, transacting, voice, told: false };
        Self { work: Arc::new(Mutex::new(Some(work))), thread: None, voice }
    }

    /// Starts the thread, unless it runs. Without one the claim is not renewed,
    /// which only matters to whoever cannot ask the kernel.
    pub(super) fn begin(&mut self, waker: &mut Waker) {
        if self.thread.is_some() {
            return;
        }
        let bell = match waker.bell() {
            Ok(bell) => bell,
            Err(why) => return self.cannot_renew(&why),
        };
        let (stop, stopped) = mpsc::channel();
        let shared = Arc::clone(&self.work);
        let thread = thread::Builder::new().name("keeper".into()).spawn(move || {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(work) = shared.as_mut() {
                work.run(&stopped, &bell);
            }
        });
        match thread {
            Ok(thread) => self.thread = Some((stop, thread)),
            Err(why) => self.cannot_renew(&why),
        }
    }

    fn cannot_renew(&self, why: &io::Error) {
        self.voice.warn(&format!("the claim will not be renewed: {why}"));
    }

    /// Stops; gives back the store, and when the lease was last renewed.
    pub(super) fn stop(self) -> anyhow::Result<(SqliteStore, Instant)> {
        if let Some((stop, thread)) = self.thread {
            drop(stop);
            thread.join().map_err(|_| anyhow!("the thread that renews the claim has failed"))?;
        }
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let work = work.ok_or_else(|| anyhow!("the store was not given back"))?;
        Ok((work.store, work.renewed))
    }
}

/// What the thread works with.
struct Work {
    store: SqliteStore,
    keeping: Keeping,
    transacting: Arc<Transacting>,
    /// When the last renewal that succeeded was sent.
    renewed: Instant,
    voice: Voice,
    /// Whether a failing renewal has been told.
    told: bool,
}

impl Work {
    fn run(&mut self, stopped: &Receiver<()>, bell: &Bell) {
        while stopped.recv_timeout(self.pause()) == Err(RecvTimeoutError::Timeout) {
            self.renew(bell);
        }
    }

    /// How long to wait for the next renewal: a quarter of the lease, and less
    /// after one that failed.
    fn pause(&self) -> Duration {
        let quarter = self.keeping.lease / 4;
        if self.told { quarter.min(AGAIN) } else { quarter }
    }

    fn renew(&mut self, bell: &Bell) {
        let sent = Instant::now();
        let transacting = Arc::clone(&self.transacting);
        let _held = transacting.lock().unwrap_or_else(PoisonError::into_inner);
        match self.store.renew(&self.keeping.owner, self.keeping.limit) {
            Ok(owned) => {
                self.renewed = sent;
                self.told = false;
                if let Owned::Lost(_) = owned {
                    bell.ring(Reason::Lost);
                }
            }
            Err(error) => self.missed(&error, bell),
        }
    }

    fn missed(&mut self, error: &StoreError, bell: &Bell) {
        if !self.told {
            self.told = true;
            let key = &self.keeping.owner.subject.key;
            self.voice.warn(&format!("{key}: the claim cannot be renewed at present: {error}"));
        }
        let over = self.renewed.elapsed() >= self.keeping.lease * 3 / 4;
        if over && self.keeping.guard == Guard::Lease {
            bell.ring(Reason::Lost);
        }
    }
}
