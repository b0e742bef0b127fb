//! `step NAME [options] -- COMMAND [ARG…]`.

use clap::Args;

use super::lease::NameArgs;
use super::once::{KeepArgs, OnceArgs, OutcomeArgs};
use super::run::RunArgs;
use super::script::TokenArgs;

/// Run a step of an operation, once, however often that is retried
#[derive(Args, Debug)]
#[command(override_usage = "doubletap step [OPTIONS] NAME -- COMMAND [ARG]...")]
pub struct StepArgs {
    /// The name of the step, which no other step of the operation has.
    #[command(flatten)]
    pub name: NameArgs,

    /// The token of the claim that it belongs to.
    #[command(flatten)]
    pub token: TokenArgs,

    /// What becomes of the outcome.
    #[command(flatten)]
    pub outcome: OutcomeArgs,

    /// What every verb is told that runs a command.
    #[command(flatten)]
    pub run: RunArgs,
}

impl StepArgs {
    /// The same as a call of `once`, of which a step is one.
    #[must_use]
    pub fn as_once(self) -> OnceArgs {
        let Self { name, outcome, run, .. } = self;
        OnceArgs::new(name.name(), KeepArgs::default(), outcome, run)
    }
}
