//! The servers and hosts that the sentences about other stores play on.
//!
//! Every sentence that needs a server stands in a module called `servers` and is
//! ignored with the names of the packages it needs, so that a machine without them
//! says what was left out. `.ci/run` has them and runs them all.

mod endings;
mod hosts;
mod postgres;
mod redis;
