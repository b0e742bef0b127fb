//! The rules that a command runs under: when it is stopped, and what we must not
//! do meanwhile.

use std::sync::Mutex;
use std::time::Duration;

use super::tenure::Tenure;

/// Held by whoever is in a store's transaction, and by nobody while we are
/// stopped: others must not wait for a lock of ours until somebody types `fg`.
pub type Transacting = Mutex<()>;

/// When a command is stopped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How long it may take to end once it is told to, before it is killed. By
    /// default ten seconds after a timeout or a loss, and for ever after a
    /// signal that was handed on: a graceful end takes the time it takes.
    pub kill_after: Option<Duration>,
    /// How long it may take to end once its claim is lost.
    pub after_loss: AfterLoss,
}

/// What becomes of a command whose claim is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterLoss {
    /// It is told to end, and has time to.
    #[default]
    Graceful,
    /// It is ended at once: somebody else may run already.
    AtOnce,
}

/// The rules that a command runs under.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// When it is stopped.
    pub limits: Limits,
    /// What is held while a store is written to.
    pub transacting: &'a Transacting,
    /// Until when it may run, where only that protects its claim.
    pub tenure: Option<&'a Tenure>,
}
