//! The machine: clocks, locks, processes and signals.
//!
//! `start` comes before everything, `clock` and `host` say when and where we are,
//! `live` and `group` who is alive, `launch` and `supervise` run a command, `capture`
//! and `source` hand on what it writes, `held_back` has the end of it wait, `recorder` and `frames` keep it, `drain` reads
//! on for a daemon, `detached` leaves a last thing to a process that nobody waits for,
//! `stdin` reads what a command is fed, `becoming` leaves everything to the command,
//! and `herd` lets many go at once. Nothing in here knows which store there is.

pub mod alarm;
pub mod ancestors;
pub mod becoming;
pub mod capture;
pub mod clock;
mod descendants;
#[cfg(feature = "otel")]
pub mod detached;
mod drain;
pub mod frames;
pub mod group;
pub mod held_back;
pub mod herd;
pub mod host;
pub mod launch;
pub mod live;
pub mod proc_stat;
mod raw;
pub mod recorder;
pub mod rules;
pub mod signals;
pub mod source;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod start;
pub mod stdin;
pub mod supervise;
mod suspension;
pub mod tenure;
pub mod wake;
mod watch;

pub use raw::duplicate;
