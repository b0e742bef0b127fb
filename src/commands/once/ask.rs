//! Turns the arguments of a call into a request.

use crate::claim::attempt::CommandSummary;
use crate::claim::decide::{OnceTerms, Request, Rerun, Terms};
use crate::claim::id::{OperationId, Token};
use crate::claim::key::Kind;
use crate::claim::time::WallMs;
use crate::cli::{OnceArgs, first_word};
use anyhow::Context as _;

use super::super::asking::{fingerprint, past};
use super::super::context::{Context, random};

/// What this call asks for.
pub(super) fn request(context: &Context, args: &OnceArgs) -> anyhow::Result<Request> {
    Ok(Request {
        subject: context.subject(Kind::Once, args.key.key())?,
        token: Token(random()?),
        new_operation: OperationId(random()?),
        fingerprint: fingerprint(Some(&args.run.command), &args.outcome.fingerprint)
            .with_context(|| args.key.key().to_string())?,
        command: CommandSummary {
            word: first_word(&args.run.command).to_string_lossy().into_owned(),
            words: u32::try_from(args.run.command.len()).unwrap_or(u32::MAX),
        },
        lease: args.claim_ttl(),
        parent: None,
        terms: Terms::Once(terms(args, None)),
    })
}

/// How the operation is to run once, in the calendar period that began then.
pub(super) fn terms(args: &OnceArgs, since: Option<WallMs>) -> OnceTerms {
    OnceTerms {
        rerun: if args.rerun { Rerun::Yes } else { Rerun::No },
        since,
        ..past(&args.outcome.history)
    }
}
