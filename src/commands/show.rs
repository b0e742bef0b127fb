//! `show KEY`: what is known of a key.

use crate::claim::decide::Seen;
use crate::claim::key::{Key, Kind, Subject};
use crate::cli::ShowArgs;
use crate::exit::{self, Ending};
use crate::report::{document, table};
use crate::store::{Chain, Store, StoreError};

use super::context::{Context, form, print_answer, print_document};

/// Shows a key; an absent one is an error of its own.
pub(super) fn run(context: &Context, args: &ShowArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(args.subject.kind(), args.subject.key.key())?;
    let (seen, steps) = match context.open_to_read()? {
        Some(mut store) => look(context, &mut *store, &subject)?,
        None => (Vec::new(), Vec::new()),
    };
    let (absent, now) = (seen.is_empty(), context.now());
    let steps: Vec<_> = steps.iter().map(|(name, seen)| (name, seen)).collect();
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

/// The names of steps, each with its newest attempt.
type Steps = Vec<(Key, Seen)>;

/// The attempts of a key, and the newest of each step of its operation.
fn look(
    context: &Context,
    store: &mut dyn Store,
    subject: &Subject,
) -> Result<(Vec<Seen>, Steps), StoreError> {
    let attempts = store.chain(subject)?;
    let (seen, _) = context.seen_in(store, Chain { subject: subject.clone(), attempts })?;
    // A forgotten key begins again with the first step.
    let newest = seen.first().map(|seen| &seen.attempt).filter(|newest| !newest.is_tombstone());
    let operation = newest.filter(|_| subject.kind == Kind::Once).map(|newest| newest.operation);
    let mut steps = Vec::new();
    for step in operation.map_or_else(|| Ok(Vec::new()), |operation| store.steps(operation))? {
        let Some(newest) = step.attempts.into_iter().next() else { continue };
        if let Some(seen) = context.seen_alone(store, (&step.subject, newest))? {
            steps.push((step.subject.key, seen));
        }
    }
    Ok((seen, steps))
}
