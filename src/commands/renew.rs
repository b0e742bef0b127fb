//! `renew`: extends a claim or a lease from now on. Never resurrects, and never takes back.

use crate::claim::attempt::{Attempt, State};
use crate::claim::holder::Life;
use crate::cli::RenewArgs;
use crate::exit::Ending;
use crate::report::claims::Settlement;
use crate::store::Owned;
use crate::store::row::lost_to;

use super::Context;
use super::script::settle::{Settling, found, timeliness, token};

/// Extends what the token is for.
pub(super) fn run(context: &Context, args: &RenewArgs) -> anyhow::Result<Ending> {
    let token = token(&args.token)?;
    let (mut store, subject, attempt) = found(context, token, args.json)?;
    let settling = Settling { context, subject: &subject, token, json: args.json };
    if attempt.state != State::Running {
        return settling.lost(Some(&mut *store), lost_to(attempt.state));
    }
    if args.claim_ttl.is_some() {
        settling.require_script(&mut *store, &attempt)?;
    }
    let timeliness = timeliness(context, &mut *store, (subject.kind, &attempt))?;
    if is_gone(context, &attempt)? {
        // No time brings a process back.
        return settling.expired(&attempt);
    }
    let (owner, limit) = (attempt.ownership(&subject), context.store_timeout());
    let renewed = match args.claim_ttl {
        Some(lease) => store.renew_for(&owner, lease, limit)?,
        None => store.renew(&owner, limit)?,
    };
    match renewed {
        Owned::Yes => {
            store.tidy_by_turns();
            settling.done(Settlement::Renewed, (&attempt, timeliness))
        }
        Owned::Lost(why) => settling.lost(Some(&mut *store), why),
    }
}

/// Whether what the claim hangs on is gone.
fn is_gone(context: &Context, attempt: &Attempt) -> anyhow::Result<bool> {
    let (seen, _) = context.seen(vec![attempt.clone()])?;
    Ok(seen.iter().any(|seen| seen.life == Life::Gone))
}
