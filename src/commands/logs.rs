//! `logs KEY`: the output of a key's newest attempt, byte for byte, also of
//! one that failed, was interrupted, or runs, and until its end.

use std::io;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use crate::claim::attempt::{Attempt, Extent, OutputSummary, State};
use crate::claim::holder::Life;
use crate::claim::key::{Kind, Subject};
use crate::cli::LogsArgs;
use crate::exit::Ending;
use crate::place::Place;
use crate::process::frames::Stream;
use crate::process::source::Delivery;
use crate::process::wake::reader_leaves_within;
use crate::store::{Frames, Store, StoreError};

use super::Context;
use super::playing::{Follower, Played, Targets, play};

/// How long to wait between two looks at what has come.
const PAUSE: Duration = Duration::from_millis(100);

/// The same where nothing comes before the end.
const PAUSE_FOR_END: Duration = Duration::from_secs(1);

/// Prints what is there so far, or all until the attempt ends; an absent key is an
/// error of its own.
pub(super) fn run(context: &Context, args: &LogsArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(Kind::Once, args.key.key())?;
    let Some(mut store) = context.open_to_read()? else {
        return Err(context.absent(&subject));
    };
    let newest = newest(&mut *store, &subject)?;
    let mut attempt = newest.ok_or_else(|| context.absent(&subject))?;
    let targets = || match (args.stdout, args.stderr) {
        (true, _) => Targets::only(Stream::Out),
        (_, true) => Targets::only(Stream::Err),
        _ => Targets::both(),
    };
    let mut played = None;
    if args.follow {
        let looked = |why: anyhow::Error| why.context(format!("{}: its output", subject.key));
        played = follow(context, &mut *store, (&subject, &mut attempt), targets).map_err(looked)?;
    }
    if played.is_none() {
        let frames = store.output(attempt.fence)?;
        let play = |frames| targets().and_then(|targets| play(frames, targets));
        let given = frames.as_ref().map(play).transpose();
        played = given.with_context(|| format!("{}: its output", subject.key))?;
    }
    drop(store);
    tell(context, &subject, &attempt, played.as_ref())
}

/// Says what there is to say of what was given.
fn tell(
    context: &Context,
    subject: &Subject,
    attempt: &Attempt,
    played: Option<&Played>,
) -> anyhow::Result<Ending> {
    let key = &subject.key;
    let mut truncated = attempt.output().filter(|output| output.extent == Extent::Truncated);
    match played {
        Some(played) => {
            if let Delivery::Failed(why) = &played.delivery {
                return Err(anyhow!("{key}: its output could not be written: {why}"));
            }
            if let Some(output) = attempt.output().filter(|all| played.is_cut_short(all.bytes)) {
                return Err(anyhow!(
                    "{key}: its output is damaged: {} of its {} bytes are left",
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
            return Err(anyhow!("{key}: its output is missing from the store"));
        }
        None => context.voice.note(&format!("{key}: {}", nothing_of(context.place(), attempt))),
    }
    if let Some(output) = truncated {
        context.voice.note(&context.topic(subject).truncated(output));
    }
    Ok(Ending::OK)
}

/// Gives what an attempt writes until it ends, or until nobody wants it; nothing if
/// it ended before any of it was to be seen.
fn follow(
    context: &Context,
    store: &mut dyn Store,
    (subject, attempt): (&Subject, &mut Attempt),
    targets: impl Fn() -> io::Result<Targets>,
) -> anyhow::Result<Option<Played>> {
    let mut following: Option<Follower> = None;
    loop {
        // Looked at first: what it has written by its end is all there.
        let chain = store.chain(subject)?;
        let found = chain.into_iter().find(|found| found.fence == attempt.fence);
        let seen = match found {
            None => None,
            Some(found) => context.seen_alone(store, (subject, found))?,
        };
        let is_over = seen.is_none_or(|seen| {
            *attempt = seen.attempt.clone();
            seen.attempt.state != State::Running
                || seen.life == Life::Orphaned
                || !seen.counts(&context.now())
        });
        let pause = match context.place() {
            Place::File(_) => PAUSE,
            Place::Server(_) => PAUSE_FOR_END,
        };
        if pause == PAUSE
            && following.is_none()
            && !is_over
            && let Some(Frames::File(file, _)) = store.output(attempt.fence)?
        {
            following = Some(Follower::new(file, targets()?));
        }
        let is_unwanted = match &mut following {
            Some(follower) => follower.go_on()?.unwanted,
            None => false,
        };
        if is_over || is_unwanted || reader_leaves_within(pause) {
            let played = following.map(Follower::played);
            // A spool that could not be written is given up, and what was to be in it is in
            // the tables.
            return Ok(played.filter(|played| played.bytes > 0 || attempt.output().is_none()));
        }
    }
}

/// The newest attempt that ran.
fn newest(store: &mut dyn Store, subject: &Subject) -> Result<Option<Attempt>, StoreError> {
    let chain = store.chain(subject)?;
    Ok(chain.into_iter().find(|attempt| !attempt.is_tombstone()))
}

/// Why there is no output.
fn nothing_of(place: &Place, attempt: &Attempt) -> &'static str {
    match (attempt.state, place) {
        (State::Running, Place::Server(_)) => {
            "its output is on its own host until it ends; --follow waits for that"
        }
        (State::Running, Place::File(_)) => "nothing of its output is kept so far",
        _ => "none of its output was kept",
    }
}
