//! `once KEY -- COMMAND`: runs a command once per key and replays its end.
//!
//! `ask` turns the arguments into a request, `attempt` runs the command, `validate` has a result looked at,
//! `spend` records how the command ended, `replay` gives a recorded end again, `keyless` runs
//! a call that has no key, `step` makes a step of an operation of it all, and `cgi` an
//! answer to a request. What it shares with other verbs that run a
//! command is in `call`.

mod ask;
mod attempt;
mod cgi;
mod keyless;
mod replay;
mod spend;
mod step;
mod validate;

use std::ops::ControlFlow;
use std::time::Instant;

use crate::claim::attempt::Attempt;
use crate::claim::decide::{Busy, Decision, Request, Terms};
use crate::cli::OnceArgs;
use crate::exit::{self, Ending};
use crate::process::launch::Streams;
use crate::report::line::CallOutcome;
use crate::store::{Store, StoreError};

use super::Context;
use super::call::account::Account;
use super::call::wait::Woken;
use super::call::{Asked, Call, Won};
use cgi::answers::Answers;
pub(super) use cgi::{cgi, excuse};
use replay::Recorded;
pub(super) use step::step;

/// One call of `once`.
struct Once<'a> {
    call: Call<'a>,
    args: &'a OnceArgs,
    /// What is to be seen to where the output is the answer to a request.
    answers: Option<Answers<'a>>,
    /// What is kept of such an answer where there is no room for it.
    least: Vec<u8>,
}

/// How far a call came without having run anything.
enum Turn {
    /// It may run.
    Won(Box<dyn Store>, Box<Won>),
    /// There is an end to be given again.
    Replay(Box<dyn Store>, Box<Recorded>),
    /// It is over.
    Over(Ending),
}

/// Runs the command, or gives the recorded end again.
pub(super) fn run(context: &Context, args: &OnceArgs) -> anyhow::Result<Ending> {
    let Some(key) = ask::key(args)? else { return keyless::run(context, args) };
    let subject = context.subject_to_claim(&key)?;
    let mut account = Account::open(context, args.run.report.as_ref(), &subject)?;
    let ending = ask::request(args, subject)
        .map(|request| Once::new(context, args, request, &mut account))
        .and_then(Once::run);
    conclude(context, account, ending)
}

/// Writes the report line of a call, however it ended.
fn conclude(
    context: &Context,
    mut account: Account,
    ending: anyhow::Result<Ending>,
) -> anyhow::Result<Ending> {
    if ending.is_err() && !account.is_settled() {
        account.settle(CallOutcome::Error);
    }
    account.close(context);
    ending
}

impl<'a> Once<'a> {
    fn new(
        context: &'a Context,
        args: &'a OnceArgs,
        request: Request,
        account: &'a mut Account,
    ) -> Self {
        let call = Call::new(context, &args.run, request, account);
        Self { call, args, answers: None, least: Vec::new() }
    }

    fn run(mut self) -> anyhow::Result<Ending> {
        let ending = self.run_or_replay();
        // The end of the process closes what is open, all at once.
        std::mem::forget(self);
        ending
    }

    fn run_or_replay(&mut self) -> anyhow::Result<Ending> {
        let opened = Instant::now();
        let mut store = match self.call.context.open_to_write() {
            Ok(store) => store,
            Err(error) => return self.or_unguarded(error.into()),
        };
        self.call.account.in_store(opened);
        loop {
            match self.turn(store) {
                Ok(Turn::Won(won_in, won)) => match self.run_claimed(won_in, *won)? {
                    ControlFlow::Break(ending) => return Ok(ending),
                    ControlFlow::Continue(again) => store = again,
                },
                Ok(Turn::Replay(store, recorded)) => return Ok(self.replay(store, &recorded)),
                Ok(Turn::Over(ending)) => return Ok(ending),
                Err(error) => return self.or_unguarded(error),
            }
        }
    }

    /// A store that cannot be used is an error, unless that was allowed for.
    fn or_unguarded(&mut self, error: anyhow::Error) -> anyhow::Result<Ending> {
        if !self.args.fail_open {
            return Err(error);
        }
        // What stands before that names the key, too.
        let why = error.downcast_ref::<StoreError>().map(ToString::to_string);
        let why = why.unwrap_or_else(|| format!("{error:#}"));
        self.call
            .context
            .voice
            .warn(&format!("{}: running unguarded, because {why}", self.call.request.title()));
        self.run_unguarded()
    }

