//! Waiting for a busy key.
//!
//! A holder on this machine is waited for in the kernel: a thread asks for a
//! shared lock on its byte and gets it when the holder ends, so nobody polls.
//! An orphaned command holds no lock; it is looked at again, at most a second
//! apart. So is a holder on a server that cannot wake us; where one can, it does so as
//! soon as anything is written about the key. A wait that is told to end ends at once:
//! nothing is claimed yet.

use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::claim::attempt::{Attempt, State};
use crate::claim::decide::{Busy, BusyWhy, Request, Rerun, Seen, Terms};
use crate::claim::duration::Limit;
use crate::claim::fence::Fence;
use crate::claim::holder::Tie;
use crate::claim::id::Token;
use crate::claim::key::Kind;
use crate::exit::Ending;
use crate::place::Place;
use crate::process::ancestors;
use crate::process::live::LiveFile;
use crate::process::wake::{Bell, Reason, wait_readable};
use crate::report::document::ms;
use crate::report::line::CallOutcome;
use crate::store::{Store, StoreError};

use super::environment::held_above;
use super::{Call, SLICE_OF_SERVER};

/// The longest pause between two looks at a holder that holds no lock.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The first such pause.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The longest pause between two looks at what a server tells us of: what it says may
/// get lost.
const LOST_WORD: Duration = Duration::from_secs(15);

/// The longest pause between two looks at a key that rests: of a person who forgets it
/// nobody tells us.
const LOOKS_AT_REST: Duration = Duration::from_secs(5);

/// How the wait of a call stands.
pub(in crate::commands) struct Waiting {
    limit: Limit,
    began: Option<Instant>,
    /// The attempt whose end is waited for.
    awaited: Option<(Fence, Token)>,
    /// The holders that threads wait for in the kernel; each thread takes its own
    /// away when it is done.
    blocked_on: Arc<Mutex<Vec<Fence>>>,
    bell: Option<Arc<Bell>>,
    pause: Duration,
    /// Whether the store has begun to tell us of what is written.
    told: Told,
}

/// Whether a store tells us of what is written about what we wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// It did not the last time that it was asked to.
    No,
    /// It does, and what happened before that has been looked at.
    Yes,
}

/// Why a wait is over.
pub(in crate::commands) enum Woken {
    /// It is time to ask again.
    Again,
    /// The call is over.
    Over(Ending),
}

impl Waiting {
    /// A wait of at most `limit`; none by default.
    pub(in crate::commands) fn new(limit: Option<Limit>) -> Self {
        Self {
            limit: limit.unwrap_or(Limit::After(Duration::ZERO)),
            began: None,
            awaited: None,
            blocked_on: Arc::default(),
            bell: None,
            pause: FIRST_PAUSE,
            told: Told::No,
        }
    }

    /// The attempt whose end is, or was, waited for.
    pub(in crate::commands) fn awaited(&self) -> Option<Fence> {
        self.awaited.map(|(fence, _)| fence)
    }

    /// What the awaited attempt gave, once it has ended by itself: those who
    /// wait for a command share its end, a failure included.
    pub(in crate::commands) fn given(
        &self,
        store: &mut dyn Store,
        request: &Request,
    ) -> Result<Option<Attempt>, StoreError> {
        let Some((fence, token)) = self.awaited else { return Ok(None) };
        let rerun = matches!(&request.terms, Terms::Once(terms) if terms.rerun == Rerun::Yes);
        if rerun {
            return Ok(None);
        }
        let mut chain = store.chain(&request.subject)?;
        let is_awaited = |attempt: &Attempt| (attempt.fence, attempt.token) == (fence, token);
        let Some(at) = chain.iter().position(|a| is_awaited(a) && a.has_given()) else {
            return Ok(None);
        };
        // A failure keeps its output until two more have followed it. Whoever comes so late
        // is given the newest.
        let operation = chain[at].operation;
        let is_newest = |attempt: &Attempt| attempt.operation == operation && attempt.has_given();
        let newest = || chain.iter().position(is_newest);
        let at = if chain[at].has_let_go_of_output() { newest().unwrap_or(at) } else { at };
        Ok(Some(chain.swap_remove(at)))
    }

