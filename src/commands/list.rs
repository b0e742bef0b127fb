//! `list`: every key, the newest first.

use crate::claim::decide::Seen;
use crate::claim::key::Subject;
use crate::claim::standing::Standing;
use crate::claim::time::Now;
use crate::cli::ListArgs;
use crate::exit::Ending;
use crate::report::document;
use crate::report::table::List;

use super::context::{Context, form, print_answer, print_document};

/// Lists the keys of all namespaces, unless one is named.
pub(super) fn run(context: &Context, args: &ListArgs) -> anyhow::Result<Ending> {
    let mut documents = Vec::new();
    let mut list = List::default();
    if let Some(mut store) = context.open_to_read()? {
        for chain in store.chains(context.named_namespace())? {
            let subject = chain.subject.clone();
            let (seen, now) = context.seen_in(&mut *store, chain)?;
            // It may have been removed meanwhile.
            if seen.is_empty() || !is_wanted(args, &subject, &seen, &now) {
                continue;
            }
            if args.json {
                documents.push(document::key(&subject, &seen, &[], &now));
            } else {
                list.push(&subject, &seen, &now);
            }
        }
    }
    if args.json {
        return print_document(&documents);
    }
    print_answer(&list.table(form()))
}

fn is_wanted(args: &ListArgs, subject: &Subject, chain: &[Seen], now: &Now) -> bool {
    let state = || Standing::of_key(chain, subject.kind, now);
    // The newest attempt comes first.
    let age = || chain.first().map(|seen| seen.attempt.started.age(now.wall));
    args.kind().is_none_or(|kind| subject.kind == kind)
        && args.since.is_none_or(|since| age().is_some_and(|age| age <= since))
        && (args.state.is_empty() || args.state.contains(&state()))
}
