//! `forget KEY`: drops a key on purpose, so that the next call runs again.

use crate::claim::decide::{Busy, BusyWhy};
use crate::claim::time::Clock as _;
use crate::cli::ForgetArgs;
use crate::exit::{self, Ending, Refusal};
use crate::report::sentences;
use crate::store::{Dropped, Force, Store as _};

use super::Context;

/// Drops a key; a living holder needs `--force`, and is named.
pub(super) fn run(context: &Context, args: &ForgetArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(args.key.key())?;
    let Some(mut store) = context.open_existing()? else {
        return Err(Context::absent(&subject));
    };
    let force = if args.force { Force::Yes } else { Force::No };
    match store.forget(&subject, force, &mut context.live_file())? {
        Dropped::Yes => Ok(Ending::OK),
        Dropped::Absent | Dropped::Resolved(_) => Err(Context::absent(&subject)),
        Dropped::Held(attempt, life) => {
            let busy = Busy { attempt, why: BusyWhy::Held(life), retry_after: None };
            let sentence = sentences::busy(&subject, &busy, context.clock.now().wall);
            let message = format!("{sentence}; to drop it all the same: --force");
            Err(Refusal { status: exit::BUSY, message }.into())
        }
    }
}
