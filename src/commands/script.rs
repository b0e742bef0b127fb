//! What the verbs share that claim for a script, or spend such a claim by its token.
//!
//! `grant` claims and tells the token; `settle` finds what a token is good for and says
//! what became of it. The rules are those of a command under a claim: they are in
//! [`crate::claim::decide`] and in the stores.

pub(super) mod grant;
pub(super) mod settle;
