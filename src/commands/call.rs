//! A call that claims, and may run a command under its claim: what the verbs share that
//! do.
//!
//! `wait` waits for what is busy, `clearing` sees to what predecessors left, `giving_back`
//! gives back what cannot be used, `running` runs a command under a claim that
//! `keeper` renews, in the environment that `environment` makes, `unguarded` runs one
//! without a claim, `account` writes the report line, and `trace` sends the span that says
//! the same to a collector.

pub(super) mod account;
pub(super) mod clearing;
pub(super) mod environment;
mod giving_back;
pub(super) mod keeper;
pub(super) mod running;
#[cfg(feature = "otel")]
pub(super) mod trace;
pub(super) mod unguarded;
pub(super) mod wait;

use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;

use crate::claim::attempt::Attempt;
use crate::claim::decide::{Busy, BusyWhy, Decision, Request};
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Holder, Life, Tie};
use crate::claim::id::{OperationId, Token};
use crate::claim::time::BootMs;
use crate::cli::{RunArgs, WaitArgs};
use crate::exit::{self, Ending};
use crate::place::Place;
use crate::process::clock;
use crate::process::host;
use crate::process::launch::{Newborn, Streams};
use crate::process::signals::Signals;
use crate::process::wake::Waker;
use crate::report::line::CallOutcome;
use crate::report::sentences::Topic;
use crate::store::{Answer, Heed, Store, StoreError, Trouble};

use super::Context;
use super::context::{Witness, random};
use account::Account;
use keeper::Renewal;
use wait::{Waiting, Woken};

/// How long a claim waits for a lock before it looks for signals.
const SLICE: Duration = Duration::from_millis(100);

/// The same for a server, which may be far away, and to which a connection may have to be
/// made first: a connection may be dead that nobody has closed. Whatever is asked in vain has
/// twice as long the next time, so that what takes longer comes to its end all the same.
const SLICE_OF_SERVER: Duration = Duration::from_secs(2);

/// Why a claim was given back whose answer came when its time was over, or nearly.
pub(super) const TOO_LATE: &str = "it was won too late to be used";

/// Why a claim was given back whose holder a signal has told to end.
pub(super) const TOLD: &str = "told to end before it started";

/// One call of a verb that claims, and that runs a command under its claim if it is told
/// how.
pub(super) struct Call<'a, R = &'a RunArgs> {
    pub(super) context: &'a Context,
    pub(super) run: R,
    waits: &'a WaitArgs,
    pub(super) request: Request,
    pub(super) live: Witness,
    pub(super) waker: Waker,
    pub(super) signals: Option<Signals>,
    /// Whether they have told us to end, where a server is asked.
    pub(super) heed: Heed,
    pub(super) waiting: Waiting,
    /// When the first claim was given back that could not be used.
    pub(super) gives_up: Option<Instant>,
    pub(super) renewal: Renewal,
    /// A process that may end while we wait, and with it the reason to.
    pub(super) on_behalf_of: Option<Holder>,
    pub(super) account: &'a mut Account,
}

/// A claim that was won, and what was prepared for it: the command that waits to run.
pub(super) struct Won<P = Newborn> {
    pub(super) claim: Claim,
    pub(super) prepared: P,
    /// When the claim was sent: its lease counts from then, if it is the one that has won and
    /// not an earlier one whose answer was lost.
    pub(super) sent: BootMs,
}

/// What one look, and one claim where the look did not settle it, came to.
pub(super) enum Asked<P = Newborn> {
    /// It may run.
    Won(Box<Won<P>>),
    /// Anything but a run.
    Not(Box<Decision>),
    /// It is over.
    Over(Ending),
    /// The store could not be used just now: to be asked again.
    Again,
}

impl<'a> Call<'a> {
    /// A call that runs a command.
    pub(super) fn new(
        context: &'a Context,
        run: &'a RunArgs,
        request: Request,
        account: &'a mut Account,
    ) -> Self {
        Self::with(context, (run, &run.waits), request, account)
    }

    /// One look, and one claim where the look does not settle it.
    pub(super) fn ask(&mut self, store: &mut dyn Store, streams: Streams) -> anyhow::Result<Asked> {
        self.ask_for(store, |call| {
            let newborn = call.fork(streams)?;
            let holder = host::ourselves(&call.context.clock);
            let group = Some(newborn.group());
            Ok((Claimant { holder, tie: Tie::Wrapper, group }, newborn))
        })
    }
}