    /// Whether a wait has begun and is not over.
    pub(in crate::commands) fn goes_on(&self) -> bool {
        self.began.is_some() && self.left() != Some(Duration::ZERO)
    }

    /// Whether a wait has begun and is over.
    pub(in crate::commands) fn is_over(&self) -> bool {
        self.began.is_some() && self.left() == Some(Duration::ZERO)
    }

    /// How much of the wait is left at most; nothing for ever.
    fn left(&self) -> Option<Duration> {
        let waited = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        match self.limit {
            Limit::Forever => None,
            Limit::After(limit) => Some(limit.saturating_sub(waited)),
        }
    }
}

impl<R> Call<'_, R> {
    /// Waits until it makes sense to ask again, or ends the call.
    pub(in crate::commands) fn wait(
        &mut self,
        store: &mut dyn Store,
        busy: &Busy,
    ) -> anyhow::Result<Woken> {
        // Whoever else holds it, too: it would wait for itself after all.
        let above = busy.holders.iter().find(|seen| self.is_held_above(&seen.attempt));
        if let Some(seen) = above {
            return Ok(Woken::Over(self.nested(seen.attempt.clone())));
        }
        let topic = self.topic();
        let left = self.waiting.left();
        if left == Some(Duration::ZERO) {
            let sentence = match self.waiting.began {
                Some(began) => topic.waited(busy, began.elapsed()),
                None => topic.busy(busy),
            };
            return Ok(Woken::Over(self.busy(busy, &sentence)));
        }
        if self.waiting.began.is_none() {
            self.context.voice.tell(|| topic.waits(busy));
        }
        if self.live.lock_file().is_none() {
            // The connection may have died since nobody has used it.
            store.wait_at_most(SLICE_OF_SERVER);
        }
        let began = Instant::now();
        self.waiting.began.get_or_insert(began);
        let pause = self.prepare(store, busy);
        let look_after_him = self.on_behalf_of.as_ref().map(|_| LONGEST_PAUSE);
        let limit = [left, pause, look_after_him].into_iter().flatten().min();
        let woken = self.sleep(limit);
        self.account.waiting(began);
        woken
    }

    /// Waits a little before a store is asked again that cannot be used just now.
    pub(in crate::commands) fn pause(&mut self) -> anyhow::Result<Woken> {
        let began = Instant::now();
        let limit = [Some(self.next_pause()), self.waiting.left()].into_iter().flatten().min();
        let woken = self.sleep(limit);
        self.account.waiting(began);
        woken
    }

    /// Arranges to be woken, and says how long to wait at the most.
    fn prepare(&mut self, store: &mut dyn Store, busy: &Busy) -> Option<Duration> {
        let attempt = &busy.attempt;
        // What has been waited for since its own period is given in the next one, too.
        self.waiting.awaited = busy.gives.or(self.waiting.awaited);
        if self.live.lock_file().is_none() {
            return Some(self.listen(store, busy));
        }
        if busy.why == BusyWhy::Resting {
            return busy.retry_after.map(|rest| rest.min(LOOKS_AT_REST));
        }
        let mut told_of =
            |seen: &Seen| seen.tells_of_its_end() && self.block_on(seen.attempt.fence);
        // All of them, though one would do to know that some are to be polled.
        let watched = busy.holders.iter().filter(|seen| told_of(seen)).count();
        if watched == busy.holders.len() {
            let next = busy.retry_after.unwrap_or(attempt.lease);
            return Some(match self.request.subject.kind {
                Kind::Lease => next,
                // Somebody may have forgotten the key meanwhile: looking once a
                // lease costs nothing.
                Kind::Once | Kind::Step => next.max(LONGEST_PAUSE),
            });
        }
        [Some(self.next_pause()), busy.retry_after].into_iter().flatten().min()
    }

    /// Has a server tell us of what is written about the key, and says how long to wait
    /// at the most.
    fn listen(&mut self, store: &mut dyn Store, busy: &Busy) -> Duration {
        let next = busy.retry_after.unwrap_or(LOST_WORD);
        let before = self.waiting.told;
        let is_watched = self.bell().is_some_and(|bell| {
            let ring = Box::new(move || bell.ring(Reason::Freed));
            store.watch(&self.request.subject, ring)
        });
        self.waiting.told = if is_watched { Told::Yes } else { Told::No };
        match (before, self.waiting.told) {
            (_, Told::No) => next.min(self.next_pause()),
            // Of what was written since we looked nobody has told us.
            (Told::No, Told::Yes) => Duration::ZERO,
            (Told::Yes, Told::Yes) => next.min(LOST_WORD),
        }
    }

    /// How long to wait before a look that nobody asks for: longer each time, between
    /// half of that and the whole, so that waiters do not march in step.
    fn next_pause(&mut self) -> Duration {
        let pause = self.waiting.pause;
        self.waiting.pause = (pause * 2).min(LONGEST_PAUSE);
        let half = pause / 2;
        let jitter = RandomState::new().hash_one(pause) % ms(half).max(1);
        half + Duration::from_millis(jitter)
    }

    /// Has a thread wait for a holder in the kernel; says whether one does.
    fn block_on(&mut self, fence: Fence) -> bool {
        let blocked_on = Arc::clone(&self.waiting.blocked_on);
        if lock(&blocked_on).contains(&fence) {
            return true;
        }
        let Some(path) = self.live.lock_file().map(Path::to_owned) else { return false };
        let Some(bell) = self.bell() else { return false };
        lock(&blocked_on).push(fence);
        let thread = thread::Builder::new().name("wait".into()).stack_size(64 << 10);
        let waits = thread.spawn(move || {
            if LiveFile::wait_for(&path, fence).is_err() {
                // Whatever is wrong, the caller looks again, and not at once.
                thread::sleep(LONGEST_PAUSE);
            }
            lock(&blocked_on).retain(|other| *other != fence);
            bell.ring(Reason::Freed);
        });
        if waits.is_err() {
            lock(&self.waiting.blocked_on).retain(|other| *other != fence);
        }
        waits.is_ok()
    }

    /// The one end by which all those threads wake us.
    fn bell(&mut self) -> Option<Arc<Bell>> {
        if self.waiting.bell.is_none() {
            self.waiting.bell = self.waker.bell().ok().map(Arc::new);
        }
        self.waiting.bell.clone()
    }

    fn sleep(&mut self, limit: Option<Duration>) -> anyhow::Result<Woken> {
        match &mut self.signals {
            None => {
                wait_readable([self.waker.fd()], limit)?;
            }
            Some(signals) => {
                wait_readable([self.waker.fd(), Some(signals.fd())], limit)?;
                let told = signals.told_to_end();
                if let Some(signal) = told {
                    self.account.settle(CallOutcome::Busy);
                    return Ok(Woken::Over(Ending::Signal(signal as u8)));
                }
            }
        }
        // Why it was does not matter: the store is asked again.
        self.waker.reasons();
        Ok(Woken::Again)
    }

    /// Whether a running attempt's holder runs this very call: by the tokens it handed
    /// down, or because it is an ancestor.
    pub(in crate::commands) fn is_held_above(&self, attempt: &Attempt) -> bool {
        let holder = &attempt.holder;
        // On another host, others have the same numbers.
        let is_here = || match self.context.place() {
            Place::File(_) => true,
            Place::Server(_) => holder.boot_id == *self.context.clock.boot_id(),
        };
        // Who claimed for a time only is told for people.
        let by_ancestor = || attempt.tie != Tie::Time && is_here() && ancestors::include(holder);
        attempt.state == State::Running && (held_above().contains(&attempt.token) || by_ancestor())
    }
}

fn lock(fences: &Mutex<Vec<Fence>>) -> MutexGuard<'_, Vec<Fence>> {
    fences.lock().unwrap_or_else(PoisonError::into_inner)
}
