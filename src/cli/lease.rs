//! `lease NAME [options] -- COMMAND [ARG…]`.

use std::time::Duration;

use clap::Args;

use crate::claim::decide::LeaseTerms;
use crate::claim::key::Key;

use super::run::RunArgs;
use super::values;

/// Run a command while holding a name, so that it never overlaps itself
#[derive(Args, Debug)]
#[command(override_usage = "doubletap lease [OPTIONS] NAME -- COMMAND [ARG]...")]
pub struct LeaseArgs {
    /// The name.
    #[command(flatten)]
    pub name: NameArgs,

    /// How long the lease lasts unless it is renewed [default: 60s]
    #[arg(long, value_name = "DUR", value_parser = values::claim_ttl)]
    ttl: Option<Duration>,

    /// Do not renew it: the command is stopped before it ends
    #[arg(long)]
    pub no_renew: bool,

    /// Who else may hold it, and for how long it is kept.
    #[command(flatten)]
    pub slots: SlotArgs,

    /// What every verb is told that runs a command.
    #[command(flatten)]
    pub run: RunArgs,
}

impl LeaseArgs {
    /// How long the lease lasts unless it is renewed.
    pub fn ttl(&self) -> Duration {
        self.ttl.unwrap_or(Duration::from_secs(60))
    }
}

/// Who else may hold a name, and for how long it is kept.
#[derive(Args, Debug)]
pub struct SlotArgs {
    /// Hold it while fewer than this many others do [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    slots: Option<u32>,

    /// Keep the name at least this long, even if it is given back sooner
    #[arg(long, value_name = "DUR", value_parser = values::positive)]
    min_hold: Option<Duration>,
}

impl SlotArgs {
    /// How it is to be held.
    pub fn terms(&self) -> LeaseTerms {
        LeaseTerms { slots: self.slots.unwrap_or(1), min_hold: self.min_hold.unwrap_or_default() }
    }
}

/// A name given in its place or with `--key`.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct NameArgs {
    /// The name: 1 to 1024 bytes of UTF-8 without control characters
    #[arg(value_name = "NAME", value_parser = values::key())]
    positional: Option<Key>,

    /// The name, if it begins with a dash
    #[arg(long = "key", value_name = "NAME", value_parser = values::key(), allow_hyphen_values = true)]
    named: Option<Key>,
}

impl NameArgs {
    /// The name.
    ///
    /// # Panics
    /// Never: clap requires exactly one of the two.
    #[must_use]
    pub fn name(&self) -> &Key {
        self.positional.as_ref().or(self.named.as_ref()).unwrap_or_else(|| unreachable!())
    }
}
