//! Runs a command under a claim.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};

use crate::claim::duration::for_people;
use crate::claim::fence::Fence;
use crate::claim::held::Claim;
use crate::claim::holder::Group;
use crate::claim::key::Kind;
use crate::claim::outcome::Outcome;
use crate::cli::{RunArgs, first_word};
use crate::exit::{self, Ending};
use crate::place::Place;
use crate::process::capture::Pump;
use crate::process::clock;
use crate::process::group::{self, Presence};
use crate::process::launch::{self, Newborn, NotStarted, Plan, Running, Streams};
use crate::process::rules::{AfterLoss, Limits, Rules, Transacting};
use crate::process::supervise::{Ended, Left, supervise};
use crate::process::tenure::{Takers, Tenure};
use crate::process::wake::Waker;
use crate::report::line::CallOutcome;
use crate::report::voice::Voice;
use crate::store::{Heed, Liveness as _, Owned, Store};

use super::clearing::{Cleared, clear_remains};
use super::environment::{late_names, late_variables};
use super::keeper::{Keeper, Keeping};
use super::{Call, TOO_LATE, Won};

/// How far a claim that was won came.
pub(in crate::commands) enum Begun {
    /// Its command runs.
    Running(Box<Under>),
    /// It is over: nothing runs.
    Over(Ending),
    /// It could not be used any more, and was given back: it is to be asked for again.
    Again(Box<dyn Store>),
}

/// A command that runs under a claim.
pub(in crate::commands) struct Under {
    pub(in crate::commands) claim: Claim,
    pub(in crate::commands) keeper: Keeper,
    pub(in crate::commands) transacting: Arc<Transacting>,
    pub(in crate::commands) tenure: Arc<Tenure>,
    pub(in crate::commands) running: Running,
    pub(in crate::commands) pump: Option<Pump>,
}

/// What protects a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// A lock that the kernel drops when we end; the lease is for people.
    Kernel,
    /// The lease alone: a command must not outlive it.
    Lease,
}

/// The time limit ends the right to a name even of a living holder; to run once,
/// it does only where the kernel cannot be asked.
fn guard_of(claim: &Claim) -> Guard {
    match claim.subject().kind {
        Kind::Once | Kind::Step if claim.attempt().lock_inode.is_some() => Guard::Kernel,
        Kind::Once | Kind::Step | Kind::Lease => Guard::Lease,
    }
}

impl Under {
    /// Until when the command may run, where only that protects it.
    pub(in crate::commands) fn limiting_tenure(&self) -> Option<Arc<Tenure>> {
        (guard_of(&self.claim) == Guard::Lease).then(|| Arc::clone(&self.tenure))
    }
}

impl<R> Call<'_, R> {
    /// Forks something that finds our claim in its environment.
    pub(in crate::commands) fn fork_under_claim(
        &self,
        argv: &[OsString],
        streams: Streams,
    ) -> anyhow::Result<Newborn> {
        let variables = self.variables();
        let late = late_names(self.request.subject.kind);
        self.fork_planned(Plan { argv, variables: &variables, late, streams })
    }

    fn fork_planned(&self, plan: Plan<'_>) -> anyhow::Result<Newborn> {
        let signals =
            self.signals.as_ref().ok_or_else(|| anyhow!("signals were not taken over"))?;
        let key = self.request.title();
        launch::fork(plan, env::vars_os(), signals)
            .with_context(|| format!("{key}: no process could be started"))
    }
}

