//! Runs the command of a claim, and spends the claim on how it ended.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};

use crate::claim::attempt::Attempt;
use crate::claim::held::Claim;
use crate::claim::id::Token;
use crate::claim::outcome::Outcome;
use crate::exit::{self, Ending};
use crate::process::capture::Pump;
use crate::process::group::{self, Presence};
use crate::process::launch::{self, Newborn, NotStarted, Plan, Running, Streams};
use crate::process::recorder::Recorder;
use crate::process::signals::Signals;
use crate::process::supervise::{Ended, Left, Limits, Transacting, supervise};
use crate::process::wake::Waker;
use crate::report::line::CallOutcome;
use crate::store::sqlite::SqliteStore;
use crate::store::{Completion, Liveness as _, Store as _, StoreError, Verdict};

use super::Call;
use super::keeper::{Guard, Keeper, Keeping};
use super::spend::ending;

/// How long a predecessor's processes may take to die.
const CLEARING: Duration = Duration::from_secs(10);

/// The variable that carries the tokens of all claims above a command.
const HELD: &str = "DOUBLETAP_HELD";

const TOKEN: &str = "DOUBLETAP_TOKEN";
const FENCE: &str = "DOUBLETAP_FENCE";
const ATTEMPT: &str = "DOUBLETAP_ATTEMPT";
const IDEMPOTENCY_KEY: &str = "DOUBLETAP_IDEMPOTENCY_KEY";

