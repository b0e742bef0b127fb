//! `show KEY`: what is known of a key.

use crate::claim::attempt::Attempt;
use crate::claim::key::{Key, Kind};
use crate::cli::ShowArgs;
use crate::exit::{self, Ending};
use crate::report::{document, table};
use crate::store::Chain;

use super::context::{Context, form, print_answer, print_document};

/// Shows a key; an absent one is an error of its own.
pub(super) fn run(context: &Context, args: &ShowArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(args.subject.kind(), args.subject.key.key())?;
    let (attempts, steps) = match context.open_to_read()? {
        Some(mut store) => {
            let attempts = store.chain(&subject)?;
            // A forgotten key begins again with the first step.
            let newest = attempts.first().filter(|attempt| !attempt.is_tombstone());
            let operation = newest.filter(|_| subject.kind == Kind::Once).map(|a| a.operation);
            let steps = operation.map(|operation| store.steps(operation)).transpose()?;
            (attempts, steps.unwrap_or_default())
        }
        None => (Vec::new(), Vec::new()),
    };
    let absent = attempts.is_empty();
    let (names, newest): (Vec<_>, Vec<_>) = steps.into_iter().filter_map(newest_of).unzip();
    let (steps, _) = context.seen(newest)?;
    let steps: Vec<_> = names.iter().zip(&steps).collect();
    let (seen, now) = context.seen(attempts)?;
    if args.json {
        let document = document::key(&subject, &seen, &steps, &now);
        let shown = print_document(&document)?;
        return Ok(if absent { Ending::Status(exit::ABSENT) } else { shown });
    }
    if absent {
        return Err(context.absent(&subject));
    }
    print_answer(&table::show(&subject, &seen, &steps, (&now, form())))
}

/// The name of a step, and its newest attempt.
fn newest_of(step: Chain) -> Option<(Key, Attempt)> {
    Some((step.subject.key, step.attempts.into_iter().next()?))
}
