//! `show KEY`: what is known of a key.

use crate::cli::ShowArgs;
use crate::exit::{self, Ending};
use crate::report::{document, table};
use crate::store::Store as _;

use super::context::{Context, form, print_answer, print_document};

/// Shows a key; an absent one is an error of its own.
pub(super) fn run(context: &Context, args: &ShowArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(args.subject.kind(), args.subject.key.key())?;
    let attempts = match context.open_to_read()? {
        Some(mut store) => store.chain(&subject)?,
        None => Vec::new(),
    };
    let absent = attempts.is_empty();
    let (seen, now) = context.seen(attempts)?;
    if args.json {
        let document = document::key(&subject, &seen, &now);
        let shown = print_document(&document)?;
        return Ok(if absent { Ending::Status(exit::ABSENT) } else { shown });
    }
    if absent {
        return Err(context.absent(&subject));
    }
    print_answer(&table::show(&subject, &seen, &now, form()))
}
