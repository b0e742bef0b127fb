//! Runs a command without a claim: because there is no store, or no key.

use std::env;
use std::io;

use anyhow::Context as _;

use crate::cli::RunArgs;
use crate::exit::{self, Ending};
use crate::process::capture::Pump;
use crate::process::launch::{self, Pipes, Plan, Streams};
use crate::process::rules::{AfterLoss, Limits, Rules, Transacting};
use crate::process::signals::Signals;
use crate::process::source::Delivery;
use crate::process::supervise::supervise;
use crate::process::wake::Waker;
use crate::report::line::CallOutcome;

use super::super::Context;
use super::account::Account;
use super::environment::Variables;
use super::running::{describe_not_started, ending, ran_too_long, tell_of_what_is_left};

/// A command that runs unguarded.
pub(in crate::commands) struct Unguarded<'a> {
    pub(in crate::commands) context: &'a Context,
    pub(in crate::commands) run: &'a RunArgs,
    /// What it is about, for people.
    pub(in crate::commands) title: &'a str,
    pub(in crate::commands) variables: Variables,
    /// What hands its output on, where it is to be known whether there was any.
    pub(in crate::commands) pump: Option<&'a MakePump<'a>>,
}

/// Takes a command's pipes.
pub(in crate::commands) type MakePump<'a> = dyn Fn(Pipes, &mut Waker) -> io::Result<Pump> + 'a;

impl Unguarded<'_> {
    /// Runs the command to its end. Nothing of it is recorded.
    pub(in crate::commands) fn run(
        &self,
        signals: Option<Signals>,
        waker: &mut Waker,
        account: &mut Account,
    ) -> anyhow::Result<Ending> {
        let mut signals = match signals {
            Some(signals) => signals,
            None => Signals::take_over()?,
        };
        let (voice, title) = (self.context.voice, self.title);
        let streams = if self.pump.is_some() { Streams::Piped } else { Streams::Inherited };
        let argv = &self.run.command;
        let plan = Plan { argv, variables: &self.variables, late: &[], streams };
        let mut newborn = launch::fork(plan, env::vars_os(), &signals)
            .with_context(|| format!("{title}: no process could be started"))?;
        let pump = match (self.pump, newborn.take_pipes()) {
            (Some(make), Some(pipes)) => Some(make(pipes, waker)?),
            _ => None,
        };
        let running = match newborn.let_go(&[]) {
            Ok(running) => running,
            Err(why) => {
                let (status, reason) = describe_not_started(argv, title, &why);
                voice.warn(&reason);
                account.settle(CallOutcome::Error);
                return Ok(Ending::Status(status));
            }
        };
        account.spoke();
        let limits = Limits {
            timeout: self.run.timeout,
            kill_after: self.run.kill_after,
            after_loss: AfterLoss::Graceful,
        };
        let rules = Rules { limits, transacting: &Transacting::default(), tenure: None };
        let mut ended = supervise(running, pump, &mut signals, waker, rules, |_| ())
            .context("the command could not be waited for")?;
        tell_of_what_is_left(voice, title, &ended);
        if let Some(captured) = ended.captured.take() {
            if captured.recording.beginning.is_empty() {
                account.kept_silent();
            }
            let handed_on = captured.held_back.hand_on(Some(&mut signals), &ended);
            if let Delivery::Failed(why) = captured.delivery.and(handed_on) {
                voice.warn(&format!("{title}: its output could not be written: {why}"));
            }
        }
        account.ended(Some(ended.outcome));
        account.ran(ended.run, None);
        account.settle(CallOutcome::NotRecorded);
        if ended.stopped.is_some() {
            voice.warn(&ran_too_long(title, self.run, &ended));
            account.settle(CallOutcome::Timeout);
            return Ok(Ending::Status(exit::TIMEOUT));
        }
        Ok(ending(&ended))
    }
}
