//! `release NAME`: gives back a name that was acquired.

use crate::claim::key::Kind;
use crate::cli::ReleaseArgs;
use crate::exit::Ending;
use crate::report::claims::Settlement;
use crate::store::Verdict;

use super::Context;
use super::script::settle::{Settling, token_for};

/// Gives the name back.
pub(super) fn run(context: &Context, args: &ReleaseArgs) -> anyhow::Result<Ending> {
    let subject = &context.subject(Kind::Lease, args.name.name())?;
    let settling = Settling {
        context,
        subject,
        token: token_for(context, subject, &args.token)?,
        json: args.json,
    };
    settling.spend(Settlement::Released, Verdict::Released, (None, None))
}