/// Variables to be set for a command, or to be taken away from it.
type Variables = Vec<(&'static str, Option<OsString>)>;

/// The tokens of all claims above us.
#[expect(clippy::disallowed_methods, reason = "the wrapper above us wrote this variable")]
pub(super) fn held_above() -> Vec<Token> {
    let held = env::var_os(HELD).unwrap_or_default();
    held.to_string_lossy().split(',').filter_map(Token::parse).collect()
}

impl Call<'_> {
    /// Forks the command, which waits until its key is claimed.
    pub(super) fn fork(&self) -> anyhow::Result<Newborn> {
        let streams = if self.args.no_output { Streams::Inherited } else { Streams::Piped };
        self.fork_under_claim(&self.args.command, streams)
    }

    /// Forks something that finds our claim in its environment.
    pub(super) fn fork_under_claim(
        &self,
        argv: &[OsString],
        streams: Streams,
    ) -> anyhow::Result<Newborn> {
        let variables = self.variables();
        let late = &[FENCE, ATTEMPT, IDEMPOTENCY_KEY];
        self.fork_planned(Plan { argv, variables: &variables, late, streams })
    }

    fn fork_planned(&self, plan: Plan<'_>) -> anyhow::Result<Newborn> {
        let signals =
            self.signals.as_ref().ok_or_else(|| anyhow!("signals were not taken over"))?;
        let key = &self.request.subject.key;
        launch::fork(plan, env::vars_os(), signals)
            .with_context(|| format!("{key}: no process could be started"))
    }

    /// Runs the command under its claim.
    pub(super) fn run_claimed(
        &mut self,
        mut store: SqliteStore,
        claim: Claim,
        mut newborn: Newborn,
    ) -> anyhow::Result<Ending> {
        let claimed = Instant::now();
        self.account.about(claim.attempt());
        self.tell_of_take_over(&claim);
        let prepared = clear_remains(&mut store, &claim)
            .map_err(anyhow::Error::from)
            .and_then(|cleared| Ok((cleared, self.prepare_pump(&store, &claim, &mut newborn)?)));
        let (cleared, pump) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                self.release(store, claim, None, &format!("{error:#}"))?;
                return Err(error);
            }
        };
        if cleared == Cleared::No {
            return self.give_back(store, claim);
        }
        if let Some(signal) = self.signals.as_mut().and_then(Signals::told_to_end) {
            self.release(store, claim, None, "told to end before it started")?;
            self.account.settle(CallOutcome::Failed);
            return Ok(Ending::Signal(signal as u8));
        }
        let running = match newborn.let_go(&late_variables(claim.attempt())) {
            Ok(running) => running,
            Err(why) => return self.not_started(store, claim, &why),
        };
        let lease = claim.attempt().lease;
        let keeping = Keeping {
            owner: claim.ownership(),
            lease,
            limit: (lease / 8).min(self.context.store_timeout()),
            guard: if claim.attempt().lock_inode.is_some() { Guard::Kernel } else { Guard::Lease },
            claimed,
        };
        let transacting = Arc::new(Transacting::default());
        let mut keeper = Keeper::new(store, keeping, Arc::clone(&transacting), self.context.voice);
        let mut ended =
            self.see_through(running, pump, &transacting, |waker| keeper.begin(waker))?;
        let validity = self.validate(&claim, &mut ended, &transacting, &mut keeper)?;
        let (store, renewed) = keeper.stop()?;
        Ok(self.end(store, claim, renewed, ended, &validity))
    }

    /// What reads the command's pipes, if it has any.
    fn prepare_pump(
        &mut self,
        store: &SqliteStore,
        claim: &Claim,
        newborn: &mut Newborn,
    ) -> io::Result<Option<Pump>> {
        let Some(pipes) = newborn.take_pipes() else { return Ok(None) };
        let recorder = Recorder::new(self.args.max_output(), store.spool(&claim.ownership()));
        Pump::new(pipes, recorder, &mut self.waker).map(Some)
    }

    /// Runs the command without a claim, because there is no store.
    pub(super) fn run_unguarded(&mut self) -> anyhow::Result<Ending> {
        if self.signals.is_none() {
            self.signals = Some(Signals::take_over()?);
        }
        let variables = self.unguarded_variables();
        let streams = Streams::Inherited;
        let plan = Plan { argv: &self.args.command, variables: &variables, late: &[], streams };
        let running = match self.fork_planned(plan)?.let_go(&[]) {
            Ok(running) => running,
            Err(why) => {
                let (status, reason) = self.describe_not_started(&why);
                self.context.voice.warn(&reason);
                self.account.settle(CallOutcome::Error);
                return Ok(Ending::Status(status));
            }
        };
        let ended = self.see_through(running, None, &Transacting::default(), |_| ())?;
        self.account.ended(Some(ended.outcome));
        self.account.ran(ended.run, None);
        self.account.settle(CallOutcome::NotRecorded);
        if ended.stopped.is_some() {
            return Ok(self.timed_out(&ended));
        }
        Ok(ending(&ended))
    }

    pub(super) fn see_through(
        &mut self,
        running: Running,
        pump: Option<Pump>,
        transacting: &Transacting,
        lasting: impl FnOnce(&mut Waker),
    ) -> anyhow::Result<Ended> {
        let Some(signals) = &mut self.signals else {
            return Err(anyhow!("signals were not taken over"));
        };
        let limits = Limits { timeout: self.args.timeout, kill_after: self.args.kill_after };
        let ended =
            supervise(running, pump, signals, &mut self.waker, (limits, transacting), lasting)
                .context("the command could not be waited for")?;
        if ended.left == Left::Somebody {
            let key = &self.request.subject.key;
            self.context.voice.warn(&format!(
                "{key}: some of what its command started could not be ended, and still runs"
            ));
        }
        Ok(ended)
    }

    fn tell_of_take_over(&mut self, claim: &Claim) {
        if let Some(before) = claim.took_over() {
            self.account.took_over();
            let topic = self.context.topic(claim.subject());
            self.context.voice.note(&topic.took_over(before));
        }
    }

    /// What the command finds in its environment, as far as it is known before
    /// the claim.
    fn variables(&self) -> Variables {
        let token = self.request.token;
        let mut held: Vec<String> = held_above().iter().map(Token::to_string).collect();
        held.push(token.to_string());
        let mut variables = self.common_variables();
        variables
            .extend([(TOKEN, Some(token.to_string().into())), (HELD, Some(held.join(",").into()))]);
        variables
    }

    /// What a command without a claim finds: nothing of a claim above it, whose
    /// idempotency key would make its effects look like repetitions.
    fn unguarded_variables(&self) -> Variables {
        let mut variables = self.common_variables();
        variables.extend([
            (TOKEN, None),
            (FENCE, None),
            (ATTEMPT, None),
            (IDEMPOTENCY_KEY, Some(self.request.new_operation.to_string().into())),
        ]);
        variables
    }

    fn common_variables(&self) -> Variables {
        let subject = &self.request.subject;
        vec![
            ("DOUBLETAP_KEY", Some(subject.key.as_str().into())),
            ("DOUBLETAP_NAMESPACE", Some(subject.namespace.as_str().into())),
            ("DOUBLETAP_STORE", Some(self.context.store_path().into())),
        ]
    }

    fn describe_not_started(&self, why: &NotStarted) -> (u8, String) {
        let word = crate::cli::first_word(&self.args.command).to_string_lossy();
        let key = &self.request.subject.key;
        match why {
            NotStarted::NotFound(_) if word.contains('/') && Path::new(&*word).exists() => {
                (exit::NOT_FOUND, format!("{key}: {word:?}: its interpreter was not found"))
            }
            NotStarted::NotFound(_) => (exit::NOT_FOUND, format!("{key}: {word:?}: {why}")),
            NotStarted::NotExecutable(_) => {
                (exit::NOT_EXECUTABLE, format!("{key}: {word:?}: {why}"))
            }
        }
    }

    /// A command that could not be executed is never recorded: the key is
    /// released at once.
    fn not_started(
        &mut self,
        store: SqliteStore,
        claim: Claim,
        why: &NotStarted,
    ) -> anyhow::Result<Ending> {
        let (status, reason) = self.describe_not_started(why);
        self.context.voice.warn(&reason);
        self.account.settle(CallOutcome::Error);
        self.release(store, claim, Some(Outcome::Exited(status)), &reason)?;
        Ok(Ending::Status(status))
    }

    /// Predecessors that cannot be ended keep the key.
    fn give_back(&mut self, store: SqliteStore, claim: Claim) -> anyhow::Result<Ending> {
        let sentence = self.context.topic(claim.subject()).not_cleared();
        self.context.voice.note(&sentence);
        self.account.settle(CallOutcome::Busy);
        self.release(store, claim, None, "processes of an earlier attempt could not be ended")?;
        Ok(Ending::Status(self.args.conflict_exit_code()))
    }

    /// Spends a claim whose command never ran.
    fn release(
        &mut self,
        mut store: SqliteStore,
        claim: Claim,
        outcome: Option<Outcome>,
        reason: &str,
    ) -> Result<(), StoreError> {
        let completion = Completion {
            verdict: Verdict::Released { rest: None },
            outcome,
            reason: Some(reason.to_owned()),
            run: None,
            output: None,
        };
        let fence = claim.attempt().fence;
        let spent = store.complete(claim, &completion);
        self.live.let_go(fence);
        spent.map(drop).map_err(|unrecorded| unrecorded.error)
    }
}

/// What the command finds in its environment, as far as only the claim says.
pub(super) fn late_variables(attempt: &Attempt) -> [(&'static str, String); 3] {
    [
        (FENCE, attempt.fence.0.to_string()),
        (ATTEMPT, attempt.number.to_string()),
        (IDEMPOTENCY_KEY, attempt.operation.to_string()),
    ]
}

/// Whether nobody of earlier attempts is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cleared {
    Yes,
    No,
}

/// Ends whoever is left of earlier attempts.
fn clear_remains(store: &mut SqliteStore, claim: &Claim) -> Result<Cleared, StoreError> {
    for before in claim.remains() {
        let same_boot = before.holder.boot_id == claim.attempt().holder.boot_id;
        let group = before.group.filter(|_| same_boot);
        match group.map(|group| group::clear(&group, CLEARING)) {
            Some(Presence::Somebody) => return Ok(Cleared::No),
            // What cannot be seen from here is left to the fence.
            Some(Presence::Elsewhere) => {}
            Some(Presence::Nobody) | None => store.mark_empty(before.fence)?,
        }
    }
    Ok(Cleared::Yes)
}
