//! The command line: clap types, and one-line errors.
//!
//! Everything that can be wrong with an argument is found here, before a store
//! is opened. Everything after the first `--` is the command, byte for byte.

pub mod cgi;
pub mod key;
pub mod lease;
pub mod once;
pub mod operate;
pub mod run;
pub mod script;
#[cfg(any(feature = "postgres", feature = "redis"))]
pub mod server;
pub mod step;
#[cfg(feature = "otel")]
pub mod traces;
pub mod values;

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueHint};

use crate::claim::key::Namespace;
use crate::exit;
use crate::place::Place;

pub use cgi::CgiArgs;
pub use key::KeyArgs;
pub use lease::LeaseArgs;
pub use once::OnceArgs;
pub use operate::{
    CompletionsArgs, DoctorArgs, ForgetArgs, ListArgs, LogsArgs, PruneArgs, ShellArg, ShowArgs,
    StatsArgs,
};
pub use run::{RunArgs, WaitArgs};
pub use script::{
    AcquireArgs, AssertArgs, BeginArgs, CompleteArgs, FailArgs, FormatArg, ReleaseArgs, RenewArgs,
};
#[cfg(any(feature = "postgres", feature = "redis"))]
pub use server::ServerArgs;
pub use step::StepArgs;
#[cfg(feature = "otel")]
pub use traces::{DELIVER, REDACT_KEYS, TraceArgs};
pub use values::{LogPlace, SaidBy};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "doubletap",
    version,
    about = "Makes shell scripts, cron jobs and CI steps safe to run twice",
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What holds for every verb.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options that every verb takes, before or after its name.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Keep the state in this file, or on this server
    #[arg(long, global = true, env = "DOUBLETAP_STORE", hide_env_values = true, value_name = "PATH|URL", value_parser = values::store(), value_hint = ValueHint::AnyPath)]
    pub store: Option<Place>,

    /// Separate equal keys [default: default]
    #[arg(long, global = true, env = "DOUBLETAP_NAMESPACE", value_name = "NS", value_parser = values::namespace())]
    pub namespace: Option<Namespace>,

    /// Say nothing about a busy key or a take-over
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say on stderr what happened, replays included
    #[arg(short, long, global = true)]
    pub verbose: bool,

    /// Append one JSON line for each `once`, `lease` and `step` to this file
    #[arg(long, global = true, env = "DOUBLETAP_LOG", value_name = "FILE", value_parser = values::log(), value_hint = ValueHint::FilePath)]
    pub log: Option<LogPlace>,

    /// Label the caller in the report
    #[arg(long, global = true, env = "DOUBLETAP_SOURCE", value_name = "NAME")]
    pub source: Option<String>,

    /// Wait this long for the store itself [default: 10s]
    #[arg(long, global = true, value_name = "DUR", value_parser = values::positive)]
    store_timeout: Option<Duration>,

    /// What a store on a server is told besides.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    #[command(flatten)]
    pub server: ServerArgs,

    /// What is told to a collector of traces.
    #[cfg(feature = "otel")]
    #[command(flatten)]
    pub traces: TraceArgs,
}

impl Global {
    /// How long to wait for the store itself.
    pub fn store_timeout(&self) -> Duration {
        self.store_timeout.unwrap_or(Duration::from_secs(10))
    }
}

/// The verbs. Only the one that is called is built: building all of them takes
/// longer than looking a key up.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    /// Run a command once per key, and replay its output and exit status
    Once(Box<OnceArgs>),
    /// Run a command while holding a name, so that it never overlaps itself
    Lease(Box<LeaseArgs>),
    /// Claim a key for a script, which records the outcome with complete or fail
    Begin(BeginArgs),
    /// Record the outcome of what was begun, or say how an interrupted attempt ended
    Complete(CompleteArgs),
    /// Give a key back for a retry, and say why
    Fail(FailArgs),
    /// Hold a name for a script, which gives it back with release
    Acquire(AcquireArgs),
    /// Give back a name that was acquired
    Release(ReleaseArgs),
    /// Extend a claim or a lease from now on
    Renew(RenewArgs),
    /// Ask whether a claim or a lease is still good
    Assert(AssertArgs),
    /// Run a step of an operation, once, however often that is retried
    Step(Box<StepArgs>),
    /// Run a CGI handler once per idempotency key, and replay its HTTP response
    Cgi(Box<CgiArgs>),
    /// Show what is known of a key
    Show(ShowArgs),
    /// Print the output of a key's newest attempt, also while it runs
    Logs(LogsArgs),
    /// List the keys, the newest first
    List(ListArgs),
    /// Drop a key on purpose: the next call runs again
    Forget(ForgetArgs),
    /// Remove old records
    Prune(PruneArgs),
    /// Count keys, attempts and calls, and say how long they take
    Stats(StatsArgs),
    /// Look for what is wrong with the store and the machine, and change nothing
    Doctor(DoctorArgs),
    /// Create or migrate the store, which one on a server wants once
    Setup,
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print a random key
    Keygen,

    /// What we call ourselves, to hand a span to a collector
    #[cfg(feature = "otel")]
    #[command(name = DELIVER, hide = true)]
    Deliver,
}

