//! What every verb is told that claims, and that runs a command under a claim.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::claim::duration::Limit;
use crate::exit;

use super::values::{self, ReportTarget};

/// What every verb is told that may find what it wants busy.
#[derive(Args, Debug, Default)]
pub struct WaitArgs {
    /// While it is busy, wait up to this long, or forever
    #[arg(short, long, value_name = "DUR", value_parser = values::wait, conflicts_with = "nonblock")]
    pub wait: Option<Limit>,

    /// Do not wait (the default)
    #[arg(short, long)]
    pub nonblock: bool,

    /// Exit with this status when it is busy [default: 75]
    #[arg(short = 'E', long, value_name = "N")]
    conflict_exit_code: Option<u8>,
}

impl WaitArgs {
    /// To wait for so long.
    pub(super) fn up_to(wait: Option<Limit>) -> Self {
        Self { wait, ..Self::default() }
    }

    /// Whether a status was named for a busy key that means something else where a claim is
    /// made by hand: that it is there, or that it is done already.
    #[must_use]
    pub fn misleads(&self) -> bool {
        matches!(self.conflict_exit_code, Some(0 | exit::ALREADY_DONE))
    }

    /// The exit status when it is busy.
    pub fn conflict_exit_code(&self) -> u8 {
        self.conflict_exit_code.unwrap_or(exit::BUSY)
    }
}

/// What every verb is told that runs a command under a claim.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// What to do while it is busy.
    #[command(flatten)]
    pub waits: WaitArgs,

    /// End the command after this long; that is a failure
    #[arg(long, value_name = "DUR", value_parser = values::positive)]
    pub timeout: Option<Duration>,

    /// Kill a command that was told to end and has not after this long
    /// [default: 10s after --timeout, never after a signal]
    #[arg(long, value_name = "DUR", value_parser = values::any_duration)]
    pub kill_after: Option<Duration>,

    /// Write one JSON line about this call to FILE or fd:N
    #[arg(long, value_name = "FILE", value_parser = values::report())]
    pub report: Option<ReportTarget>,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