    /// Asks, waits and claims until there is something to do.
    fn turn(&mut self, mut store: Box<dyn Store>) -> anyhow::Result<Turn> {
        let mut vanished = None;
        loop {
            let replay = match self.given(&mut *store)? {
                Given::End(attempt) => *attempt,
                Given::Again => continue,
                Given::Over(ending) => return Ok(Turn::Over(ending)),
                Given::Nothing => match self.decide(&mut *store)? {
                    Decided::Won(won) => return Ok(Turn::Won(store, won)),
                    Decided::Replay(attempt) => attempt,
                    Decided::Over(ending) => return Ok(Turn::Over(ending)),
                    Decided::Again => continue,
                    Decided::Busy(busy) => match self.call.wait(&mut *store, &busy)? {
                        Woken::Again => continue,
                        Woken::Over(ending) => return Ok(Turn::Over(ending)),
                    },
                },
            };
            // What has run is not run again because its output cannot be read,
            // not even unguarded: from here on no error is one of the store.
            let fence = replay.fence;
            match self.read_output(&mut *store, replay) {
                Ok(Some(recorded)) => return Ok(Turn::Replay(store, Box::new(recorded))),
                // Pruned between two readings: what is there now decides. If it
                // is still there, its output is not.
                Ok(None) if vanished.replace(fence) == Some(fence) => {
                    let topic = self.call.topic();
                    let sentence = topic.damaged();
                    return Ok(Turn::Over(self.unreadable(&sentence)));
                }
                Ok(None) => {}
                Err(error) => {
                    if let Some(ending) = self.call.told_to_end() {
                        return Ok(Turn::Over(ending));
                    }
                    let key = self.call.request.title();
                    let sentence = format!("{key}: its recorded output cannot be read: {error:#}");
                    return Ok(Turn::Over(self.unreadable(&sentence)));
                }
            }
        }
    }

    /// What the attempt gave that this call has waited for.
    fn given(&mut self, store: &mut dyn Store) -> anyhow::Result<Given> {
        let call = &mut self.call;
        let given = match call.waiting.given(store, &call.request) {
            Ok(given) => given,
            Err(error) => {
                call.give_more_time(store);
                return Ok(match call.again_or::<()>(error)? {
                    Asked::Over(ending) => Given::Over(ending),
                    _ => Given::Again,
                });
            }
        };
        if let Terms::Once(terms) = &mut call.request.terms {
            // It may end between this look and the claim.
            terms.awaited = call.waiting.awaited();
        }
        Ok(given.map_or(Given::Nothing, |attempt| Given::End(Box::new(attempt))))
    }

    fn decide(&mut self, store: &mut dyn Store) -> anyhow::Result<Decided> {
        let streams = if self.args.outcome.no_output { Streams::Inherited } else { Streams::Piped };
        let decision = match self.call.ask(store, streams)? {
            Asked::Won(won) => return Ok(Decided::Won(won)),
            Asked::Over(ending) => return Ok(Decided::Over(ending)),
            Asked::Again => return Ok(Decided::Again),
            Asked::Not(decision) => *decision,
        };
        Ok(match decision {
            Decision::Replay(attempt) => Decided::Replay(attempt),
            Decision::Busy(busy) => Decided::Busy(busy),
            other => Decided::Over(self.call.refused(other)?),
        })
    }

    /// What is on record cannot be given again.
    fn unreadable(&mut self, sentence: &str) -> Ending {
        self.call.context.voice.warn(sentence);
        self.call.account.settle(CallOutcome::Error);
        Ending::Status(exit::FAILED)
    }
}

/// What a call was given that has waited.
enum Given {
    /// How the awaited attempt ended.
    End(Box<Attempt>),
    /// Nothing.
    Nothing,
    /// The store is to be asked again.
    Again,
    /// It is over.
    Over(Ending),
}

/// What one look and one claim came to.
enum Decided {
    Won(Box<Won>),
    Replay(Attempt),
    Busy(Busy),
    Over(Ending),
    Again,
}
