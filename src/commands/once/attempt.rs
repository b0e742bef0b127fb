//! Runs the command of a claim, and spends the claim on how it ended.

use std::ops::ControlFlow;

use crate::exit::Ending;
use crate::process::capture::Pump;
use crate::process::recorder::Recorder;
use crate::store::Store;

use super::super::call::Won;
use super::super::call::running::{Begun, Under};
use super::super::call::unguarded::{MakePump, Unguarded};
use super::Once;

impl Once<'_> {
    /// Runs the command under its claim; goes on with the store if that
    /// could not be used any more.
    pub(super) fn run_claimed(
        &mut self,
        store: Box<dyn Store>,
        won: Won,
    ) -> anyhow::Result<ControlFlow<Ending, Box<dyn Store>>> {
        let (limit, answers) = (self.args.outcome.max_output(), self.answers);
        let begun = self.call.begin(store, won, |store, claim, newborn, waker| {
            let Some(pipes) = newborn.take_pipes() else { return Ok(None) };
            let spool = store.spool(&claim.ownership());
            match answers {
                None => Pump::new(pipes, Recorder::new(limit, spool), waker).map(Some),
                Some(answers) => answers.pump(pipes, (limit, spool), waker).map(Some),
            }
        })?;
        let under = match begun {
            Begun::Running(under) => under,
            Begun::Over(ending) => return Ok(ControlFlow::Break(ending)),
            Begun::Again(store) => return Ok(ControlFlow::Continue(store)),
        };
        self.call.account.spoke();
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
        let (call, answers) = (&mut self.call, self.answers);
        let (title, variables) = (call.request.title(), call.unguarded_variables());
        let pump = answers.map(|answers| move |pipes, waker: &mut _| answers.watch(pipes, waker));
        let pump = pump.as_ref().map(|pump| pump as &MakePump<'_>);
        let unguarded =
            Unguarded { context: call.context, run: call.run, title: &title, variables, pump };
        unguarded.run(call.signals.take(), &mut call.waker, call.account)
    }
}
