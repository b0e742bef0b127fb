//! `forget KEY`: drops a key on purpose, so that the next call runs again.

use crate::claim::holder::{Life, Tie};
use crate::cli::ForgetArgs;
use crate::exit::{self, Ending, Refusal};
use crate::store::{Dropped, Force};

use super::Context;

/// Drops a key; a living holder needs `--force`, and is named.
pub(super) fn run(context: &Context, args: &ForgetArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(args.subject.kind(), args.subject.key.key())?;
    let Some(mut store) = context.open_existing()? else {
        return Err(context.absent(&subject));
    };
    let force = if args.force { Force::Yes } else { Force::No };
    match store.forget(&subject, force, &mut context.witness())? {
        Dropped::Yes => Ok(Ending::OK),
        Dropped::Absent | Dropped::Resolved(_) => Err(context.absent(&subject)),
        Dropped::Held(attempt, life) => {
            let held = context.topic(&subject).held(&attempt, life);
            let remedy = match (life, attempt.tie) {
                (Life::Orphaned, _) => "end it, or use --force",
                (_, Tie::Wrapper) => "to drop it and end what it runs: --force",
                // Nobody but the script itself can end what it does.
                _ => "to drop it, while what it does goes on: --force",
            };
            let message = format!("{held}; {remedy}");
            Err(Refusal { status: exit::BUSY, message }.into())
        }
    }
}
