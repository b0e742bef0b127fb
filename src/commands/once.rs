//! `once KEY -- COMMAND`: runs a command once per key and replays its end.
//!
//! `ask` turns the arguments into a request, `wait` waits for a busy key,
//! `attempt` runs the command under a claim that `keeper` renews, `validate` has
//! its result looked at, `spend` records how it ended, `replay` gives a recorded
//! end again, and `account` writes the report line.

mod account;
mod ask;
mod attempt;
mod keeper;
mod replay;
mod spend;
mod validate;
mod wait;

use std::time::Instant;

use anyhow::anyhow;

use crate::claim::attempt::Attempt;
use crate::claim::decide::{Busy, BusyWhy, Decision, Request, Unresolved};
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Life};
use crate::claim::period::Calendar;
use crate::claim::time::Clock as _;
use crate::cli::OnceArgs;
use crate::exit::{self, Ending};
use crate::process::host;
use crate::process::launch::Newborn;
use crate::process::live::LiveFile;
use crate::process::signals::Signals;
use crate::process::wake::Waker;
use crate::report::line::CallOutcome;
use crate::store::sqlite::SqliteStore;
use crate::store::{Answer, Store as _};

use super::Context;
use account::Account;
use replay::Recorded;
use wait::{Waiting, Woken, is_held_above};

/// One call of `once`.
struct Call<'a> {
    context: &'a Context,
    args: &'a OnceArgs,
    request: Request,
    calendar: Option<Calendar>,
    live: LiveFile,
    waker: Waker,
    signals: Option<Signals>,
    waiting: Waiting,
    account: &'a mut Account,
}

/// How far a call came without having run anything.
enum Step {
    /// It may run.
    Won(SqliteStore, Claim, Newborn),
    /// There is an end to be given again.
    Replay(SqliteStore, Box<Recorded>),
    /// It is over.
    Over(Ending),
}

/// Runs the command, or gives the recorded end again.
pub(super) fn run(context: &Context, args: &OnceArgs) -> anyhow::Result<Ending> {
    let mut account = Account::open(context, args, &context.subject(args.key.key())?)?;
    let ending = Call::new(context, args, &mut account).and_then(Call::run);
    if ending.is_err() && !account.is_settled() {
        account.settle(CallOutcome::Error);
    }
    account.close(context);
    ending
}

impl<'a> Call<'a> {
    fn new(
        context: &'a Context,
        args: &'a OnceArgs,
        account: &'a mut Account,
    ) -> anyhow::Result<Self> {
        let request = ask::request(context, args)?;
        account.asked(&request.fingerprint);
        Ok(Self {
            context,
            args,
            calendar: ask::calendar(args)?,
            live: context.live_file(),
            waker: Waker::default(),
            signals: None,
            waiting: Waiting::new(args.wait),
            account,
            request,
        })
    }

    fn run(mut self) -> anyhow::Result<Ending> {
        let ending = self.run_or_replay();
        // The end of the process closes what is open, all at once.
        std::mem::forget(self);
        ending
    }

    fn run_or_replay(&mut self) -> anyhow::Result<Ending> {
        match self.step() {
            Ok(Step::Won(store, claim, newborn)) => self.run_claimed(store, claim, newborn),
            Ok(Step::Replay(store, recorded)) => Ok(self.replay(store, &recorded)),
            Ok(Step::Over(ending)) => Ok(ending),
            Err(error) if self.args.fail_open => {
                self.context.voice.warn(&format!(
                    "{}: running unguarded, because {error:#}",
                    self.request.subject.key
                ));
                self.run_unguarded()
            }
            Err(error) => Err(error),
        }
    }

