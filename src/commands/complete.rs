//! `complete KEY --unresolved`: says how an interrupted attempt ended.

use crate::claim::decide::{Busy, BusyWhy};
use crate::claim::key::Subject;
use crate::claim::outcome::Outcome;
use crate::claim::time::Clock as _;
use crate::cli::CompleteArgs;
use crate::exit::{self, Ending, Refusal};
use crate::report::sentences;
use crate::store::{Dropped, Store as _};

use super::Context;

/// Records what a person found out.
pub(super) fn run(context: &Context, args: &CompleteArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(args.key.key())?;
    let Some(mut store) = context.open_existing()? else {
        return Err(missing(&subject));
    };
    let outcome = Outcome::Exited(args.exit_code);
    match store.settle(&subject, outcome, &mut context.live_file())? {
        Dropped::Yes => Ok(Ending::OK),
        Dropped::Absent => Err(missing(&subject)),
        Dropped::Resolved(attempt) => Err(Refusal {
            status: exit::LOST,
            message: format!(
                "{}: nothing is unresolved: its newest attempt is {}",
                subject.key,
                attempt.state.as_str()
            ),
        }
        .into()),
        Dropped::Held(attempt, life) => {
            let busy = Busy { attempt, why: BusyWhy::Held(life), retry_after: None };
            let message = sentences::busy(&subject, &busy, context.clock.now().wall);
            Err(Refusal { status: exit::LOST, message }.into())
        }
    }
}

fn missing(subject: &Subject) -> anyhow::Error {
    let message = format!(
        "{}: missing: there is no such key in namespace {}",
        subject.key, subject.namespace
    );
    Refusal { status: exit::LOST, message }.into()
}
