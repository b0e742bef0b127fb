//! Runs the command of a claim, and spends the claim on how it ended.

use std::env;
use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};

use crate::claim::attempt::Attempt;
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::id::Token;
use crate::claim::outcome::Outcome;
use crate::claim::time::Clock as _;
use crate::exit::{self, Ending};
use crate::process::capture::Pump;
use crate::process::frames::MemoryRecorder;
use crate::process::group::{self, Presence, TOKEN_VARIABLE};
use crate::process::launch::{self, NotStarted, Running, Streams};
use crate::process::signals::Signals;
use crate::process::supervise::{Ended, Held, supervise};
use crate::report::line::CallOutcome;
use crate::report::sentences;
use crate::store::sqlite::SqliteStore;
use crate::store::{Completion, Liveness as _, Store as _, StoreError, Verdict};

use super::Call;
use super::keeper::{Guard, Keeper, Keeping};
use super::spend::ending;

/// How much output is kept.
const MAX_OUTPUT: u64 = 16 << 20;

/// How long a predecessor's processes may take to die.
const CLEARING: Duration = Duration::from_secs(10);

/// The variable that carries the tokens of all claims above a command.
const HELD: &str = "DOUBLETAP_HELD";

/// The tokens of all claims above us.
#[expect(clippy::disallowed_methods, reason = "the wrapper above us wrote this variable")]
pub(super) fn held_above() -> Vec<Token> {
    let held = env::var_os(HELD).unwrap_or_default();
    held.to_string_lossy().split(',').filter_map(Token::parse).collect()
}