    /// Asks, waits and claims until there is something to do.
    fn step(&mut self) -> anyhow::Result<Step> {
        let opened = Instant::now();
        let mut store = self.context.open_to_write()?;
        self.account.in_store(opened);
        let mut vanished = None;
        loop {
            // A wait may last into the next period.
            if let Some(calendar) = &self.calendar {
                self.request.since = Some(calendar.period(self.context.clock.now().wall)?.start);
            }
            let given = self.waiting.given(&mut store, &self.request)?;
            let replay = match given {
                Some(attempt) => attempt,
                None => match self.decide(&mut store)? {
                    Decided::Won(claim, newborn) => return Ok(Step::Won(store, claim, newborn)),
                    Decided::Replay(attempt) => attempt,
                    Decided::Over(ending) => return Ok(Step::Over(ending)),
                    Decided::Busy(busy) => match self.wait(&busy)? {
                        Woken::Again => continue,
                        Woken::Over(ending) => return Ok(Step::Over(ending)),
                    },
                },
            };
            let fence = replay.fence;
            if let Some(recorded) = self.read_output(&mut store, replay)? {
                return Ok(Step::Replay(store, Box::new(recorded)));
            }
            // Pruned between two readings: what is there now decides. If it is
            // still there, its output is not.
            if vanished.replace(fence) == Some(fence) {
                return Err(anyhow!(self.context.topic(&self.request.subject).damaged()));
            }
        }
    }

    /// One look, and one claim where the look does not settle it.
    fn decide(&mut self, store: &mut SqliteStore) -> anyhow::Result<Decided> {
        let began = Instant::now();
        let mut decision = store.look(&self.request, &mut self.live)?;
        if !matches!(decision, Decision::Replay(_) | Decision::Busy(_) | Decision::Mismatch(_)) {
            // From here on a signal must not end us with a claim in hand.
            if self.signals.is_none() {
                self.signals = Some(Signals::take_over()?);
            }
            let newborn = self.fork()?;
            let holder = host::ourselves(&self.context.clock);
            let claimant = Claimant { holder, group: Some(newborn.group()) };
            let answer = store.claim(&self.request, &claimant, &mut self.live);
            decision = match answer {
                Ok(Answer::Won(claim)) => {
                    self.account.in_store(began);
                    return Ok(Decided::Won(claim, newborn));
                }
                Ok(Answer::Not(decision)) => *decision,
                Err(error) => {
                    let told = self.signals.as_mut().and_then(Signals::told_to_end);
                    let Some(signal) = told else { return Err(error.into()) };
                    self.account.settle(CallOutcome::Error);
                    return Ok(Decided::Over(Ending::Signal(signal as u8)));
                }
            };
        }
        self.account.in_store(began);
        Ok(match decision {
            Decision::Replay(attempt) => Decided::Replay(attempt),
            Decision::Busy(busy) => Decided::Busy(busy),
            // A call from inside the key's own command asks for something else
            // by its nature: it waits for itself before it differs.
            Decision::Mismatch(first) if is_held_above(&first) => Decided::Over(self.nested(first)),
            Decision::Mismatch(first) => Decided::Over(self.mismatch(&first)),
            Decision::Unresolved(unresolved) => Decided::Over(self.unresolved(&unresolved)),
            Decision::Run(_) | Decision::Claimed(_) => {
                return Err(anyhow!("{}: the store gave no answer", self.request.subject.key));
            }
        })
    }

    fn mismatch(&mut self, first: &Attempt) -> Ending {
        let topic = self.context.topic(&self.request.subject);
        self.context.voice.warn(&topic.mismatch(first, &self.request.fingerprint));
        self.account.about(first);
        self.account.settle(CallOutcome::Mismatch);
        Ending::Status(exit::MISMATCH)
    }

    fn nested(&mut self, attempt: Attempt) -> Ending {
        let sentence = self.context.topic(&self.request.subject).nested();
        let why = BusyWhy::Held(Life::Alive);
        self.busy(&Busy { attempt, why, retry_after: None }, &sentence)
    }

    fn unresolved(&mut self, unresolved: &Unresolved) -> Ending {
        let topic = self.context.topic(&self.request.subject);
        self.context.voice.warn(&topic.unresolved(unresolved));
        self.account.about(&unresolved.attempt);
        self.account.settle(CallOutcome::Unresolved);
        Ending::Status(exit::UNRESOLVED)
    }

    fn busy(&mut self, busy: &Busy, sentence: &str) -> Ending {
        self.context.voice.note(sentence);
        self.account.about(&busy.attempt);
        self.account.retry_after(busy.retry_after);
        self.account.settle(CallOutcome::Busy);
        Ending::Status(self.args.conflict_exit_code())
    }
}

/// What one look and one claim came to.
enum Decided {
    Won(Claim, Newborn),
    Replay(Attempt),
    Busy(Busy),
    Over(Ending),
}
