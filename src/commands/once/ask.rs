//! Turns the arguments of a call into a request.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use crate::claim::attempt::CommandSummary;
use crate::claim::decide::{OnceTerms, Request, Rerun, Terms};
use crate::claim::fingerprint::Fingerprint;
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Key, Subject};
use crate::cli::once::KeySource;
use crate::cli::{OnceArgs, first_word};
use crate::exit::Refusal;
use anyhow::Context as _;

use super::super::asking::{fingerprint, past};
use super::super::context::random;
use super::super::keeping::calendar;

/// The key of this call; nothing where there is none, and none is needed.
#[expect(clippy::disallowed_methods, reason = "the caller names the variable that has the key")]
pub(super) fn key(args: &OnceArgs) -> anyhow::Result<Option<Key>> {
    let name = match args.key.source() {
        KeySource::Given(key) => return Ok(Some(key.clone())),
        KeySource::Variable(name) => name,
    };
    // A header of blanks is one without a value (RFC 9110, section 5.5).
    let is_some = |value: &OsString| !value.as_bytes().trim_ascii().is_empty();
    match env::var_os(name).filter(is_some) {
        Some(value) => Key::from_os(&value)
            .map(Some)
            .map_err(|why| Refusal::usage(format!("--key-env {name}: {why}")).into()),
        None if args.if_key => Ok(None),
        None => Err(Refusal::usage(format!(
            "--key-env {name}: it is unset or empty, so there is no key; to run without one, unguarded: --if-key"
        ))
        .into()),
    }
}

/// What this call asks for, about this.
pub(super) fn request(args: &OnceArgs, subject: Subject) -> anyhow::Result<Request> {
    let fingerprint = fingerprint(Some(&args.run.command), &args.outcome.fingerprint)
        .with_context(|| subject.key.to_string())?;
    request_for(args, subject, fingerprint)
}

/// The same for what this is the fingerprint of.
pub(super) fn request_for(
    args: &OnceArgs,
    subject: Subject,
    fingerprint: Fingerprint,
) -> anyhow::Result<Request> {
    Ok(Request {
        subject,
        token: Token(random()?),
        new_operation: OperationId(random()?),
        fingerprint,
        command: CommandSummary {
            word: first_word(&args.run.command).to_string_lossy().into_owned(),
            words: u32::try_from(args.run.command.len()).unwrap_or(u32::MAX),
        },
        lease: args.claim_ttl(),
        parent: None,
        terms: Terms::Once(terms(args)?),
    })
}

/// How the operation is to run once.
fn terms(args: &OnceArgs) -> anyhow::Result<OnceTerms> {
    Ok(OnceTerms {
        rerun: if args.rerun { Rerun::Yes } else { Rerun::No },
        calendar: calendar(&args.keep)?,
        ..past(&args.outcome.history)
    })
}
