//! `acquire NAME`: holds a name for a script, which gives it back.

use crate::claim::attempt::CommandSummary;
use crate::claim::decide::{Request, Terms};
use crate::claim::fingerprint::Fingerprint;
use crate::claim::id::{OperationId, Token};
use crate::claim::key::Kind;
use crate::cli::AcquireArgs;
use crate::exit::Ending;

use super::context::{Context, random};
use super::script::grant::{claimant, grant};

/// Acquires, and prints the token.
pub(super) fn run(context: &Context, args: &AcquireArgs) -> anyhow::Result<Ending> {
    let request = Request {
        subject: context.subject(Kind::Lease, args.name.name())?,
        token: Token(random()?),
        new_operation: OperationId(random()?),
        fingerprint: Fingerprint::of(Vec::new()),
        command: CommandSummary { word: "acquire".to_owned(), words: 0 },
        lease: args.ttl,
        parent: None,
        terms: Terms::Lease(args.slots.terms()),
    };
    let claimant = claimant(context, args.pid, Some(args.ttl))?;
    grant(context, request, claimant, (&args.waits, args.tell.format()))
}
