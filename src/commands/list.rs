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
    let chains = match context.open_to_read()? {
        Some(mut store) => store.chains(context.named_namespace())?,
        None => Vec::new(),
    };
    let mut documents = Vec::new();
    let mut list = List::default();
    for chain in chains {
        let (seen, now) = context.seen(chain.attempts)?;
        if !is_wanted(args, &chain.subject, &seen, &now) {
            continue;
        }
        if args.json {
            documents.push(document::key(&chain.subject, &seen, &[], &now));
        } else {
            list.push(&chain.subject, &seen, &now);
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