impl Call<'_> {
    /// Forks the command, which waits until its key is claimed.
    pub(super) fn fork(&self, streams: Streams) -> anyhow::Result<Newborn> {
        self.fork_under_claim(&self.run.command, streams)
    }

    /// Clears what predecessors left behind, and lets the command go.
    pub(in crate::commands) fn begin(
        &mut self,
        mut store: Box<dyn Store>,
        won: Won,
        pump: impl FnOnce(&dyn Store, &Claim, &mut Newborn, &mut Waker) -> io::Result<Option<Pump>>,
    ) -> anyhow::Result<Begun> {
        let Won { claim, prepared: mut newborn, sent } = won;
        self.account.about(claim.attempt());
        if claim.attempt().group != Some(newborn.group()) {
            // An earlier claim won it, for a command that is gone, and its answer was lost. Its
            // time has been passing since, and who takes over would look for nobody.
            return self.ask_again(store, claim, "the answer to its claim was lost");
        }
        self.tell_of_take_over(&claim);
        let prepared =
            clear_remains(self.context, &mut *store, &claim).map_err(anyhow::Error::from).and_then(
                |cleared| Ok((cleared, pump(&*store, &claim, &mut newborn, &mut self.waker)?)),
            );
        let (cleared, pump) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return self.leave_for(&mut *store, claim, error).map(Begun::Over),
        };
        if cleared == Cleared::No {
            return self.give_back(&mut *store, claim).map(Begun::Over);
        }
        // A signal may have stopped us until another one came.
        let claim = match self.leave(&mut *store, claim) {
            Ok(ending) => return Ok(Begun::Over(ending)),
            Err(claim) => claim,
        };
        let tenure = Arc::new(Tenure::new(claim.attempt().lease, self.takers(), sent));
        if guard_of(&claim) == Guard::Lease && clock::boot() >= tenure.stop_at() {
            return self.ask_again(store, claim, TOO_LATE);
        }
        let running = match newborn.let_go(&late_variables(claim.attempt(), claim.subject().kind)) {
            Ok(running) => running,
            Err(why) => return self.not_started(store, claim, &why).map(Begun::Over),
        };
        // From here on signals are the command's, and the store is waited for.
        store.heed(Heed::default());
        // While the command runs this costs nothing [measured: a lease of `true` and a fresh
        // run take 0.98 of the time].
        store.expect_end();
        let keeping = Keeping {
            owner: claim.ownership(),
            limit: (claim.attempt().lease / 8).min(self.context.store_timeout()),
            tenure: Arc::clone(&tenure),
            renewal: self.renewal,
        };
        let transacting = Arc::new(Transacting::default());
        let keeper = Keeper::new(store, keeping, Arc::clone(&transacting), self.context.voice);
        Ok(Begun::Running(Box::new(Under { claim, keeper, transacting, tenure, running, pump })))
    }

    /// Gives back what cannot be used any more.
    fn ask_again(
        &mut self,
        mut store: Box<dyn Store>,
        claim: Claim,
        why: &str,
    ) -> anyhow::Result<Begun> {
        let over = self.give_up(&mut *store, claim, why)?;
        Ok(over.map_or_else(|| Begun::Again(store), Begun::Over))
    }

    fn takers(&self) -> Takers {
        match self.context.place() {
            Place::File(_) => Takers::Here,
            Place::Server(_) => Takers::Anywhere,
        }
    }

    /// Owns the command until its end.
    pub(in crate::commands) fn see_through(
        &mut self,
        running: Running,
        pump: Option<Pump>,
        (transacting, tenure): (&Transacting, Option<&Tenure>),
        lasting: impl FnOnce(&mut Waker),
    ) -> anyhow::Result<Ended> {
        let Some(signals) = &mut self.signals else {
            return Err(anyhow!("signals were not taken over"));
        };
        let limits = Limits {
            timeout: self.run.timeout,
            kill_after: self.run.kill_after,
            // Who has taken what a lock protects has ended our command himself.
            after_loss: if tenure.is_some() { AfterLoss::AtOnce } else { AfterLoss::Graceful },
        };
        let rules = Rules { limits, transacting, tenure };
        let ended = supervise(running, pump, signals, &mut self.waker, rules, lasting)
            .context("the command could not be waited for")?;
        tell_of_what_is_left(self.context.voice, &self.request.title(), &ended);
        Ok(ended)
    }

    /// A command that could not be executed is never recorded: the key is
    /// released at once.
    fn not_started(
        &mut self,
        mut store: Box<dyn Store>,
        claim: Claim,
        why: &NotStarted,
    ) -> anyhow::Result<Ending> {
        let (status, reason) = describe_not_started(&self.run.command, &self.request.title(), why);
        self.context.voice.warn(&reason);
        self.account.settle(CallOutcome::Error);
        self.release(&mut *store, claim, Some(Outcome::Exited(status)), &reason)?;
        Ok(Ending::Status(status))
    }

    /// The command ran for too long.
    pub(in crate::commands) fn timed_out(&mut self, ended: &Ended) -> Ending {
        let sentence = ran_too_long(&self.request.title(), self.run, ended);
        self.context.voice.warn(&sentence);
        self.account.settle(CallOutcome::Timeout);
        Ending::Status(exit::TIMEOUT)
    }

    /// What is to be done once a claim is spent: whoever waits for us is served
    /// first.
    pub(in crate::commands) fn spent(
        &mut self,
        store: &mut dyn Store,
        (fence, group): (Fence, Option<Group>),
        owned: Owned,
    ) {
        self.live.let_go(fence);
        let nobody = |group| group::presence(&group) == Presence::Nobody;
        if owned != Owned::Yes && group.is_none_or(nobody) {
            // Else whoever comes next sees to it.
            let _ = store.mark_empty(fence);
        }
        store.tidy();
    }
}

/// The exit status for a command that could not be started, and a sentence.
pub(in crate::commands) fn describe_not_started(
    command: &[OsString],
    title: &str,
    why: &NotStarted,
) -> (u8, String) {
    let word = first_word(command).to_string_lossy();
    match why {
        NotStarted::NotFound(_) if word.contains('/') && Path::new(&*word).exists() => {
            (exit::NOT_FOUND, format!("{title}: {word:?}: its interpreter was not found"))
        }
        NotStarted::NotFound(_) => (exit::NOT_FOUND, format!("{title}: {word:?}: {why}")),
        NotStarted::NotExecutable(_) => (exit::NOT_EXECUTABLE, format!("{title}: {word:?}: {why}")),
    }
}

/// Says that not all of what a command has started could be ended.
pub(super) fn tell_of_what_is_left(voice: Voice, title: &str, ended: &Ended) {
    if ended.left == Left::Somebody {
        voice.warn(&format!(
            "{title}: some of what its command started could not be ended, and still runs"
        ));
    }
}

/// A command that was stopped because of `--timeout`.
pub(super) fn ran_too_long(title: &str, run: &RunArgs, ended: &Ended) -> String {
    let limit = for_people(run.timeout.unwrap_or_default());
    format!("{title}: the command ran for longer than {limit} and was stopped ({})", ended.outcome)
}

/// We end as the command did; told to end, we die of the same signal, unless
/// the command chose a status of its own.
pub(in crate::commands) fn ending(ended: &Ended) -> Ending {
    match (ended.told, ended.outcome) {
        (Some(signal), Outcome::Signaled(_)) => Ending::Signal(signal as u8),
        (_, outcome) => Ending::Status(outcome.status()),
    }
}
