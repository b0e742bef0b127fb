//! Every store sweeps the same keys and attempts, whatever has happened to them.

use std::time::Duration;

use doubletap::claim::attempt::{Promise, State};
use doubletap::claim::decide::{OnceTerms, Rerun};
use doubletap::claim::holder::Life;
use doubletap::store::{Answer, Completion, Force, Promised, Sweep, SweepMode, Swept, Unlooked};
use proptest::collection::vec;
use proptest::prelude::*;

use super::completion::{kept, rested};
use super::stage::{DAY, LEASE, Stage, fingerprint, older_than};

/// One thing that happens to a key.
#[derive(Clone, Debug)]
enum Step {
    /// A call that wins it if it can, and what becomes of it.
    Call {
        key: u8,
        asks: u8,
        rerun: Rerun,
        end: End,
    },
    Forget(u8, Force),
    Settle(u8),
    /// Nobody is left of its attempts.
    Empty(u8),
    Pass(Duration),
}

#[derive(Clone, Debug)]
enum End {
    Done(Option<Duration>, Promise),
    Failed(Option<Duration>),
    Dies(Life),
}

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(LEASE), Just(LEASE * 2), Just(DAY), Just(DAY * 3)]
}

fn end() -> impl Strategy<Value = End> {
    let promise = prop_oneof![Just(Promise::Explicit), Just(Promise::Default)];
    let life = prop_oneof![Just(Life::Gone), Just(Life::Orphaned), Just(Life::Alive)];
    prop_oneof![
        4 => (prop::option::of(span()), promise).prop_map(|(span, promise)| End::Done(span, promise)),
        3 => prop::option::of(span()).prop_map(End::Failed),
        2 => life.prop_map(End::Dies),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let rerun = prop_oneof![Just(Rerun::Yes), Just(Rerun::No)];
    let force = prop_oneof![Just(Force::Yes), Just(Force::No)];
    prop_oneof![
        8 => (0..4_u8, 0..2_u8, rerun, end())
            .prop_map(|(key, asks, rerun, end)| Step::Call { key, asks, rerun, end }),
        1 => (0..4_u8, force).prop_map(|(key, force)| Step::Forget(key, force)),
        1 => (0..4_u8).prop_map(Step::Settle),
        1 => (0..4_u8).prop_map(Step::Empty),
        4 => span().prop_map(Step::Pass),
    ]
}

fn sweep() -> impl Strategy<Value = Sweep> {
    let age = prop_oneof![Just(Duration::ZERO), span()];
    let promised = prop_oneof![Just(Promised::Included), Just(Promised::Spared)];
    let unlooked = prop_oneof![Just(Unlooked::Included), Just(Unlooked::Spared)];
    (age, promised, unlooked).prop_map(|(age, promised, unlooked)| Sweep {
        promised,
        unlooked,
        ..older_than(age)
    })
}

fn happen(stage: &mut Stage, step: &Step) {
    match step {
        Step::Call { key, asks, rerun, end } => {
            let terms = OnceTerms { rerun: *rerun, ..OnceTerms::default() };
            let mut request = stage.request_with(&key.to_string(), terms);
            request.fingerprint = fingerprint(*asks);
            if let Answer::Won(claim) = stage.claim(&request) {
                let completion: Completion = match end {
                    End::Done(span, promise) => kept(*span, *promise),
                    End::Failed(rest) => rested(*rest),
                    End::Dies(life) => return stage.witness.says(claim.attempt().fence, *life),
                };
                stage.complete(claim, &completion);
            }
        }
        Step::Forget(key, force) => drop(stage.forget(&key.to_string(), *force)),
        Step::Settle(key) => drop(stage.settle(&key.to_string(), 3)),
        Step::Empty(key) => {
            for attempt in stage.chain(&key.to_string()) {
                if attempt.state != State::Running {
                    stage.store.mark_empty(attempt.fence).unwrap();
                }
            }
        }
        Step::Pass(span) => stage.clock.pass(*span),
    }
}

/// All there is: keys, generations and states.
fn left(stage: &mut Stage) -> Vec<(String, i64, State)> {
    let chains = stage.store.chains(None).unwrap().into_iter();
    let rows = chains.flat_map(|chain| {
        let key = chain.subject.key.to_string();
        chain.attempts.into_iter().map(move |a| (key.clone(), a.generation, a.state))
    });
    rows.collect()
}

/// What a sweep says that it would take, what it takes, and what it leaves.
fn swept(stage: &mut Stage, sweep: &Sweep) -> (Swept, Swept, Vec<(String, i64, State)>) {
    let counted = stage.sweep(&Sweep { mode: SweepMode::Count, ..sweep.clone() });
    (counted, stage.sweep(sweep), left(stage))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn every_store_sweeps_the_same_and_what_it_has_counted(
        steps in vec(step(), 1..60),
        sweeps in vec(sweep(), 1..4),
    ) {
        let (mut memory, mut sqlite) = (Stage::memory(), Stage::sqlite());
        for step in &steps {
            happen(&mut memory, step);
            happen(&mut sqlite, step);
        }
        prop_assert_eq!(left(&mut memory), left(&mut sqlite));
        for sweep in &sweeps {
            let (counted, gone, left) = swept(&mut sqlite, sweep);
            prop_assert_eq!(counted, gone);
            prop_assert_eq!((counted, gone, left), swept(&mut memory, sweep));
        }
    }
}
