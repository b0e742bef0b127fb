//! `prune --older-than DUR`: removes finished keys in bulk.

use crate::claim::duration::for_people;
use crate::cli::PruneArgs;
use crate::exit::{Ending, Refusal};
use crate::report::document::SweepDocument;
use crate::report::progress::Progress;
use crate::store::{Promised, Sweep, SweepMode, Swept, Unlooked};

use super::context::{Context, print_answer, print_document};

/// Removes finished keys of all namespaces, unless one is named.
pub(super) fn run(context: &Context, args: &PruneArgs) -> anyhow::Result<Ending> {
    let swept = match context.open_existing()? {
        None => Swept::default(),
        Some(mut store) => {
            let longest = store.longest_lease()?;
            if args.older_than < longest && !args.force {
                return Err(Refusal::usage(format!(
                    "--older-than {} reaches into the longest claim of this store ({}), whose holder could still come back; prune older ones, or use --force",
                    for_people(args.older_than),
                    for_people(longest)
                ))
                .into());
            }
            let sweep = Sweep {
                namespace: context.named_namespace().cloned(),
                older_than: args.older_than,
                promised: if args.force { Promised::Included } else { Promised::Spared },
                unlooked: Unlooked::in_place(context.place()),
                mode: if args.dry_run { SweepMode::Count } else { SweepMode::Remove },
            };
            let done = if args.dry_run { "counted" } else { "removed" };
            let mut progress = Progress::new(context.voice);
            store.sweep(&sweep, &mut |so_far| {
                progress.show(|| format!("{} keys {done} so far", so_far.keys));
            })?
        }
    };
    if args.json {
        let Swept { keys, attempts } = swept;
        let document = SweepDocument { keys, attempts, dry_run: args.dry_run };
        return print_document(&document);
    }
    let sentence =
        |verb: &str| format!("{} keys with {} attempts {verb}", swept.keys, swept.attempts);
    if args.dry_run {
        return print_answer(&(sentence("would be removed") + "\n"));
    }
    context.voice.tell(|| sentence("removed"));
    Ok(Ending::OK)
}