impl Verb {
    /// Who reads what it prints.
    #[must_use]
    pub fn reader(&self) -> Reader {
        let format = match self {
            Self::Begin(args) => args.tell.format(),
            Self::Acquire(args) => args.tell.format(),
            _ => return Reader::Anybody,
        };
        if format == FormatArg::Sh { Reader::Shell } else { Reader::Anybody }
    }
}

/// The verbs that run a command.
const ONCE: &str = "once";
const LEASE: &str = "lease";
const STEP: &str = "step";
const CGI: &str = "cgi";

/// Whether a word is a verb.
#[must_use]
pub fn is_verb(word: &str) -> bool {
    Verb::has_subcommand(word)
}

/// Why nothing is to be done.
#[derive(Debug)]
pub enum Stop {
    /// A text was asked for: help or the version.
    Text(String),
    /// The arguments are wrong; a lower-case fragment in one line.
    Usage(String, Reader),
}

/// Who reads what is printed on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// People and programs.
    Anybody,
    /// A shell that evals it: where it finds nothing it would go on.
    Shell,
    /// A web server that waits for a response, where one has started us.
    Server,
}

impl Reader {
    /// Who it is for as far as that can be told of arguments that are wrong.
    fn of(args: &[OsString]) -> Self {
        let mut own = args.iter().take_while(|arg| *arg != "--").peekable();
        if own.clone().filter_map(|arg| arg.to_str()).find(|arg| is_verb(arg)) == Some(CGI) {
            return Self::Server;
        }
        let is_claim = args
            .get(1..)
            .is_some_and(|args| args.iter().any(|arg| arg == "begin" || arg == "acquire"));
        let mut is_sh = false;
        while let Some(arg) = own.next() {
            is_sh |= arg == "--format=sh";
            is_sh |= arg == "--format" && own.peek().is_some_and(|form| *form == "sh");
        }
        if is_claim && is_sh { Self::Shell } else { Self::Anybody }
    }
}

/// Reads the command line.
///
/// # Errors
/// [`Stop`] when there is nothing to do, or when the arguments are wrong.
pub fn parse(args: &[OsString]) -> Result<Cli, Stop> {
    let parsed = match args.get(1).and_then(|verb| verb.to_str()) {
        Some(ONCE) => parse_verb(ONCE, args, Verb::Once),
        Some(LEASE) => parse_verb(LEASE, args, Verb::Lease),
        _ => parse_as::<Cli>(Cli::command(), args.iter()),
    };
    let cli = parsed.map_err(|error| stop(&error, args))?;
    let (verb, command) = match &cli.verb {
        Verb::Once(once) => (ONCE, &once.run.command),
        Verb::Lease(lease) => (LEASE, &lease.run.command),
        Verb::Step(step) => (STEP, &step.run.command),
        Verb::Cgi(cgi) => (CGI, &cgi.command),
        _ => return Ok(cli),
    };
    if command.first().is_some_and(|word| word.is_empty()) {
        let message =
            format!("COMMAND is empty (is a shell variable unset?); see doubletap {verb} --help");
        return Err(Stop::Usage(message, Reader::of(args)));
    }
    Ok(cli)
}

/// Reads the command line of a verb that runs a command. The result is what [`Cli`]
/// makes of it, without the time that looking for a verb takes: that is a good part
/// of a replay.
fn parse_verb<A: Args>(
    verb: &'static str,
    args: &[OsString],
    wrap: impl FnOnce(Box<A>) -> Verb,
) -> Result<Cli, clap::Error> {
    let args = args.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, arg)| arg);
    let call = parse_as::<VerbCall<A>>(verb_alone::<A>(verb), args)?;
    Ok(Cli { global: call.global, verb: wrap(Box::new(call.args)) })
}

