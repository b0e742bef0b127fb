//! Options that only a store on a server has a use for, in builds that know one.

use clap::Args;

/// What a store on a server is told besides.
#[derive(Args, Clone, Debug)]
pub struct ServerArgs {
    /// Create or migrate a store on a server where that is needed, as setup does
    #[arg(long, global = true)]
    pub auto_setup: bool,

    /// Have so many replicas of a Redis acknowledge each claim, renewal and record [default: 0]
    #[cfg(feature = "redis")]
    #[arg(long, global = true, env = "DOUBLETAP_REDIS_WAIT", value_name = "N")]
    pub redis_wait: Option<u32>,
}
