//! `once KEY [options] -- COMMAND [ARG…]`.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::claim::duration::Limit;
use crate::claim::fingerprint::Part;
use crate::claim::outcome::RecordPolicy;
use crate::exit;

use super::{KeyArgs, values};

/// Arguments of `once`.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(override_usage = "doubletap once [OPTIONS] KEY -- COMMAND [ARG]...")]
pub struct OnceArgs {
    /// The key.
    #[command(flatten)]
    pub key: KeyArgs,

    /// Replay the recorded outcome for this long, or forever [default: forever]
    #[arg(long, value_name = "DUR", value_parser = values::ttl)]
    pub ttl: Option<Limit>,

    /// Record these ends: success, any, or exit statuses such as 0,3-5
    #[arg(long, value_name = "WHICH", default_value = "success", value_parser = values::record)]
    pub record: RecordPolicy,

    /// After a failure, keep the key busy for this long
    #[arg(long, value_name = "DUR", value_parser = values::any_duration)]
    pub retry_after: Option<Duration>,

    /// Compare this too, such as `cwd` or `env:NAME`; `none` drops the command line
    #[arg(long, value_name = "WHAT", value_parser = values::part)]
    pub fingerprint: Vec<Part>,

    /// While the key is busy, wait up to this long, or forever
    #[arg(short, long, value_name = "DUR", value_parser = values::wait, conflicts_with = "nonblock")]
    pub wait: Option<Limit>,

    /// Do not wait (the default)
    #[arg(short, long)]
    pub nonblock: bool,

    /// Exit with this status when the key is busy
    #[arg(short = 'E', long, value_name = "N", default_value_t = exit::BUSY)]
    pub conflict_exit_code: u8,

    /// What to do about an interrupted attempt
    #[arg(long, value_name = "WHAT", default_value = "rerun")]
    pub on_crash: OnCrashArg,

    /// Refuse after this many unsuccessful attempts
    #[arg(long, value_name = "N")]
    pub max_attempts: Option<NonZeroU32>,

    /// How long a claim lasts unless it is renewed
    #[arg(long, value_name = "DUR", default_value = "60s", value_parser = values::claim_ttl)]
    pub claim_ttl: Duration,

    /// Run even if recorded; the record stays unless the rerun succeeds
    #[arg(long)]
    pub rerun: bool,

    /// What a replay gives: the output and the status, or only the status
    #[arg(long, value_name = "WHAT", default_value = "output")]
    pub replay: ReplayArg,

    /// Keep only the exit status; the command keeps the terminal
    #[arg(long)]
    pub no_output: bool,

    /// If the store cannot be used, run unguarded and say so
    #[arg(long)]
    pub fail_open: bool,

    /// Write one JSON line about this call to FILE or fd:N
    #[arg(long, value_name = "FILE", value_parser = values::report())]
    pub report: Option<ReportTarget>,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `--on-crash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnCrashArg {
    /// Say so and run again
    Rerun,
    /// Refuse until a person has decided
    Stop,
}

/// `--replay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplayArg {
    /// The output and the status
    Output,
    /// Only the status
    Status,
}

/// `--report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTarget {
    /// A file, whose contents are replaced.
    File(PathBuf),
    /// A descriptor that the caller opened.
    Descriptor(i32),
}
