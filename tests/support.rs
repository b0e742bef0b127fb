//! The stage every sentence plays on: a folder of its own ([`Scene`]), calls that
//! check stdout, stderr and status unless told otherwise ([`Call`]), and waiting
//! that is a rendezvous or a poll with a deadline, never a hopeful sleep.
//!
//! Nothing here knows how `doubletap` is built inside; it sees files, processes and
//! what the design page documents.

mod by_hand;
mod call;
mod checkup;
pub(crate) mod counting;
pub(crate) mod crontab;
pub(crate) mod damage;
mod expect;
mod gate;
mod metrics;
mod poll;
pub(crate) mod processes;
mod running;
mod scene;
pub(crate) mod servers;
mod stand_in;
mod stopped;
mod terminal;
mod wall_clock;

pub(crate) use by_hand::token_of;
pub(crate) use call::{Call, input as input_of, narrow_pipe};
pub(crate) use expect::Done;
pub(crate) use gate::Gate;
pub(crate) use metrics::Metrics;
pub(crate) use nix::sys::signal::Signal;
pub(crate) use poll::{finished, until};
pub(crate) use running::Running;
pub(crate) use scene::{BIN, Scene};
pub(crate) use stopped::Stopped;
pub(crate) use terminal::Terminal;
pub(crate) use wall_clock::{WallClock, dynamic};
