//! What `doubletap` promises, as sentences: each test names one promise and starts
//! the real program. `support` holds the stage they play on.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

mod advice;
mod architecture;
mod contract;
mod crash;
mod daemons;
mod descriptors;
mod disk;
mod documents;
mod environment;
mod fail_open;
mod fingerprint;
mod fingerprint_json;
mod fingerprint_stdin;
mod forget;
mod forget_force;
mod forwarded;
mod full_screen;
mod hang_up;
mod herd;
mod inheritance;
mod inherited_signals;
mod inspect;
mod keyboard;
mod large_output;
mod logs;
mod lost;
mod max_output;
mod messages;
mod namespaces;
mod nested;
mod one_store;
mod operation;
mod orphans;
mod other_users;
mod parent_death;
mod periods;
mod permissions;
mod power_cut;
mod prune;
mod record;
mod refusal;
mod replay;
mod report;
mod report_files;
mod rerun;
mod retry;
mod signals;
mod situations;
mod slow_reader;
mod statuses;
mod stopped;
mod store_fails;
mod sync_order;
mod terminal;
mod timeout;
mod told_while_claiming;
mod transparent;
mod unresolved;
mod usage;
mod validate;
mod waiting;
