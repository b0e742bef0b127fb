//! What a call has left behind for the collector of traces: a verb that no person
//! calls, in a process that nobody waits for.

use std::time::Duration;

use anyhow::Context as _;

use crate::exit::Ending;
use crate::process::detached::detach;
use crate::report::collector::Delivery;

/// How long the collector may take.
const LIMIT: Duration = Duration::from_secs(4);

/// How long the process may live, whatever it hangs in.
const LIFE: Duration = Duration::from_secs(5);

/// Reads what is to be handed over, and does it.
pub(super) fn run() -> anyhow::Result<Ending> {
    let what = detach(LIFE).context("standard input")?;
    let delivery: Delivery = serde_json::from_slice(&what).context("standard input")?;
    delivery.send(LIMIT).context("the span could not be delivered")?;
    Ok(Ending::OK)
}