impl Call<'_> {
    /// Runs the command under its claim.
    pub(super) fn run_claimed(
        &mut self,
        mut store: SqliteStore,
        claim: Claim,
    ) -> anyhow::Result<Ending> {
        let claimed = Instant::now();
        self.account.about(claim.attempt());
        self.tell_of_take_over(&claim);
        if !clear_remains(&mut store, &claim)? {
            return self.give_back(store, claim);
        }
        let mut signals =
            self.signals.take().ok_or_else(|| anyhow!("signals were not taken over"))?;
        let bell = self.waker()?.bell()?;
        let (pump, streams) = self.prepare_streams()?;
        let variables = self.variables(claim.attempt());
        let running = match launch::start(&self.args.command, &variables, streams, &signals) {
            Ok(running) => running,
            Err(why) => return self.not_started(store, claim, &why),
        };
        let keeping = Keeping {
            owner: claim.ownership(),
            group: running.group(),
            lease: claim.attempt().lease,
            guard: if claim.attempt().lock_inode.is_some() { Guard::Kernel } else { Guard::Lease },
            claimed,
        };
        let mut keeper = Keeper::new(store, keeping, bell, self.context.voice);
        let ended = self.see_through(running, pump, &mut signals, || keeper.begin())?;
        let (store, renewed) = keeper.stop()?;
        Ok(self.end(store, claim, renewed, ended))
    }

    /// What the command writes to, and what reads it.
    fn prepare_streams(&mut self) -> io::Result<(Option<Pump>, Streams)> {
        if self.args.no_output {
            return Ok((None, Streams::Inherited));
        }
        let recorder = Box::new(MemoryRecorder::new(MAX_OUTPUT));
        let (pump, pipes) = Pump::start(recorder, self.waker()?.bell()?)?;
        Ok((Some(pump), Streams::Piped(pipes.out, pipes.err)))
    }

    /// Runs the command without a claim, because there is no store.
    pub(super) fn run_unguarded(&mut self) -> anyhow::Result<Ending> {
        let mut signals = match self.signals.take() {
            Some(signals) => signals,
            None => Signals::take_over()?,
        };
        let started = launch::start(&self.args.command, &[], Streams::Inherited, &signals);
        let running = match started {
            Ok(running) => running,
            Err(why) => {
                let (status, reason) = self.describe_not_started(&why);
                self.context.voice.warn(&reason);
                self.account.settle(CallOutcome::Error);
                return Ok(Ending::Status(status));
            }
        };
        let ended = self.see_through(running, None, &mut signals, || ())?;
        self.account.ended(Some(ended.outcome));
        self.account.ran(ended.run, None);
        self.account.settle(CallOutcome::NotRecorded);
        Ok(ending(&ended))
    }

    fn see_through(
        &mut self,
        running: Running,
        pump: Option<Pump>,
        signals: &mut Signals,
        lasting: impl FnOnce(),
    ) -> anyhow::Result<Ended> {
        let group = running.group();
        let ended = supervise(running, pump, signals, self.waker()?, lasting)
            .context("the command could not be waited for")?;
        if ended.hold == Held::Lost {
            let _ = group::clear(&group, CLEARING);
        }
        Ok(ended)
    }

    fn tell_of_take_over(&mut self, claim: &Claim) {
        if let Some(before) = claim.took_over() {
            self.account.took_over();
            let now = self.context.clock.now().wall;
            self.context.voice.note(&sentences::took_over(claim.subject(), before, now));
        }
    }

    /// What the command finds in its environment.
    fn variables(&self, attempt: &Attempt) -> Vec<(&'static str, OsString)> {
        let subject = &self.request.subject;
        let mut held: Vec<String> = held_above().iter().map(Token::to_string).collect();
        held.push(attempt.token.to_string());
        vec![
            ("DOUBLETAP_KEY", subject.key.as_str().into()),
            ("DOUBLETAP_NAMESPACE", subject.namespace.as_str().into()),
            ("DOUBLETAP_STORE", self.context.store_path().into()),
            (TOKEN_VARIABLE, attempt.token.to_string().into()),
            ("DOUBLETAP_FENCE", attempt.fence.0.to_string().into()),
            ("DOUBLETAP_ATTEMPT", attempt.number.to_string().into()),
            ("DOUBLETAP_IDEMPOTENCY_KEY", attempt.operation.to_string().into()),
            (HELD, held.join(",").into()),
        ]
    }

    fn describe_not_started(&self, why: &NotStarted) -> (u8, String) {
        let word = crate::cli::first_word(&self.args.command).to_string_lossy();
        let key = &self.request.subject.key;
        match why {
            NotStarted::NotFound(_) => {
                (exit::NOT_FOUND, format!("{key}: {word}: the command was not found"))
            }
            NotStarted::NotExecutable(why) => (
                exit::NOT_EXECUTABLE,
                format!("{key}: {word}: the command cannot be executed: {why}"),
            ),
            NotStarted::NoProcess(why) => {
                (exit::FAILED, format!("{key}: {word}: no process could be started: {why}"))
            }
        }
    }

    /// A command that could not be executed is never recorded: the key is
    /// released at once.
    fn not_started(
        &mut self,
        mut store: SqliteStore,
        claim: Claim,
        why: &NotStarted,
    ) -> anyhow::Result<Ending> {
        let (status, reason) = self.describe_not_started(why);
        self.context.voice.warn(&reason);
        let completion = Completion {
            verdict: Verdict::Released { rest: None },
            outcome: Some(Outcome::Exited(status)),
            reason: Some(reason),
            run: None,
            output: None,
        };
        let fence = claim.attempt().fence;
        let spent = store.complete(claim, &completion);
        self.live.let_go(fence);
        self.account.settle(CallOutcome::Error);
        let _ = spent.map_err(|unrecorded| unrecorded.error)?;
        Ok(Ending::Status(status))
    }

    /// Predecessors that cannot be ended keep the key.
    fn give_back(&mut self, mut store: SqliteStore, claim: Claim) -> anyhow::Result<Ending> {
        let key = claim.subject().key.clone();
        let reason = "processes of an earlier attempt could not be ended".to_owned();
        let sentence = format!("{key}: busy: {reason}; see doubletap show {key}");
        let completion = Completion {
            verdict: Verdict::Released { rest: None },
            outcome: None,
            reason: Some(reason),
            run: None,
            output: None,
        };
        let _ = store.complete(claim, &completion).map_err(|unrecorded| unrecorded.error)?;
        self.context.voice.note(&sentence);
        self.account.settle(CallOutcome::Busy);
        Ok(Ending::Status(self.args.conflict_exit_code()))
    }
}

/// Ends whoever is left of earlier attempts; says whether nobody is.
fn clear_remains(store: &mut SqliteStore, claim: &Claim) -> Result<bool, StoreError> {
    let mut emptied: Vec<Fence> = Vec::new();
    for before in claim.remains() {
        let same_boot = before.holder.boot_id == claim.attempt().holder.boot_id;
        match same_boot.then(|| group::clear_of(before, CLEARING)) {
            Some(Presence::Somebody) => return Ok(false),
            // What cannot be seen from here is left to the fence.
            Some(Presence::Elsewhere) => {}
            Some(Presence::Nobody) | None => emptied.push(before.fence),
        }
    }
    emptied.into_iter().try_for_each(|fence| store.mark_empty(fence)).map(|()| true)
}
