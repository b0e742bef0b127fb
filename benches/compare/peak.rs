//! The most memory that a program has had at any moment of its life.
//!
//! The kernel keeps this number itself, and tells it to whoever waits for the program: nothing is
//! sampled, and nothing that happens at the very end is missed. But `getrusage(2)` tells a parent
//! only the largest of all its children ever. So the bench starts itself once more to be the
//! parent of that one program, see [`parent`].
//!
//! The number covers the program and those it has waited for, each alone. A program also counts
//! what its parent had when it started it (the kernel keeps the mark through `exec`), so nothing
//! can come out smaller than the bench itself, which is about 1 MiB.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};

use crate::run;

/// What the bench is told, as its first argument, to be such a parent.
pub(crate) const PARENT: &str = "--parent-of";

/// Returns a command that runs another one and writes its peak to the file `peak`.
pub(crate) fn watched(command: &Command, peak: &str) -> Result<Command> {
    let mut parent = run::command(&std::env::current_exe()?);
    parent.args([PARENT, peak]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => parent.env(name, value),
            None => parent.env_remove(name),
        };
    }
    Ok(parent)
}

/// Reads what the parent wrote, in KiB.
pub(crate) fn read_kib(peak: &str) -> Result<u64> {
    let text = fs::read_to_string(peak).with_context(|| format!("cannot read {peak}"))?;
    text.parse().with_context(|| format!("{peak}: {text:?} is no number"))
}

/// Is the parent: runs the program, which has the streams and the environment that it has itself.
pub(crate) fn parent(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let peak = arguments.next().context("the file for the peak is missing")?;
    let program = arguments.next().context("the program is missing")?;
    let mut command = run::inheriting(Path::new(&program));
    command.args(arguments);
    run::one(command)?;
    let kib = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    fs::write(&peak, kib.to_string()).with_context(|| format!("cannot write {peak}"))
}