impl<'a, R> Call<'a, R> {
    pub(super) fn with(
        context: &'a Context,
        (run, waits): (R, &'a WaitArgs),
        request: Request,
        account: &'a mut Account,
    ) -> Self {
        account.asked(&request.fingerprint);
        Self {
            context,
            run,
            waits,
            live: context.witness(),
            waker: Waker::default(),
            signals: None,
            heed: Heed::default(),
            waiting: Waiting::new(waits.wait),
            gives_up: None,
            renewal: Renewal::Always,
            on_behalf_of: None,
            account,
            request,
        }
    }

    /// One look, and one claim where the look does not settle it, for whoever is made
    /// ready for it then.
    pub(super) fn ask_for<P>(
        &mut self,
        store: &mut dyn Store,
        prepare: impl FnOnce(&Self) -> anyhow::Result<(Claimant, P)>,
    ) -> anyhow::Result<Asked<P>> {
        let began = Instant::now();
        self.heed_signals(store)?;
        let decision = match store.look(&self.request, &mut self.live) {
            Ok(decision) => decision,
            Err(error) => {
                self.give_more_time(store);
                return self.again_or(error);
            }
        };
        if let Decision::Replay(_) | Decision::Busy(_) | Decision::Mismatch(_) = decision {
            self.account.in_store(began);
            return Ok(Asked::Not(Box::new(decision)));
        }
        // From here on a signal must not end us with a claim in hand.
        if self.signals.is_none() {
            self.signals = Some(Signals::take_over()?);
            self.heed_signals(store)?;
        }
        let (claimant, prepared) = prepare(self)?;
        let (answer, sent) = self.claim(store, &claimant);
        self.account.in_store(began);
        Ok(match answer {
            Ok(Answer::Won(claim)) => Asked::Won(Box::new(Won { claim, prepared, sent })),
            Ok(Answer::Not(decision)) => Asked::Not(decision),
            Err(error) => {
                let why = match error.trouble() {
                    Trouble::Unacknowledged => Some("too few replicas had acknowledged it"),
                    // It may have won.
                    _ if self.heed.is_told() => Some(TOLD),
                    _ => None,
                };
                let asked = self.again_or(error);
                match why {
                    Some(why) if !matches!(asked, Ok(Asked::Again)) => {
                        return self.without_claim(store, asked, why);
                    }
                    _ => asked?,
                }
            }
        })
    }

    /// Has a server that does not answer keep nobody from ending who is told to.
    fn heed_signals(&mut self, store: &mut dyn Store) -> anyhow::Result<()> {
        if let (Some(signals), Place::Server(_)) = (&mut self.signals, self.context.place()) {
            self.heed = Heed::to(signals.flag()?);
            store.heed(self.heed.clone());
        }
        Ok(())
    }

    /// How the call ends if a signal tells us to end, and nothing has come of it.
    pub(super) fn told_to_end(&mut self) -> Option<Ending> {
        let signal = self.signals.as_mut().and_then(Signals::told_to_end)?;
        self.account.settle(CallOutcome::Error);
        Some(Ending::Signal(signal as u8))
    }

    /// Claims in slices, so that a signal to end, or the end of a wait, does not
    /// have to wait for a lock of somebody else's. Says when what may have won was sent.
    fn claim(
        &mut self,
        store: &mut dyn Store,
        claimant: &Claimant,
    ) -> (Result<Answer, StoreError>, BootMs) {
        let began = Instant::now();
        let (mut sent, mut may_have_won) = (clock::boot(), false);
        let is_server = matches!(self.context.place(), Place::Server(_));
        let mut slice = if is_server { SLICE_OF_SERVER } else { SLICE };
        let limit = self.context.store_timeout();
        let answer = loop {
            let left = limit.saturating_sub(began.elapsed());
            // What is left of the last would be too little for anything.
            let slice_of_it = if left < slice * 2 { left } else { slice };
            store.wait_at_most(slice_of_it);
            let error = match store.claim(&self.request, claimant, &mut self.live) {
                Err(error) if error.trouble().may_pass() => error,
                answer => break answer,
            };
            let over = left <= slice_of_it || self.waiting.is_over();
            let told = self.signals.as_mut().and_then(Signals::told_to_end_so_far).is_some();
            match error.trouble() {
                Trouble::Locked if over || told => break Err(store.locked_for(limit)),
                // It has not won: its lease counts from the next time.
                Trouble::Locked if is_server && !may_have_won => sent = clock::boot(),
                Trouble::Locked => {}
                _ if left <= slice_of_it => break Err(error.within(limit)),
                _ if over || told => break Err(error.within(began.elapsed())),
                // It may have: the same token gives the same claim then.
                _ => {
                    may_have_won = true;
                    slice = slice.saturating_mul(2);
                    thread::sleep(SLICE);
                }
            }
        };
        store.wait_at_most(limit);
        (answer, sent)
    }

    /// Gives a store that was asked in vain twice the time for what it is asked next, up to
    /// all that there is.
    pub(super) fn give_more_time(&self, store: &mut dyn Store) {
        let limit = self.context.store_timeout();
        let had = store.wait_at_most(limit);
        store.wait_at_most(had.saturating_mul(2).min(limit));
    }

    /// Draws what the next claim is told by, after one was given back: others may have
    /// gone on with the operation that it began, and ended it.
    pub(super) fn draw_anew(&mut self) -> anyhow::Result<()> {
        self.request.token = Token(random()?);
        self.request.new_operation = OperationId(random()?);
        Ok(())
    }

    /// A store that others have locked for a while, or a server that does not answer, ends
    /// no wait early; a signal does.
    pub(super) fn again_or<P>(&mut self, error: StoreError) -> anyhow::Result<Asked<P>> {
        if let Some(ending) = self.told_to_end() {
            return Ok(Asked::Over(ending));
        }
        if !self.waiting.goes_on() {
            return Err(error.into());
        }
        match error.trouble() {
            Trouble::Locked => Ok(Asked::Again),
            Trouble::Away | Trouble::Unacknowledged => Ok(match self.pause()? {
                Woken::Again => Asked::Again,
                Woken::Over(ending) => Asked::Over(ending),
            }),
            _ => Err(error.into()),
        }
    }

    /// What is said about what is asked for.
    pub(super) fn topic(&self) -> Topic<'_> {
        match &self.request.parent {
            None => self.context.topic(&self.request.subject),
            Some(parent) => {
                let step = Some(&self.request.subject.key);
                Topic { step, ..self.context.topic(&parent.subject) }
            }
        }
    }

