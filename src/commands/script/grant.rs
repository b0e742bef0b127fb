//! Claims for a script, and tells it the token.

use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use anyhow::anyhow;

use crate::claim::attempt::{Attempt, Extent};
use crate::claim::decide::{Busy, Decision, Request};
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Tie};
use crate::claim::id::Token;
use crate::claim::key::Kind;
use crate::cli::{FormatArg, WaitArgs};
use crate::exit::{self, Ending, Refusal};
use crate::process::frames::Stream;
use crate::process::group::{self, Presence};
use crate::process::host;
use crate::process::signals::Signals;
use crate::process::source::Delivery;
use crate::report::claims::{AnswerDocument, Answered, assignments};
use crate::report::document::ms;
use crate::report::voice::hand_over;
use crate::store::Store;

use super::super::call::account::Account;
use super::super::call::clearing::{Cleared, clear_remains};
use super::super::call::environment::{held_above, late_variables};
use super::super::call::wait::Woken;
use super::super::call::{Asked, Call, TOO_LATE};
use super::super::context::{Context, print_document};
use super::super::playing::{Targets, are_whole, deliver};

/// What a claim hangs on that no wrapper keeps: this process, this time, or both.
pub(in crate::commands) fn claimant(
    context: &Context,
    pid: Option<i32>,
    ttl: Option<Duration>,
) -> anyhow::Result<Claimant> {
    let tie = match (pid, ttl) {
        (Some(_), Some(_)) => Tie::Both,
        (Some(_), None) => Tie::Process,
        (None, _) => Tie::Time,
    };
    let holder = match pid {
        None => host::caller(&context.clock),
        Some(pid) => host::process(pid, &context.clock).ok_or_else(|| {
            Refusal::usage(format!(
                "--pid {pid}: there is no such process, or none that can be seen from here; a script names itself with --pid $$"
            ))
        })?,
    };
    Ok(Claimant { holder, tie, group: None })
}

/// One call that claims for a script.
struct Grant<'a> {
    call: Call<'a, ()>,
    claimant: Claimant,
    format: FormatArg,
}

/// Claims, and tells the token; or says why not.
pub(in crate::commands) fn grant(
    context: &Context,
    request: Request,
    claimant: Claimant,
    (waits, format): (&WaitArgs, FormatArg),
) -> anyhow::Result<Ending> {
    if waits.misleads() {
        let message = format!(
            "--conflict-exit-code {}: a script could not tell it from a claim, or from a record; name another",
            waits.conflict_exit_code()
        );
        return Err(Refusal::usage(message).into());
    }
    let mut account = Account::unwritten(context, &request.subject);
    let mut call = Call::with(context, ((), waits), request, &mut account);
    call.on_behalf_of = (claimant.tie != Tie::Time).then(|| claimant.holder.clone());
    Grant { call, claimant, format }.run()
}

