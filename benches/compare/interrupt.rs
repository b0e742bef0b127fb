//! Ends the bench between two rounds when it is told to end, so that its files, gigabytes of them,
//! are removed as at any other end.
//!
//! A `^C` reaches the processes of the round, too: the round fails, which is an end as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether INT or TERM has come.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes the signals from here on. Processes that are started have them as usual.
    pub(crate) fn listen() -> Result<Self> {
        let told = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&told)).context("cannot listen to signals")?;
        }
        Ok(Self(told))
    }

    /// Fails once one of them has come.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(!self.0.load(Ordering::Relaxed), "told to end by a signal");
        Ok(())
    }
}
