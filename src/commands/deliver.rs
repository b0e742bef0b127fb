//! What a call has left behind for the collector of traces: a verb that no person
//! calls, in a process that nobody waits for.

use std::env;
use std::time::Duration;

use anyhow::Context as _;

use crate::exit::Ending;
use crate::process::detached::{detach, end_after};
use crate::report::collector::Delivery;
use crate::report::proxy;

/// How long the collector may take, where nobody says.
const LIMIT: Duration = Duration::from_secs(4);

/// How long it may take, whatever anybody says.
const MOST: Duration = Duration::from_secs(60);

/// How long the process may live beyond that, whatever it hangs in.
const GRACE: Duration = Duration::from_secs(1);

/// Reads what is to be handed over, and does it.
pub(super) fn run() -> anyhow::Result<Ending> {
    let what = detach(LIMIT + GRACE).context("standard input")?;
    let delivery: Delivery = serde_json::from_slice(&what).context("standard input")?;
    let limit = delivery.limit_ms.map_or(LIMIT, Duration::from_millis).min(MOST);
    end_after(limit + GRACE);
    let proxy = proxy::of(&delivery.endpoint, variable);
    delivery.send(limit, proxy.as_deref()).context("the span could not be delivered")?;
    Ok(Ending::OK)
}

#[expect(clippy::disallowed_methods, reason = "these variables are not ours")]
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