impl Grant<'_> {
    fn run(&mut self) -> anyhow::Result<Ending> {
        let mut store = self.call.context.open_to_write()?;
        if self.format == FormatArg::Sh {
            // A shell must be told, however the call ends.
            self.call.signals = Some(Signals::take_over()?);
        }
        loop {
            let claimant = self.claimant.clone();
            match self.call.ask_for(&mut *store, |_| Ok((claimant, ())))? {
                Asked::Won(won) => {
                    if let Some(ending) = self.won(&mut *store, won.claim)? {
                        return Ok(ending);
                    }
                }
                Asked::Over(ending) => return Ok(ending),
                Asked::Again => {}
                Asked::Not(decision) => match *decision {
                    Decision::Busy(busy) => {
                        if let Woken::Over(ending) = self.call.wait(&mut *store, &busy)? {
                            return self.busy(&busy, ending);
                        }
                        self.require_claimant()?;
                    }
                    Decision::Replay(attempt) => return self.done(&mut *store, &attempt),
                    other => return self.refused(other),
                },
            }
        }
    }

    /// A process that has gone wants nothing any more.
    fn require_claimant(&self) -> anyhow::Result<()> {
        let Some(process) = &self.call.on_behalf_of else { return Ok(()) };
        if group::presence_of(process) != Presence::Nobody {
            return Ok(());
        }
        let (title, pid) = (self.call.request.title(), process.pid);
        let message = format!("{title}: process {pid}, for which it was to be claimed, is gone");
        Err(Refusal { status: exit::BUSY, message }.into())
    }

    /// The claim is ours; nothing if it was won too late to be used.
    fn won(&mut self, store: &mut dyn Store, claim: Claim) -> anyhow::Result<Option<Ending>> {
        self.call.tell_of_take_over(&claim);
        match clear_remains(self.call.context, store, &claim) {
            Ok(Cleared::Yes) => {}
            Ok(Cleared::No) => return self.call.give_back(store, claim).map(Some),
            Err(error) => return self.call.leave_for(store, claim, error.into()).map(Some),
        }
        // A signal may have stopped us until another one came.
        let claim = match self.call.leave(store, claim) {
            Ok(ending) => return Ok(Some(ending)),
            Err(claim) => claim,
        };
        let attempt = claim.attempt();
        let now = self.call.context.now();
        if attempt.tie != Tie::Process && attempt.until.left(&now).is_none() {
            return self.call.give_up(store, claim, TOO_LATE);
        }
        let told = self.told(store, &claim).and_then(|told| Ok(hand_over(&told)?));
        if let Err(error) = told {
            let claim = match self.call.leave(store, claim) {
                Ok(ending) => return Ok(Some(ending)),
                Err(claim) => claim,
            };
            let why = format!("its token could not be printed: {error}");
            self.call.release(store, claim, None, &why)?;
            return Err(anyhow!("{}: {why}; it was given back", self.call.request.title()));
        }
        Ok(Some(Ending::OK))
    }

    /// What a script is told of its claim.
    fn told(&self, store: &mut dyn Store, claim: &Claim) -> anyhow::Result<Vec<u8>> {
        let (subject, attempt) = (claim.subject(), claim.attempt());
        let token = attempt.token.to_string();
        Ok(match self.format {
            FormatArg::Text => format!("{token}\n").into_bytes(),
            FormatArg::Json => {
                let document = AnswerDocument {
                    token: Some(token),
                    // A lease begins no operation.
                    idempotency_key: (subject.kind == Kind::Once)
                        .then(|| attempt.operation.to_string()),
                    taken_over: claim.took_over().is_some(),
                    ..AnswerDocument::about(Answered::Fresh, subject, Some(attempt))
                };
                (serde_json::to_string_pretty(&document)? + "\n").into_bytes()
            }
            FormatArg::Sh => {
                let early = self.call.variables_below(&still_held(store)?);
                let late = late_variables(attempt, subject.kind);
                let early = early.iter().filter_map(|(name, value)| {
                    value.as_ref().map(|value| (*name, value.as_bytes()))
                });
                assignments(early.chain(late.iter().map(|(name, value)| (*name, value.as_bytes()))))
            }
        })
    }

    /// The outcome is on record: the script is given what it would have written.
    fn done(&mut self, store: &mut dyn Store, attempt: &Attempt) -> anyhow::Result<Ending> {
        let done = Ok(Ending::Status(exit::ALREADY_DONE));
        match self.format {
            FormatArg::Sh => return done,
            FormatArg::Json => {
                let subject = &self.call.request.subject;
                let document = AnswerDocument::about(Answered::Done, subject, Some(attempt));
                return print_document(&document).and(done);
            }
            FormatArg::Text => {}
        }
        let Some(output) = attempt.output() else { return done };
        let frames = match store.output(attempt.fence) {
            Ok(frames) => frames,
            Err(error) => return self.call.told_to_end().ok_or_else(|| error.into()),
        };
        let topic = self.call.topic();
        let Some(frames) = frames.filter(|frames| are_whole(frames, output.bytes)) else {
            let message = topic.damaged();
            return Err(Refusal { status: exit::FAILED, message }.into());
        };
        // One of the streams is all that is given, and all of it is read.
        let delivery = deliver(&frames, output, || Targets::only(Stream::Out));
        if let Delivery::Failed(why) = delivery {
            let title = self.call.request.title();
            let message = format!("{title}: its recorded output could not be given again: {why}");
            return Err(Refusal { status: exit::OUTPUT_LOST, message }.into());
        }
        if output.extent == Extent::Truncated {
            self.call.context.voice.warn(&topic.truncated(output));
        }
        done
    }

    fn busy(&self, busy: &Busy, ending: Ending) -> anyhow::Result<Ending> {
        if self.format == FormatArg::Json && matches!(ending, Ending::Status(_)) {
            let subject = &self.call.request.subject;
            let document = AnswerDocument {
                retry_after_ms: busy.retry_after.map(ms),
                ..AnswerDocument::about(Answered::Busy, subject, Some(&busy.attempt))
            };
            return print_document(&document).map(|_| ending);
        }
        Ok(ending)
    }

    fn refused(&mut self, decision: Decision) -> anyhow::Result<Ending> {
        let about = match &decision {
            Decision::Mismatch(first) => Some((Answered::Mismatch, first.clone())),
            Decision::Unresolved(found) => Some((Answered::Unresolved, found.attempt.clone())),
            _ => None,
        };
        let ending = self.call.refused(decision)?;
        if let (FormatArg::Json, Some((answered, attempt))) = (self.format, about) {
            let subject = &self.call.request.subject;
            let document = AnswerDocument::about(answered, subject, Some(&attempt));
            return print_document(&document).map(|_| ending);
        }
        Ok(ending)
    }
}

/// The claims above the script that have not ended: one that claims again and again
/// would gather more tokens than an environment has room for.
fn still_held(store: &mut dyn Store) -> anyhow::Result<Vec<Token>> {
    let mut held = Vec::new();
    for token in held_above() {
        if !store.is_spent(token)? {
            held.push(token);
        }
    }
    Ok(held)
}
