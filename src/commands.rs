//! The use cases: one file per verb.
//!
//! Each turns arguments into calls of a store and of the machine, and what
//! comes back into sentences and an exit status.

pub mod acquire;
mod asking;
pub mod assert;
pub mod begin;
mod call;
pub mod complete;
pub mod completions;
mod context;
#[cfg(feature = "otel")]
mod deliver;
pub mod doctor;
pub mod fail;
pub mod forget;
mod judging;
mod keeping;
pub mod keygen;
pub mod lease;
pub mod list;
pub mod logs;
pub mod once;
mod playing;
pub mod prune;
pub mod release;
pub mod renew;
mod script;
pub mod setup;
pub mod show;
pub mod stats;

use crate::cli::{Cli, Global, Reader, Stop, Verb};
use crate::exit::{self, Ending, Refusal};
use crate::process::signals::{die_of, survive_file_size_limit};
use crate::report::claims::refusal;
use crate::report::voice::{Voice, Volume, print};

pub use call::environment::VARIABLES;
use call::environment::handed_on;
#[cfg(feature = "otel")]
pub use call::trace::VARIABLES as TRACE_VARIABLES;
use context::Context;

/// Does what the command line says.
pub fn run(cli: Cli) -> Ending {
    survive_file_size_limit();
    let voice = Voice::new(match (cli.global.quiet, cli.global.verbose) {
        (true, _) => Volume::Quiet,
        (_, true) => Volume::Verbose,
        _ => Volume::Normal,
    });
    let context = |global| Context::new(global, voice);
    let reader = cli.verb.reader();
    let done = match cli.verb {
        Verb::Once(args) => context(cli.global).and_then(|context| once::run(&context, &args)),
        Verb::Lease(args) => context(cli.global).and_then(|context| lease::run(&context, &args)),
        verb => look_after(verb, voice, cli.global),
    };
    let ending = done.unwrap_or_else(|error| {
        voice.warn(&format!("{error:#}"));
        Ending::Status(status_of(&error))
    });
    tell(reader, ending);
    ending
}

/// The verbs that nobody calls a thousand times. Kept apart: whatever is in the way of a
/// replay is mapped with it.
#[inline(never)]
fn look_after(verb: Verb, voice: Voice, global: Global) -> anyhow::Result<Ending> {
    let handed_on = handed_on(&global);
    // Not made for the verbs that need no store, and no place for one.
    let context = || Context::new(global, voice);
    match verb {
        Verb::Once(args) => once::run(&context()?, &args),
        Verb::Lease(args) => lease::run(&context()?, &args),
        Verb::Show(args) => show::run(&context()?, &args),
        Verb::Logs(args) => logs::run(&context()?, &args),
        Verb::List(args) => list::run(&context()?, &args),
        Verb::Forget(args) => forget::run(&context()?, &args),
        Verb::Begin(args) => begin::run(&context()?, &args),
        Verb::Fail(args) => fail::run(&context()?, &args),
        Verb::Acquire(args) => acquire::run(&context()?, &args),
        Verb::Release(args) => release::run(&context()?, &args),
        Verb::Renew(args) => renew::run(&context()?, &args),
        Verb::Assert(args) => assert::run(&context()?, &args),
        Verb::Step(args) => once::step(&context()?, *args),
        Verb::Cgi(args) => once::cgi(voice, &handed_on, context, *args),
        Verb::Complete(args) => complete::run(&context()?, &args),
        Verb::Prune(args) => prune::run(&context()?, &args),
        Verb::Stats(args) => stats::run(&context()?, &args),
        Verb::Doctor(args) => doctor::run(&context()?, &args),
        Verb::Setup => setup::run(&context()?),
        Verb::Completions(args) => completions::run(&args),
        Verb::Keygen => keygen::run(),
        #[cfg(feature = "otel")]
        Verb::Deliver => deliver::run(),
    }
}

/// Tells a shell that evals what we print how we end, and a web server that its handler
/// has not been run.
fn tell(reader: Reader, ending: Ending) {
    match reader {
        Reader::Shell if ending != Ending::OK => {
            // One that is gone runs nothing of ours.
            let _ = print(&refusal(code(ending)));
        }
        Reader::Server => once::excuse(),
        Reader::Shell | Reader::Anybody => {}
    }
}

/// Ends a call that has nothing to do.
pub fn stop(stop: &Stop) -> Ending {
    match stop {
        Stop::Text(text) => match print(text) {
            Ok(()) => Ending::OK,
            Err(_) => Ending::Status(exit::FAILED),
        },
        Stop::Usage(message, reader) => {
            Voice::new(Volume::Normal).warn(message);
            let ending = Ending::Status(exit::USAGE);
            tell(*reader, ending);
            ending
        }
    }
}

/// Dies of the signal that told us to end, or says the exit status.
pub fn end(ending: &Ending) -> u8 {
    if let Ending::Signal(signal) = *ending {
        die_of(signal);
    }
    code(*ending)
}

/// The exit status that stands for it.
fn code(ending: Ending) -> u8 {
    match ending {
        Ending::Status(status) => status,
        Ending::Signal(signal) => 128_u8.saturating_add(signal),
    }
}

fn status_of(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<Refusal>().map_or(exit::FAILED, |refusal| refusal.status)
}