/// A verb as a command line of its own.
fn verb_alone<A: Args>(verb: &'static str) -> clap::Command {
    VerbCall::<A>::command().name(verb).bin_name(format!("doubletap {verb}"))
}

fn parse_as<'a, P: Parser>(
    mut command: clap::Command,
    args: impl Iterator<Item = &'a OsString>,
) -> Result<P, clap::Error> {
    let matches = command.try_get_matches_from_mut(args);
    matches.and_then(|mut matches| P::from_arg_matches_mut(&mut matches))
}

// A verb and what holds for every verb. Not a doc comment: that would be the help.
#[derive(Debug, Parser)]
struct VerbCall<A: Args> {
    #[command(flatten)]
    global: Global,
    #[command(flatten)]
    args: A,
}

fn stop(error: &clap::Error, args: &[OsString]) -> Stop {
    let message = match error.kind() {
        ErrorKind::DisplayVersion => return Stop::Text(error.to_string()),
        ErrorKind::DisplayHelp => return Stop::Text(format!("{error}\n{}", exit_statuses())),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "what is to be done? see doubletap --help".to_owned()
        }
        ErrorKind::MissingRequiredArgument if is_untied(error) => {
            "a claim has to hang on something: on the script with --pid $$, or on time with --claim-ttl 1h; see doubletap begin --help".to_owned()
        }
        ErrorKind::UnknownArgument => {
            missing_dashes(error, args).unwrap_or_else(|| one_line(error, args))
        }
        _ => one_line(error, args),
    };
    Stop::Usage(message, Reader::of(args))
}

/// The end of every help text.
fn exit_statuses() -> String {
    let lines = exit::ALL.iter().map(|(number, meaning)| format!("  {number:>3}  {meaning}\n"));
    let lines: String = lines.collect();
    format!("Exit status: the command's own, and\n{lines}")
}

/// The first paragraph of what clap says, in one line and without its label.
fn one_line(error: &clap::Error, args: &[OsString]) -> String {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    let command = Cli::command();
    let verb = args
        .iter()
        .filter_map(|arg| arg.to_str())
        .find(|arg| command.get_subcommands().any(|verb| verb.get_name() == *arg));
    let help = verb.map_or_else(|| "--help".to_owned(), |verb| format!("{verb} --help"));
    format!("{line}; see doubletap {help}")
}

/// Whether nothing says what a claim hangs on.
fn is_untied(error: &clap::Error) -> bool {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|arg| arg.contains("--pid")),
        _ => false,
    }
}

/// A command without the `--` before it looks like an argument too many.
fn missing_dashes(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let takes_command =
        args.iter().any(|arg| [ONCE, LEASE, STEP, CGI].iter().any(|verb| arg == verb));
    let has_dashes = args.iter().any(|arg| arg == "--");
    if word.starts_with('-') || !takes_command || has_dashes {
        return None;
    }
    let at = args.iter().position(|arg| arg.to_str() == Some(word.as_str()))?;
    let quoted = |words: &[OsString]| {
        let words = words.iter().map(|word| crate::text::quote(&word.to_string_lossy()));
        words.collect::<Vec<_>>().join(" ")
    };
    Some(format!(
        "a command goes after --: doubletap {} -- {}",
        quoted(args.get(1..at)?),
        quoted(args.get(at..)?)
    ))
}

/// The program of a command.
#[must_use]
pub fn first_word(command: &[OsString]) -> &OsStr {
    command.first().map_or(OsStr::new(""), OsString::as_os_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of the help, in an order that both ways share.
    fn help_of(mut command: clap::Command) -> (String, Vec<String>) {
        let help = command.render_long_help().to_string();
        let mut lines: Vec<_> = help.lines().map(str::to_owned).collect();
        let first = lines.remove(0);
        lines.sort();
        (first, lines)
    }

    #[test]
    fn a_verb_that_is_read_alone_has_the_help_that_it_has_among_the_others() {
        let alone = [(ONCE, verb_alone::<OnceArgs>(ONCE)), (LEASE, verb_alone::<LeaseArgs>(LEASE))];
        for (name, command) in alone {
            let mut all = Cli::command();
            all.build();
            let among = all.find_subcommand(name).expect("the verb").clone();
            assert_eq!(help_of(command), help_of(among));
        }
    }
}
