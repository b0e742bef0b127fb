//! `--unresolved`: a person says how an interrupted attempt ended.

use crate::claim::attempt::State;
use crate::claim::holder::Life;
use crate::claim::key::Subject;
use crate::claim::outcome::Outcome;
use crate::cli::CompleteArgs;
use crate::exit::{self, Ending, Refusal};
use crate::store::Dropped;

use super::super::Context;

/// Records what a person found out.
pub(super) fn settle(
    context: &Context,
    subject: &Subject,
    args: &CompleteArgs,
) -> anyhow::Result<Ending> {
    let Some(mut store) = context.open_existing()? else {
        return Err(missing(context, subject));
    };
    let outcome = Outcome::Exited(args.exit_code);
    match store.settle(subject, outcome, &mut context.witness())? {
        Dropped::Yes => {
            context.voice.tell(|| context.topic(subject).settled(outcome));
            Ok(Ending::OK)
        }
        Dropped::Absent => Err(missing(context, subject)),
        Dropped::Resolved(attempt) => {
            let state = match attempt.state {
                State::Done => "its outcome is on record",
                State::Failed => "its newest attempt failed, and the next call runs again",
                _ => "it was forgotten, and the next call runs again",
            };
            let message = format!("{}: nothing is unresolved: {state}", subject.key);
            Err(Refusal { status: exit::LOST, message }.into())
        }
        Dropped::Held(attempt, life) => {
            let held = context.topic(subject).held(&attempt, life);
            let end = if life == Life::Orphaned { "end it, or wait for it: " } else { "" };
            let message = format!("{held}; {end}nothing is unresolved while it runs");
            Err(Refusal { status: exit::LOST, message }.into())
        }
    }
}

fn missing(context: &Context, subject: &Subject) -> anyhow::Error {
    let message =
        format!("{}: missing: there is no such key {}", subject.key, context.searched(subject));
    Refusal { status: exit::LOST, message }.into()
}
