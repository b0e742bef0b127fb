//! `logs KEY`: the output of a key's newest attempt, byte for byte, also of
//! one that runs, failed or was interrupted.

use anyhow::{Context as _, anyhow};

use crate::claim::attempt::{Attempt, Extent, OutputSummary, State};
use crate::claim::key::Kind;
use crate::cli::LogsArgs;
use crate::exit::Ending;
use crate::process::frames::Stream;
use crate::process::source::Delivery;
use crate::store::Store as _;

use super::Context;
use super::playing::{Targets, play};

/// Prints what is there so far; an absent key is an error of its own.
pub(super) fn run(context: &Context, args: &LogsArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(Kind::Once, args.key.key())?;
    let Some(mut store) = context.open_to_read()? else {
        return Err(Context::absent(&subject));
    };
    let chain = store.chain(&subject)?;
    let Some(attempt) = chain.iter().find(|attempt| !attempt.is_tombstone()) else {
        return Err(Context::absent(&subject));
    };
    let targets = || match (args.stdout, args.stderr) {
        (true, _) => Targets::only(Stream::Out),
        (_, true) => Targets::only(Stream::Err),
        _ => Targets::both(),
    };
    let frames = store.output(attempt.fence)?;
    drop(store);
    let mut truncated = attempt.output().filter(|output| output.extent == Extent::Truncated);
    match &frames {
        Some(frames) => {
            let played = targets().and_then(|targets| play(frames, targets));
            let played = played.with_context(|| format!("{}: its output", subject.key))?;
            if let Delivery::Failed(why) = played.delivery {
                return Err(anyhow!("{}: its output could not be written: {why}", subject.key));
            }
            if let Some(output) = attempt.output().filter(|all| played.is_cut_short(all.bytes)) {
                return Err(anyhow!(
                    "{}: its output is damaged: {} of its {} bytes are left",
                    subject.key,
                    played.bytes,
                    output.bytes
                ));
            }
            if attempt.output().is_none() && played.was_cut {
                let extent = Extent::Truncated;
                truncated = Some(OutputSummary { bytes: played.bytes, extent });
            }
        }
        None if attempt.output().is_some_and(|output| output.bytes > 0) => {
            return Err(anyhow!("{}: its output is missing from the store", subject.key));
        }
        None => context.voice.note(&format!("{}: {}", subject.key, nothing_of(attempt))),
    }
    if let Some(output) = truncated {
        context.voice.note(&context.topic(&subject).truncated(output));
    }
    Ok(Ending::OK)
}

/// Why there is no output.
fn nothing_of(attempt: &Attempt) -> &'static str {
    match attempt.state {
        State::Running => "nothing of its output is kept so far",
        _ => "none of its output was kept",
    }
}
