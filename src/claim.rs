//! The rules of claiming, free of any input or output.
//!
//! Everything here is a value or a function of values: what a key is, what an
//! attempt is, who holds it, what time means, and [`decide`](decide::decide),
//! the one function that says what a caller may do. Stores, processes and
//! verbs call in here; nothing in here calls out.

pub mod attempt;
pub mod canonical_json;
pub mod decide;
pub mod duration;
pub mod fence;
pub mod fingerprint;
pub mod held;
pub mod holder;
pub mod http;
pub mod id;
pub mod key;
pub mod outcome;
pub mod period;
pub mod run_times;
pub mod size;
pub mod standing;
pub mod survey;
pub mod time;
pub mod trace;

#[cfg(test)]
pub(crate) mod samples;