    /// A call from inside the command that holds what is asked for: it would
    /// wait for itself.
    pub(super) fn nested(&mut self, attempt: Attempt) -> Ending {
        let sentence = self.topic().nested(&attempt);
        let why = BusyWhy::Held(Life::Alive);
        let busy = Busy { attempt, why, retry_after: None, holders: Vec::new(), gives: None };
        self.busy(&busy, &sentence)
    }

    /// What is not to be had, now or later, without somebody's doing something.
    pub(super) fn refused(&mut self, decision: Decision) -> anyhow::Result<Ending> {
        let (sentence, about, outcome, status) = match decision {
            // A call from inside the key's own command asks for something else
            // by its nature: it waits for itself before it differs.
            Decision::Mismatch(first) if self.is_held_above(&first) => {
                return Ok(self.nested(first));
            }
            Decision::Mismatch(first) => {
                let sentence = self.topic().mismatch(&first, &self.request.fingerprint);
                (sentence, Some(first), CallOutcome::Mismatch, exit::MISMATCH)
            }
            Decision::Unresolved(unresolved) => {
                let sentence = self.topic().unresolved(&unresolved);
                self.account.unresolved_because(unresolved.why);
                let about = Some(unresolved.attempt);
                (sentence, about, CallOutcome::Unresolved, exit::UNRESOLVED)
            }
            Decision::ParentLost => {
                (self.topic().parent_lost(), None, CallOutcome::Lost, exit::LOST)
            }
            Decision::Run(_)
            | Decision::Claimed(_)
            | Decision::Replay(_)
            | Decision::Busy(_)
            | Decision::Known(_) => {
                return Err(anyhow!("{}: the store gave no answer", self.request.title()));
            }
        };
        self.context.voice.warn(&sentence);
        if let Some(attempt) = about {
            self.account.about(&attempt);
        }
        self.account.settle(outcome);
        Ok(Ending::Status(status))
    }

    /// The exit status when it is busy.
    pub(super) fn conflict_exit_code(&self) -> u8 {
        self.waits.conflict_exit_code()
    }

    /// Somebody else has it.
    pub(super) fn busy(&mut self, busy: &Busy, sentence: &str) -> Ending {
        self.context.voice.note(sentence);
        self.account.about(&busy.attempt);
        self.account.retry_after(busy.retry_after);
        self.account.busy_because(busy.why);
        self.account.settle(CallOutcome::Busy);
        Ending::Status(self.conflict_exit_code())
    }
}
