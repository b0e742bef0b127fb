//! `fail KEY`: gives a key back for a retry, and keeps why.

use crate::claim::key::Kind;
use crate::claim::outcome::Outcome;
use crate::cli::FailArgs;
use crate::exit::Ending;
use crate::report::claims::Settlement;
use crate::store::Verdict;

use super::Context;
use super::script::settle::{Settling, token_for};

/// Spends the claim on a failure.
pub(super) fn run(context: &Context, args: &FailArgs) -> anyhow::Result<Ending> {
    let subject = &context.subject(Kind::Once, args.key.key())?;
    let settling = Settling {
        context,
        subject,
        token: token_for(context, subject, &args.token)?,
        json: args.json,
    };
    let ended = (Some(Outcome::Exited(args.exit_code)), args.reason.clone());
    settling.spend(Settlement::Failed, Verdict::Failed { rest: args.retry_after }, ended)
}
