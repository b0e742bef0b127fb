//! Options about traces, in builds that send them.

use clap::Args;

/// What is told to a collector of traces.
#[derive(Args, Clone, Debug)]
pub struct TraceArgs {
    /// Name keys by their SHA-256 in traces
    #[arg(long, global = true)]
    pub redact_keys: bool,
}

/// What only we call, and nobody is told of.
pub const DELIVER: &str = "deliver-span";
