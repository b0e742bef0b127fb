//! The verbs for scripts that cannot be wrapped: they claim in one call, and give the
//! claim back, or spend it, in another.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use crate::claim::fingerprint::Part;
use crate::claim::id::Token;

use super::lease::{NameArgs, SlotArgs};
use super::once::{HistoryArgs, KeepArgs};
use super::run::WaitArgs;
use super::{KeyArgs, values};

/// The form of what is printed about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// The token
    Text,
    /// One JSON document
    Json,
    /// Lines for a shell to eval, which end with its status if it is not 0
    Sh,
}

/// How a claim that was made by hand is told.
#[derive(Args, Debug)]
pub struct TellArgs {
    /// What to print: text, json or sh [default: text]
    #[arg(long, value_name = "FORM")]
    format: Option<FormatArg>,
}

impl TellArgs {
    /// What to print.
    pub fn format(&self) -> FormatArg {
        self.format.unwrap_or(FormatArg::Text)
    }
}

/// Claim a key for a script, which records the outcome with complete or fail
#[derive(Args, Debug)]
pub struct BeginArgs {
    /// The key.
    #[command(flatten)]
    pub key: KeyArgs,

    /// What the claim hangs on.
    #[command(flatten)]
    pub tie: TieArgs,

    /// Compare this too, such as `cwd` or `env:NAME`
    #[arg(long, value_name = "WHAT", value_parser = values::part_without_command)]
    pub fingerprint: Vec<Part>,

    /// What to do after earlier attempts.
    #[command(flatten)]
    pub history: HistoryArgs,

    /// What to do while it is busy.
    #[command(flatten)]
    pub waits: WaitArgs,

    /// What to print.
    #[command(flatten)]
    pub tell: TellArgs,
}

/// What a claim hangs on that no wrapper keeps.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub struct TieArgs {
    /// Free it the moment this process is gone: --pid $$
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,

    /// Free it after this long, unless it is renewed; with --pid, if that process cannot be seen
    #[arg(long, value_name = "DUR", value_parser = values::claim_ttl)]
    pub claim_ttl: Option<Duration>,
}

/// The token of a claim.
#[derive(Args, Clone, Debug)]
pub struct TokenArgs {
    /// The token of the claim [default: that of the environment]
    #[arg(long, value_name = "TOKEN", value_parser = values::token)]
    pub token: Option<Token>,
}

/// Record the outcome of what was begun, or say how an interrupted attempt ended
#[derive(Args, Debug)]
pub struct CompleteArgs {
    /// The key.
    #[command(flatten)]
    pub key: KeyArgs,

    /// The token.
    #[command(flatten)]
    pub token: TokenArgs,

    /// Instead of a token: settle an attempt whose holder died without recording an outcome
    #[arg(long, conflicts_with_all = ["token", "result", "ttl", "per", "validate", "upsert_missing", "json"])]
    pub unresolved: bool,

    /// The exit status to record: every call gets it from then on, a failure too
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub exit_code: u8,

    /// Record what is in this file, or comes on standard input (-), as the output
    #[arg(long, value_name = "FILE", value_parser = values::path(), value_hint = ValueHint::FilePath)]
    pub result: Option<PathBuf>,

    /// How long the record is good.
    #[command(flatten)]
    pub keep: KeepArgs,

    /// Record a success only if this shell command, fed with the result, succeeds too
    #[arg(long, value_name = "COMMAND", value_parser = values::shell_command(), requires = "result")]
    pub validate: Option<OsString>,

    /// Record it even if nothing is known of the key: it was pruned, or the store is new
    #[arg(long)]
    pub upsert_missing: bool,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Give a key back for a retry, and say why
#[derive(Args, Debug)]
pub struct FailArgs {
    /// The key.
    #[command(flatten)]
    pub key: KeyArgs,

    /// The token.
    #[command(flatten)]
    pub token: TokenArgs,

    /// The exit status of what failed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub exit_code: u8,

    /// Why it failed, for show
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,

    /// Keep the key busy for this long
    #[arg(long, value_name = "DUR", value_parser = values::any_duration)]
    pub retry_after: Option<Duration>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Hold a name for a script, which gives it back with release
#[derive(Args, Debug)]
pub struct AcquireArgs {
    /// The name.
    #[command(flatten)]
    pub name: NameArgs,

    /// How long the lease lasts unless it is renewed
    #[arg(long, value_name = "DUR", value_parser = values::claim_ttl)]
    pub ttl: Duration,

    /// Free it the moment this process is gone: --pid $$
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,

    /// Who else may hold it, and for how long it is kept.
    #[command(flatten)]
    pub slots: SlotArgs,

    /// What to do while it is busy.
    #[command(flatten)]
    pub waits: WaitArgs,

    /// What to print.
    #[command(flatten)]
    pub tell: TellArgs,
}

/// Give back a name that was acquired
#[derive(Args, Debug)]
pub struct ReleaseArgs {
    /// The name.
    #[command(flatten)]
    pub name: NameArgs,

    /// The token.
    #[command(flatten)]
    pub token: TokenArgs,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Extend a claim or a lease from now on
#[derive(Args, Debug)]
pub struct RenewArgs {
    /// The token.
    #[command(flatten)]
    pub token: TokenArgs,

    /// How long it lasts from now on [default: as long as it was to last]
    #[arg(long, value_name = "DUR", value_parser = values::claim_ttl)]
    pub claim_ttl: Option<Duration>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Ask whether a claim or a lease is still good, in the middle of a long script
#[derive(Args, Debug)]
pub struct AssertArgs {
    /// The token.
    #[command(flatten)]
    pub token: TokenArgs,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
