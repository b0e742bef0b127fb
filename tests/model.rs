//! The model: every order in which the steps of claiming can happen, explored by
//! `stateright`. What runs is the program's own: [`decide`](doubletap::claim::decide::decide)
//! and the contract of a store, as [`MemoryStore`](doubletap::store::memory::MemoryStore)
//! keeps it. Only what surrounds them is made up: the workers' protocol, the kernel that
//! says who lives, the clock.
//!
//! Three workers call for one key, two for the same thing and one for another. Each
//! looks, waits for whoever was first or comes back later, claims, clears what
//! predecessors left, lets its command go, renews, and completes or releases. A step under
//! the store's lock is one step, and a look without it is another. At any point a worker may die, with its command or without; sleep past
//! the end of its lease, and wake up and go on; or lose a request or a reply. Commands
//! succeed, fail, and outlive their wrappers. Operators forget by force, settle and
//! prune. [`promises`] are what must hold in all states that come of it; [`explored`]
//! shows that it does, and [`caught`] that the checker would tell: for each of the
//! [`mutants`], rules broken on purpose, it finds the promise that goes with them.
//!
//! | file | subject |
//! |---|---|
//! | [`world`], [`setting`], [`scenes`] | a state; what stays the same; what is explored |
//! | [`steps`], [`claiming`], [`owning`], [`operating`] | what can happen next |
//! | [`kernel`] | the time, and who lives |
//! | [`promises`], [`mutants`], [`caught`], [`explored`] | what must hold, and the sentences |
//! | [`telling`] | how a counterexample is told |
//!
//! What was explored to its end, and how long it took one core, unoptimised (see [`scenes`]
//! for what each setting has):
//!
//! | setting | states | | with more of everything | |
//! |---|---|---|---|---|
//! | once, run again after a crash | 115,265 | 7 s | 936,852 | 83 s |
//! | once, stop after a crash | 43,268 | 4 s | 600,557 | 47 s |
//! | once, where who comes to a held key waits | 33,430 | 3 s | 678,577 | 75 s |
//! | the same, and records expire meanwhile | 6,339 | 1 s | | |
//! | once, where only the lease decides | 86,176 | 4 s | 1,324,090 | 82 s |
//! | the same, and messages are lost | 71,477 | 3 s | | |
//! | a name for one | 138,809 | 7 s | 1,728,112 | 111 s |
//! | the same, and it is forgotten | 32,619 | 2 s | | |
//! | a name for two, kept for a while | 116,198 | 8 s | 1,309,764 | 87 s |
//! | once, pruned and forgotten | 130,956 | 11 s | 450,056 | 41 s |
//! | the same on a server, by a host that cannot look | 40,366 | 2 s | | |
//!
//!     cargo test --locked --test sentences model::
//!     cargo test --locked --test sentences model:: -- --ignored
//!
//! Not in the model: `--rerun`, `--per`, `--max-attempts`, `--retry-after`, steps, claims
//! that hang on a process, output, a second key, a clock that goes back, a machine that
//! starts again. The contract's own sentences (`tests/contract.rs`) have those, and hold
//! every other store to what the store in memory does. That the program's wrapper keeps
//! the workers' protocol is shown by the sentences that start it.
//!
//! Two things are a person's to answer for, and not found here as faults: who forgets a
//! running key by force, and then settles the key by hand after the next attempt died
//! before it could end the first, has a record while that command still runs; and where
//! holders are on other machines nothing ends a stalled wrapper's command, so that only
//! its fence tells it from its successor's.

mod caught;
mod claiming;
mod explored;
mod kernel;
mod mutants;
mod operating;
mod owning;
mod promises;
mod scenes;
mod setting;
mod steps;
mod telling;
mod world;

use stateright::{Model, Property};

use setting::Setting;
use steps::Step;
use world::World;

/// The model as the checker wants it.
struct Claims(Setting);

impl AsRef<Setting> for Claims {
    fn as_ref(&self) -> &Setting {
        &self.0
    }
}

impl Model for Claims {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.0.budget)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        steps::possible(&self.0, world, steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        steps::take(&self.0, world, step)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises::properties()
    }
}
