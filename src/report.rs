//! Every byte that doubletap itself writes: sentences for people on standard
//! error, JSON and tables on standard output, and report lines.

pub mod checkup;
pub mod claims;
#[cfg(feature = "otel")]
pub mod collector;
mod columns;
pub mod document;
pub mod form;
mod holding;
pub mod line;
pub mod log;
pub mod metrics;
pub mod problem;
pub mod progress;
#[cfg(feature = "otel")]
pub mod proxy;
pub mod sentences;
mod settling;
#[cfg(feature = "otel")]
pub mod span;
pub mod stats;
pub mod table;
pub mod unrecorded;
pub mod voice;
