//! The thread that keeps a claim while its command runs.
//!
//! It alone touches the store meanwhile: it renews the lease every quarter of
//! it, and tells the owner of the command when the claim is lost. A store that
//! is slow or locked holds up nobody else.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::anyhow;

use crate::claim::attempt::Ownership;
use crate::claim::key::Kind;
use crate::claim::time::BootMs;
use crate::process::alarm::Alarm;
use crate::process::clock;
use crate::process::rules::Transacting;
use crate::process::tenure::{Tenure, until};
use crate::process::wake::{Bell, Reason, Waker, wait_readable};
use crate::report::voice::Voice;
use crate::store::{LostWhy, Owned, Store, StoreError, Trouble};

/// The longest pause after a renewal that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// What a claim is kept with.
pub(in crate::commands) struct Keeping {
    /// Whose it is.
    pub(in crate::commands) owner: Ownership,
    /// How long one renewal may take.
    pub(in crate::commands) limit: Duration,
    /// For how long it is a claim.
    pub(in crate::commands) tenure: Arc<Tenure>,
    /// Whether it is renewed at all.
    pub(in crate::commands) renewal: Renewal,
}

/// Whether a claim is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Renewal {
    /// It is, as long as its command runs.
    Always,
    /// It ends by itself (`--no-renew`).
    Never,
}

/// Keeps a claim: idle at first, and with a thread of its own from when the
/// command turns out to last.
pub(in crate::commands) struct Keeper {
    /// What the thread works with while it runs.
    work: Arc<Mutex<Option<Work>>>,
    renewal: Renewal,
    /// The end of the stream tells the thread to stop.
    thread: Option<(UnixStream, JoinHandle<()>)>,
    voice: Voice,
}

impl Keeper {
    /// A keeper that does nothing yet.
    pub(in crate::commands) fn new(
        store: Box<dyn Store>,
        keeping: Keeping,
        transacting: Arc<Transacting>,
        voice: Voice,
    ) -> Self {
        let renewal = keeping.renewal;
        let work = Work { store, keeping, transacting, voice, failing: Failing::No };
        Self { work: Arc::new(Mutex::new(Some(work))), renewal, thread: None, voice }
    }

    /// Starts the thread, unless it runs or nothing is to be renewed. Without one
    /// the claim ends by itself, which only matters to whoever cannot ask the
    /// kernel.
    pub(in crate::commands) fn begin(&mut self, waker: &mut Waker) {
        if self.thread.is_some() || self.renewal == Renewal::Never {
            return;
        }
        let ends = waker.bell().and_then(|bell| Ok((bell, UnixStream::pair()?)));
        let (bell, (stop, stopped)) = match ends {
            Ok(ends) => ends,
            Err(why) => return self.cannot_renew(&why),
        };
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

    /// Stops, and gives back the store.
    pub(in crate::commands) fn stop(self) -> anyhow::Result<Box<dyn Store>> {
        if let Some((stop, thread)) = self.thread {
            drop(stop);
            thread.join().map_err(|_| anyhow!("the thread that renews the claim has failed"))?;
        }
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.map(|work| work.store).ok_or_else(|| anyhow!("the store was not given back"))
    }
}

/// Whether renewals fail at present, which is told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failing {
    No,
    /// The next is to be tried then.
    Since(BootMs),
}

/// What the thread works with.
struct Work {
    store: Box<dyn Store>,
    keeping: Keeping,
    transacting: Arc<Transacting>,
    voice: Voice,
    failing: Failing,
}

impl Work {
    fn run(&mut self, stopped: &UnixStream, bell: &Bell) {
        let alarm = Alarm::new();
        loop {
            let left = until(self.next(), clock::boot());
            if left.is_zero() {
                if self.renew(bell) == Owned::Yes {
                    continue;
                }
                return;
            }
            alarm.set(left);
            match wait_readable([alarm.fd(), Some(stopped.as_fd())], alarm.timeout(left)) {
                Ok([_, false]) => {}
                Ok([_, true]) | Err(_) => return,
            }
        }
    }

    /// When the next renewal is to be sent.
    fn next(&self) -> BootMs {
        match self.failing {
            Failing::No => self.keeping.tenure.renew_at(),
            Failing::Since(again) => again,
        }
    }

    /// Renews; says whether there is still something to be renewed.
    fn renew(&mut self, bell: &Bell) -> Owned {
        let sent = clock::boot();
        let transacting = Arc::clone(&self.transacting);
        let _held = transacting.lock().unwrap_or_else(PoisonError::into_inner);
        match self.store.renew(&self.keeping.owner, self.keeping.limit) {
            Ok(Owned::Yes) => {
                self.keeping.tenure.renewed(sent);
                self.failing = Failing::No;
                self.store.tidy();
            }
            Ok(lost) => {
                bell.ring(Reason::Lost);
                return lost;
            }
            // The name is to be had in another store now, or nowhere.
            Err(error) if error.trouble() == Trouble::Refused && self.is_lease() => {
                self.missed(&error);
                bell.ring(Reason::Lost);
                return Owned::Lost(LostWhy::Missing);
            }
            Err(error) => self.missed(&error),
        }
        Owned::Yes
    }

    fn is_lease(&self) -> bool {
        self.keeping.owner.subject.kind == Kind::Lease
    }

    fn missed(&mut self, error: &StoreError) {
        if self.failing == Failing::No {
            let key = &self.keeping.owner.subject.key;
            self.voice.warn(&format!("{key}: the claim cannot be renewed at present: {error}"));
        }
        let pause = AGAIN.min(self.keeping.tenure.length() / 16);
        self.failing = Failing::Since(clock::boot().plus(pause));
    }
}
