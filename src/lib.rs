//! doubletap makes shell scripts, cron jobs and CI steps safe to run twice.
//!
//! # Architecture
//!
//! Imports point downward only, and modules on one floor do not import each
//! other; a test reads the `use` lines.
//!
//! | floor | modules | what they are |
//! |---|---|---|
//! | 3 | [`commands`] | the use cases, one file per verb |
//! | 2 | [`store::sqlite`], [`store::memory`], [`store::postgres`](store), [`store::redis`](store), [`process`], [`report`] | the adapters: a file, servers, the machine, people |
//! | 1 | [`store`], [`cli`] | the contract of a store, and its rules over whatever keeps chains; the command line |
//! | 0 | [`claim`], [`exit`], [`place`], [`text`] | the rules, free of input and output; the numbers; where a store is; quoting |
//!
//! The way of a `once`: [`cli`] parses; [`commands::once`] makes a request,
//! opens the store and looks. [`claim::decide`] says what may be done, here
//! without a lock and again inside the claiming step of the store. A won
//! [`claim::held::Claim`] is the only thing that can record an outcome. While
//! the command runs, one thread owns it ([`process::supervise`]), one hands
//! its output on ([`process::capture`]), and one keeps the claim. A `lease` goes
//! the same way, captures nothing, and ends its command before its own time is
//! over ([`process::tenure`]). Whether another holder lives is asked of the kernel ([`process::live`]), through a
//! trait that stores are handed.
//!
//! A script that cannot be wrapped goes the same way in two calls. [`commands::begin`] and
//! [`commands::acquire`] claim, hand the token over and end, and the claim hangs on a process or
//! on time ([`claim::holder::Tie`]); [`commands::complete`], [`commands::fail`] and
//! [`commands::release`] find it again by its token, as a claim that has to be spent. A step is
//! a `once` whose namespace is its operation's alone ([`claim::key::Kind`]), and which asks
//! with every claim whether the attempt that it belongs to still holds its own. A request
//! that a web server hands to its handler (`cgi`) is one, too: [`claim::http`] reads whose it
//! is and what the response says of itself, and where the handler has no say
//! [`report::problem`] is the answer.

pub mod claim;
pub mod cli;
pub mod commands;
pub mod exit;
pub mod place;
pub mod process;
pub mod report;
pub mod store;
pub mod text;
