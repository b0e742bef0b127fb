//! `assert`: whether a claim or a lease is still good, in the middle of a long script.

use crate::claim::attempt::State;
use crate::cli::AssertArgs;
use crate::exit::Ending;
use crate::report::claims::Settlement;
use crate::store::row::lost_to;

use super::Context;
use super::script::settle::{Settling, Timeliness, found, timeliness, token};

/// Asks, and changes nothing.
pub(super) fn run(context: &Context, args: &AssertArgs) -> anyhow::Result<Ending> {
    let token = token(&args.token)?;
    let (mut store, subject, attempt) = found(context, token, args.json)?;
    let settling = Settling { context, subject: &subject, token, json: args.json };
    if attempt.state != State::Running {
        return settling.lost(Some(&mut *store), lost_to(attempt.state));
    }
    match timeliness(context, &mut *store, (subject.kind, &attempt))? {
        Timeliness::InTime => settling.done(Settlement::Held, (&attempt, Timeliness::InTime)),
        Timeliness::Late => settling.expired(&attempt),
    }
}
