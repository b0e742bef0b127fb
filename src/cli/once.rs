//! `once KEY [options] -- COMMAND [ARG…]`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::run::RunArgs;
use super::values;
use crate::claim::duration::Limit;
use crate::claim::fingerprint::Part;
use crate::claim::key::Key;
use crate::claim::outcome::RecordPolicy;
use crate::claim::size::SizeLimit;

/// What to do after earlier attempts.
#[derive(Args, Debug, Default)]
pub struct HistoryArgs {
    /// What to do about an interrupted attempt [default: rerun]
    #[arg(long, value_name = "WHAT")]
    on_crash: Option<OnCrashArg>,

    /// Refuse after this many unsuccessful attempts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_attempts: Option<u32>,
}

impl HistoryArgs {
    /// What to do about an interrupted attempt.
    pub fn on_crash(&self) -> OnCrashArg {
        self.on_crash.unwrap_or(OnCrashArg::Rerun)
    }
}

/// How long a record is good.
#[derive(Args, Debug, Default)]
pub struct KeepArgs {
    /// Replay the recorded outcome for this long, or forever [default: until it is pruned]
    #[arg(long, value_name = "DUR", value_parser = values::ttl, conflicts_with = "per")]
    pub ttl: Option<Limit>,

    /// Once per calendar period: the record is good until the period ends
    #[arg(long, value_name = "PERIOD")]
    pub per: Option<PerArg>,

    /// The time zone of that period, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "ZONE", requires = "per")]
    pub tz: Option<String>,
}

/// A key given in its place, with `--key`, or by the name of a variable.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct OnceKeyArgs {
    /// The key: 1 to 1024 bytes of UTF-8 without control characters
    #[arg(value_name = "KEY", value_parser = values::key())]
    positional: Option<Key>,

    /// The key, if it begins with a dash
    #[arg(long = "key", value_name = "KEY", value_parser = values::key(), allow_hyphen_values = true)]
    named: Option<Key>,

    /// Take the key from this environment variable
    #[arg(long, value_name = "VAR", value_parser = values::variable)]
    key_env: Option<String>,
}

/// Where a key comes from.
#[derive(Clone, Copy, Debug)]
pub enum KeySource<'a> {
    /// The command line.
    Given(&'a Key),
    /// This environment variable.
    Variable(&'a str),
}

impl OnceKeyArgs {
    /// A key that was read already.
    pub(super) fn of(key: &Key) -> Self {
        Self { positional: Some(key.clone()), named: None, key_env: None }
    }

    /// Where the key comes from.
    ///
    /// # Panics
    /// Never: clap requires exactly one of the three.
    #[must_use]
    pub fn source(&self) -> KeySource<'_> {
        let given = self.positional.as_ref().or(self.named.as_ref()).map(KeySource::Given);
        let named = || self.key_env.as_deref().map(KeySource::Variable);
        given.or_else(named).unwrap_or_else(|| unreachable!())
    }
}

/// What becomes of an outcome, and of the output.
#[derive(Args, Debug, Default)]
pub struct OutcomeArgs {
    /// Record these ends: success, any, or exit statuses such as 0,3-5 [default: success]
    #[arg(long, value_name = "WHICH", value_parser = values::record)]
    record: Option<RecordPolicy>,

    /// After a failure, keep the key busy for this long
    #[arg(long, value_name = "DUR", value_parser = values::any_duration)]
    pub retry_after: Option<Duration>,

    /// Compare this too, such as `cwd` or `env:NAME`; `none` drops the command line
    #[arg(long, value_name = "WHAT", value_parser = values::part)]
    pub fingerprint: Vec<Part>,

    /// What to do after earlier attempts.
    #[command(flatten)]
    pub history: HistoryArgs,

    /// Keep this much of the output, or none for no limit [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::size_limit, conflicts_with = "no_output")]
    max_output: Option<SizeLimit>,

    /// Record a success only if this shell command, fed with its standard output, succeeds too
    #[arg(long, value_name = "COMMAND", value_parser = values::shell_command(), conflicts_with = "no_output")]
    pub validate: Option<OsString>,

    /// What a replay gives: the output and the status, or only the status [default: output; status for a once with --per]
    #[arg(long, value_name = "WHAT")]
    replay: Option<ReplayArg>,

    /// Keep only the exit status; the command keeps the terminal
    #[arg(long)]
    pub no_output: bool,
}

/// The defaults. They stand here and not in the attributes above, since clap
/// would read them as text at every call, which a replay would feel.
impl OutcomeArgs {
    /// What a response is told, and nothing else.
    pub(super) fn of(
        history: HistoryArgs,
        retry_after: Option<Duration>,
        max_output: Option<SizeLimit>,
    ) -> Self {
        Self { retry_after, history, max_output, ..Self::default() }
    }

    /// Which ends are recorded.
    pub fn record(&self) -> &RecordPolicy {
        self.record.as_ref().unwrap_or(&RecordPolicy::Success)
    }

    /// The most bytes of output that are kept; nothing for no limit.
    pub fn max_output(&self) -> Option<u64> {
        match self.max_output {
            None => Some(16 << 20),
            Some(SizeLimit::Bytes(bytes)) => Some(bytes),
            Some(SizeLimit::None) => None,
        }
    }
}

/// Run a command once per key, and replay its output and exit status
#[derive(Args, Debug)]
#[command(override_usage = "doubletap once [OPTIONS] KEY -- COMMAND [ARG]...")]
pub struct OnceArgs {
    /// The key.
    #[command(flatten)]
    pub key: OnceKeyArgs,

    /// If that variable is unset or empty, run unguarded and say so
    #[arg(long, requires = "key_env", conflicts_with_all = ["positional", "named"])]
    pub if_key: bool,

    /// How long the record is good.
    #[command(flatten)]
    pub keep: KeepArgs,

    /// What becomes of the outcome.
    #[command(flatten)]
    pub outcome: OutcomeArgs,

    /// How long a claim lasts unless it is renewed [default: 60s]
    #[arg(long, value_name = "DUR", value_parser = values::claim_ttl)]
    pub(super) claim_ttl: Option<Duration>,

    /// Run even if recorded; the record stays unless the rerun succeeds
    #[arg(long)]
    pub rerun: bool,

    /// If the store cannot be used, run unguarded and say so
    #[arg(long)]
    pub fail_open: bool,

    /// What every verb is told that runs a command.
    #[command(flatten)]
    pub run: RunArgs,
}

impl OnceArgs {
    /// A call that leaves out what is not named here.
    pub(super) fn new(key: &Key, keep: KeepArgs, outcome: OutcomeArgs, run: RunArgs) -> Self {
        let (if_key, claim_ttl, rerun, fail_open) = (false, None, false, false);
        let key = OnceKeyArgs::of(key);
        Self { key, if_key, keep, outcome, claim_ttl, rerun, fail_open, run }
    }

    /// How long a claim lasts unless it is renewed.
    pub fn claim_ttl(&self) -> Duration {
        self.claim_ttl.unwrap_or(Duration::from_secs(60))
    }

    /// What a replay gives.
    pub fn replay(&self) -> ReplayArg {
        self.outcome.replay.unwrap_or(match self.keep.per {
            None => ReplayArg::Output,
            Some(_) => ReplayArg::Status,
        })
    }
}

/// `--per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PerArg {
    /// From one full hour to the next
    Hour,
    /// From midnight to midnight
    Day,
    /// From Monday to Monday
    Week,
    /// From the first to the first
    Month,
    /// From the first of January to the next
    Year,
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
