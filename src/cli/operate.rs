//! The verbs that look after a store.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::claim::key::Kind;
use crate::claim::standing::Standing;

use super::{KeyArgs, values};

/// What a key is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// A command that runs once
    Once,
    /// A name that is held
    Lease,
}

impl KindArg {
    fn kind(self) -> Kind {
        match self {
            Self::Once => Kind::Once,
            Self::Lease => Kind::Lease,
        }
    }
}

/// A key, and what it is about.
#[derive(Args, Clone, Debug)]
pub struct SubjectArgs {
    /// The key.
    #[command(flatten)]
    pub key: KeyArgs,

    /// What the key is about [default: once]
    #[arg(long, value_name = "KIND")]
    kind: Option<KindArg>,
}

impl SubjectArgs {
    /// What the key is about.
    pub fn kind(&self) -> Kind {
        self.kind.map_or(Kind::Once, KindArg::kind)
    }
}

/// Show what is known of a key
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The key.
    #[command(flatten)]
    pub subject: SubjectArgs,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Print the output of a key's newest attempt, also while it runs
#[derive(Args, Debug)]
pub struct LogsArgs {
    /// The key.
    #[command(flatten)]
    pub key: KeyArgs,

    /// Only its standard output
    #[arg(long, conflicts_with = "stderr")]
    pub stdout: bool,

    /// Only its standard error, on standard output
    #[arg(long)]
    pub stderr: bool,

    /// Go on until the attempt ends
    #[arg(short, long)]
    pub follow: bool,
}

/// List the keys, the newest first
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Only keys in this state; may be given more than once
    #[arg(long, value_name = "STATE", value_parser = values::standing())]
    pub state: Vec<Standing>,

    /// Only what runs once, or only what is held [default: both]
    #[arg(long, value_name = "KIND")]
    kind: Option<KindArg>,

    /// Only keys whose newest attempt started at most this long ago
    #[arg(long, value_name = "DUR", value_parser = values::positive)]
    pub since: Option<Duration>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl ListArgs {
    /// What the keys are about, where that matters.
    pub fn kind(&self) -> Option<Kind> {
        self.kind.map(KindArg::kind)
    }
}

/// Drop a key on purpose: the next call runs again
#[derive(Args, Debug)]
pub struct ForgetArgs {
    /// The key.
    #[command(flatten)]
    pub subject: SubjectArgs,

    /// Drop it even while its holder lives
    #[arg(long)]
    pub force: bool,
}

/// Remove old records
#[derive(Args, Debug)]
pub struct PruneArgs {
    /// Remove keys whose newest attempt ended longer ago than this
    #[arg(long, value_name = "DUR", value_parser = values::any_duration)]
    pub older_than: Duration,

    /// Remove nothing, and say what would go
    #[arg(long)]
    pub dry_run: bool,

    /// Also remove what is promised (--ttl, --per, --retry-after), and allow an age below the longest claim
    #[arg(long)]
    pub force: bool,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Count keys, attempts and calls, and say how long they take
///
/// Counts the keys by state and the attempts, says how old and how large they are,
/// and how long commands ran: the p50, p90 and p99, by namespace and by prefix. A
/// prefix is a key up to its first digit or one of - _ : / . @ #. The 20 with the
/// most attempts are told apart, and all others counted together.
///
/// The suggested lease, for --claim-ttl or for the --ttl of a lease, is 3 x p99, at
/// least 2s and rounded up.
///
/// With --log, the calls in that file are counted by verb, outcome and source, and
/// how long they spent in the store. Lines that are not about a call are skipped.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct StatsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,

    /// Print metrics in the text format of Prometheus
    #[arg(long, conflicts_with = "json")]
    pub prometheus: bool,
}

/// Look for what is wrong with the store and the machine, and change nothing
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Have N processes at once ask for one key, and as many test for a file, and count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=500))]
    pub race: Option<u16>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// A shell that completes what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShellArg {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
    /// elvish
    Elvish,
}

/// Print the completions of a shell
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: ShellArg,
}
