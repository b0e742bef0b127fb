//! `begin KEY`: claims a key for a script, which says later how it ended.

use std::time::Duration;

use anyhow::Context as _;

use crate::claim::attempt::CommandSummary;
use crate::claim::decide::{Request, Terms};
use crate::claim::id::{OperationId, Token};
use crate::cli::BeginArgs;
use crate::exit::{Ending, Refusal};
use crate::place::Place;

use super::asking::{fingerprint, past};
use super::context::{Context, random};
use super::script::grant::{claimant, grant};

/// Claims, and prints the token.
pub(super) fn run(context: &Context, args: &BeginArgs) -> anyhow::Result<Ending> {
    let key = args.key.key();
    if let (Place::Server(_), None) = (context.place(), args.tie.claim_ttl) {
        let message = format!(
            "{key}: nobody on another host can see that a process is gone: say for how long it may be held, too, as in --claim-ttl 1h; see doubletap begin --help"
        );
        return Err(Refusal::usage(message).into());
    }
    let request = Request {
        subject: context.subject_to_claim(key)?,
        token: Token(random()?),
        new_operation: OperationId(random()?),
        fingerprint: fingerprint(None, &args.fingerprint).with_context(|| key.to_string())?,
        command: CommandSummary { word: "begin".to_owned(), words: 0 },
        // Without one nothing is to end at any time.
        lease: args.tie.claim_ttl.unwrap_or(Duration::ZERO),
        parent: None,
        terms: Terms::Once(past(&args.history)),
    };
    let claimant = claimant(context, args.tie.pid, args.tie.claim_ttl)?;
    grant(context, request, claimant, (&args.waits, args.tell.format()))
}
