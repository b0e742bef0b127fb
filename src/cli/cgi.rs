//! `cgi [options] -- COMMAND [ARG…]`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::claim::duration::Limit;
use crate::claim::http::statuses::Statuses;
use crate::claim::key::Key;
use crate::claim::size::SizeLimit;

use super::once::{HistoryArgs, KeepArgs, OnceArgs, OutcomeArgs};
use super::run::{RunArgs, WaitArgs};
use super::values::{self, ReportTarget, RequestPart};

/// What is asked of a request.
#[derive(Args, Debug)]
pub struct RequestArgs {
    /// Take the key from this variable of the server [default: that of the header Idempotency-Key]
    #[arg(long, value_name = "VAR", value_parser = values::variable)]
    key_env: Option<String>,

    /// Two values of this variable never share a key [default: the user's name]
    #[arg(long, value_name = "VAR", value_parser = values::variable)]
    scope_env: Option<String>,

    /// Refuse a POST, PATCH or DELETE without a key
    #[arg(long)]
    pub require_key: bool,

    /// Of callers without a user, refuse keys that are short or could be guessed
    #[arg(long)]
    pub require_random_key: bool,

    /// Compare the body as JSON (`json`), or this too, such as `env:NAME`
    #[arg(long, value_name = "WHAT", value_parser = values::request_part)]
    pub fingerprint: Vec<RequestPart>,

    /// Refuse a larger body, or none for no limit [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::size_limit)]
    max_body: Option<SizeLimit>,
}

/// What is kept of a response.
#[derive(Args, Debug)]
pub struct ResponseArgs {
    /// Replay the recorded response for this long, or forever [default: until it is pruned]
    #[arg(long, value_name = "DUR", value_parser = values::ttl)]
    ttl: Option<Limit>,

    /// Record these HTTP statuses [default: 2xx, 3xx, and 4xx but 408, 409, 425 and 429]
    #[arg(long, value_name = "LIST", value_parser = values::statuses)]
    pub record_status: Option<Statuses>,

    /// Keep this much of a response, or none for no limit [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::size_limit, conflicts_with = "no_output")]
    max_output: Option<SizeLimit>,

    /// Keep only the status of a response, for private answers
    #[arg(long)]
    pub no_output: bool,
}

/// Run a CGI handler once per idempotency key, and replay its HTTP response
#[derive(Args, Debug)]
#[command(override_usage = "doubletap cgi [OPTIONS] -- COMMAND [ARG]...")]
pub struct CgiArgs {
    /// What is asked of a request.
    #[command(flatten)]
    pub request: RequestArgs,

    /// What is kept of a response.
    #[command(flatten)]
    pub response: ResponseArgs,

    /// While the key is busy, wait up to this long, or forever
    #[arg(short, long, value_name = "DUR", value_parser = values::wait)]
    wait: Option<Limit>,

    /// What to do after earlier attempts.
    #[command(flatten)]
    history: HistoryArgs,

    /// After a failure, keep the key busy for this long
    #[arg(long, value_name = "DUR", value_parser = values::any_duration)]
    retry_after: Option<Duration>,

    /// How long a claim lasts unless it is renewed [default: 60s]
    #[arg(long, value_name = "DUR", value_parser = values::claim_ttl)]
    claim_ttl: Option<Duration>,

    /// End the handler after this long; that is a failure
    #[arg(long, value_name = "DUR", value_parser = values::positive)]
    timeout: Option<Duration>,

    /// Kill a handler that was told to end and has not after this long
    /// [default: 10s after --timeout, never after a signal]
    #[arg(long, value_name = "DUR", value_parser = values::any_duration)]
    kill_after: Option<Duration>,

    /// If the store cannot be used, run unguarded and say so
    #[arg(long)]
    fail_open: bool,

    /// Write one JSON line about this call to FILE or fd:N
    #[arg(long, value_name = "FILE", value_parser = values::report())]
    pub report: Option<ReportTarget>,

    /// The handler and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl RequestArgs {
    /// The variable that has the key.
    pub fn key_env(&self) -> &str {
        self.key_env.as_deref().unwrap_or("HTTP_IDEMPOTENCY_KEY")
    }

    /// The variable that says whose key it is.
    pub fn scope_env(&self) -> &str {
        self.scope_env.as_deref().unwrap_or("REMOTE_USER")
    }

    /// The most bytes of a body; nothing for no limit.
    pub fn max_body(&self) -> Option<u64> {
        match self.max_body {
            None => Some(16 << 20),
            Some(SizeLimit::Bytes(bytes)) => Some(bytes),
            Some(SizeLimit::None) => None,
        }
    }
}

impl CgiArgs {
    /// The same as a call of `once`, of which this is one.
    #[must_use]
    pub fn as_once(self, key: &Key) -> OnceArgs {
        let keep = KeepArgs { ttl: self.response.ttl, ..KeepArgs::default() };
        let outcome = OutcomeArgs::of(self.history, self.retry_after, self.response.max_output);
        let run = RunArgs {
            waits: WaitArgs::up_to(self.wait),
            timeout: self.timeout,
            kill_after: self.kill_after,
            report: self.report,
            command: self.command,
        };
        let once = OnceArgs::new(key, keep, outcome, run);
        OnceArgs { claim_ttl: self.claim_ttl, fail_open: self.fail_open, ..once }
    }
}
