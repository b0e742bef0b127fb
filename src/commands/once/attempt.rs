//! Runs the command of a claim, and spends the claim on how it ended.

use std::ops::ControlFlow;

use crate::exit::Ending;
use crate::process::capture::Pump;
use crate::process::recorder::Recorder;
use crate::report::line::CallOutcome;
use crate::store::Store;

use super::super::call::Won;
use super::super::call::running::{Begun, Under, ending};
use super::Once;

impl Once<'_> {
    /// Runs the command under its claim; goes on with the store if that was won
    /// too late to be used.
    pub(super) fn run_claimed(
        &mut self,
        store: Box<dyn Store>,
        won: Won,
    ) -> anyhow::Result<ControlFlow<Ending, Box<dyn Store>>> {
        let limit = self.args.outcome.max_output();
        let begun = self.call.begin(store, won, |store, claim, newborn, waker| {
            let Some(pipes) = newborn.take_pipes() else { return Ok(None) };
            let recorder = Recorder::new(limit, store.spool(&claim.ownership()));
            Pump::new(pipes, recorder, waker).map(Some)
        })?;
        let under = match begun {
            Begun::Running(under) => under,
            Begun::Over(ending) => return Ok(ControlFlow::Break(ending)),
            Begun::Again(store) => return Ok(ControlFlow::Continue(store)),
        };
        let limiting = under.limiting_tenure();
        let Under { claim, mut keeper, transacting, tenure, running, pump } = *under;
        let rules = (&*transacting, limiting.as_deref());
        let lasting = |waker: &mut _| keeper.begin(waker);
        let mut ended = self.call.see_through(running, pump, rules, lasting)?;
        let validity = self.validate(&claim, &mut ended, rules, &mut keeper)?;
        let store = keeper.stop()?;
        Ok(ControlFlow::Break(self.end(store, claim, tenure.end(), ended, &validity)))
    }

    /// Runs the command without a claim, because there is no store.
    pub(super) fn run_unguarded(&mut self) -> anyhow::Result<Ending> {
        let ended = match self.call.run_unguarded()? {
            Ok(ended) => ended,
            Err(ending) => return Ok(ending),
        };
        self.call.account.ended(Some(ended.outcome));
        self.call.account.ran(ended.run, None);
        self.call.account.settle(CallOutcome::NotRecorded);
        if ended.stopped.is_some() {
            return Ok(self.call.timed_out(&ended));
        }
        Ok(ending(&ended))
    }
}
