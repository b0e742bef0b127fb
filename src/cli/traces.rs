//! Options about traces, in builds that send them.

use clap::Args;
use clap::builder::FalseyValueParser;

/// What stands in for the option, and is handed on to the calls inside.
pub const REDACT_KEYS: &str = "DOUBLETAP_REDACT_KEYS";

/// What is told to a collector of traces.
#[derive(Args, Clone, Debug)]
pub struct TraceArgs {
    /// Name keys by their SHA-256 in traces
    #[arg(long, global = true, env = REDACT_KEYS, hide_env_values = true, value_parser = FalseyValueParser::new())]
    pub redact_keys: bool,
}

/// What only we call, and nobody is told of.
pub const DELIVER: &str = "deliver-span";
