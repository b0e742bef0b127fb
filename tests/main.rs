//! What `doubletap` promises, as sentences: each test names one promise and starts
//! the real program. `support` holds the stage they play on.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

mod architecture;
mod contract;
mod crash;
mod disk;
mod documents;
mod environment;
mod fail_open;
mod fingerprint;
mod forget;
mod herd;
mod inspect;
mod messages;
mod namespaces;
mod nested;
mod operation;
mod other_users;
mod permissions;
mod power_cut;
mod prune;
mod record;
mod refusal;
mod replay;
mod report;
mod rerun;
mod retry;
mod signals;
mod statuses;
mod stopped;
mod transparent;
mod unresolved;
mod usage;
mod waiting;
