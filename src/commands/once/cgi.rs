//! `cgi -- COMMAND`: a handler that a web server starts. A request with a key has its
//! effect once, and whoever repeats it gets the recorded response.
//!
//! It is a `once` whose key, namespace and fingerprint come from the request (`request`),
//! and whose output is a response (`answers`, `again`). Where the handler has no say, we
//! answer in its place: then our exit status is 0, since a server makes an error of its
//! own of any other.

pub(super) mod again;
pub(super) mod answers;
mod request;

use std::env;
use std::ffi::OsString;

use crate::claim::http::scope::Scope;
use crate::claim::http::{is_guarded, key_syntax, randomness};
use crate::claim::key::{Key, Kind, Subject};
use crate::cli::CgiArgs;
use crate::exit::{self, Ending, Refusal};
use crate::process::becoming::become_command;
use crate::process::launch::{Plan, Streams};
use crate::report::line::CallOutcome;
use crate::report::problem::Problem;
use crate::report::voice::{Voice, print};

use super::super::Context;
use super::super::call::account::{Account, Spoke};
use super::super::call::environment::Variables;
use super::super::call::running::describe_not_started;
use super::{Once, ask, conclude};
use answers::{Answers, Kept};
use request::{METHOD, Unusable, variable};

/// Handles the request, or gives its recorded response again.
#[inline(never)]
pub(in crate::commands) fn cgi(
    voice: Voice,
    handed_on: &Variables,
    context: impl FnOnce() -> anyhow::Result<Context>,
    args: CgiArgs,
) -> anyhow::Result<Ending> {
    let method = variable(METHOD);
    if method.is_empty() {
        excuse();
        return Err(Refusal::usage(
            "REQUEST_METHOD is not set: cgi is for a handler that a web server starts; for anything else: doubletap once --key-env VAR",
        )
        .into());
    }
    let header = variable(args.request.key_env());
    let is_keyless = header.trim_ascii().is_empty() && !args.request.require_key;
    if !is_guarded(&method) || is_keyless {
        return pass_through(&args.command, handed_on);
    }
    let context = match context() {
        Ok(context) => context,
        Err(error) => {
            voice.warn(&format!("{error:#}"));
            return refuse(&Problem::unavailable());
        }
    };
    let scope = Scope::of(args.request.scope_env(), &variable(args.request.scope_env()));
    match key(&args, &header, &scope) {
        Ok(key) => guarded(&context, args, &key, &scope),
        Err((problem, why)) => {
            voice.note(&why);
            refuse(&problem)
        }
    }
}

/// Leaves everything to the handler.
fn pass_through(argv: &[OsString], variables: &Variables) -> anyhow::Result<Ending> {
    let plan = Plan { argv, variables, late: &[], streams: Streams::Inherited };
    let Err(why) = become_command(plan, env::vars_os());
    excuse();
    let (status, message) = describe_not_started(argv, "cgi", &why);
    Err(Refusal { status, message }.into())
}

/// The key of a request that is to have one.
fn key(args: &CgiArgs, header: &[u8], scope: &Scope) -> Result<Key, (Problem, String)> {
    let variable = args.request.key_env();
    let key = match key_syntax::read(header) {
        Ok(Some(key)) => key,
        Ok(None) => {
            let why = format!("refused a request without a key: {variable} is unset or empty");
            return Err((Problem::missing_key(), why));
        }
        Err(why) => {
            let sentence = format!("refused a request because of its key, {variable}: {why}");
            return Err((Problem::bad_key(&why.to_string()), sentence));
        }
    };
    if args.request.require_random_key && *scope == Scope::Guest {
        randomness::check(key.as_str()).map_err(|why| {
            let sentence =
                format!("{key}: refused, because {} is unset and {why}", args.request.scope_env());
            (Problem::bad_key(&format!("{why}, and others could guess it")), sentence)
        })?;
    }
    Ok(key)
}

/// Handles a request that has a key.
fn guarded(context: &Context, args: CgiArgs, key: &Key, scope: &Scope) -> anyhow::Result<Ending> {
    let (subject, mut account) = match opened(context, &args, key, scope) {
        Ok(opened) => opened,
        Err(error) => {
            context.voice.warn(&format!("{key}: {error:#}"));
            return refuse(&Problem::unavailable());
        }
    };
    let statuses = args.response.record_status.clone().unwrap_or_default();
    let extent = if args.response.no_output { Kept::Status } else { Kept::Whole };
    let fingerprint =
        request::fingerprint(args.request.max_body(), &args.request.fingerprint, &args.command);
    let is_comparable = !matches!(fingerprint, Err(Unusable::Failed(_)));
    let args = args.as_once(key);
    let ending = match fingerprint {
        Ok(fingerprint) => ask::request_for(&args, subject, fingerprint)
            .map(|request| Once::new(context, &args, request, &mut account))
            .and_then(|once| {
                Once { answers: Some(Answers { statuses: &statuses, extent }), ..once }.run()
            }),
        Err(Unusable::Failed(error)) => Err(error),
        Err(Unusable::Bad(problem, why)) => {
            context.voice.note(&format!("{key}: refused a request: {why}"));
            account.settle(CallOutcome::Error);
            account.close(context);
            return answer(&problem);
        }
    };
    let outcome = account.outcome();
    let problem = match (&ending, outcome, account.has_spoken()) {
        // To what was sent nothing can be added; and told to end, we have nobody to answer to.
        (Err(_), _, Spoke::Yes) | (Ok(Ending::Signal(_)), ..) => None,
        (Err(error), ..) => {
            context.voice.warn(&format!("{key}: {error:#}"));
            Some(if is_comparable { Problem::unavailable() } else { Problem::incomparable() })
        }
        (_, Some(CallOutcome::Busy), _) if account.is_resting() => {
            Some(Problem::resting(account.comes_free_after()))
        }
        (_, Some(CallOutcome::Busy), _) => Some(Problem::outstanding(account.comes_free_after())),
        (_, Some(CallOutcome::Mismatch), _) => Some(Problem::reused_key()),
        (_, Some(CallOutcome::Unresolved), _) if account.is_exhausted() => {
            Some(Problem::exhausted())
        }
        (_, Some(CallOutcome::Unresolved), _) => Some(Problem::unresolved()),
        (_, Some(CallOutcome::Error), Spoke::No) => Some(Problem::not_run()),
        (_, Some(CallOutcome::Timeout), Spoke::No) => Some(Problem::too_slow()),
        (_, Some(CallOutcome::Lost), Spoke::No) => Some(Problem::stopped()),
        // Who has waited for an attempt that gave no answer is told what the first was told.
        (Ok(Ending::Status(status)), Some(CallOutcome::Replayed), Spoke::No) => match *status {
            exit::TIMEOUT => Some(Problem::too_slow()),
            exit::NOT_EXECUTABLE | exit::NOT_FOUND => Some(Problem::not_run()),
            _ => None,
        },
        _ => None,
    };
    let ending = conclude(context, account, ending);
    match problem {
        Some(problem) => answer(&problem),
        None => ending,
    }
}

/// What a request with this key is about, and its account.
fn opened(
    context: &Context,
    args: &CgiArgs,
    key: &Key,
    scope: &Scope,
) -> anyhow::Result<(Subject, Account)> {
    let namespace = scope.within(&context.namespace()?)?;
    let subject = Subject { kind: Kind::Once, namespace, key: key.clone() };
    let mut account = Account::open(context, args.report.as_ref(), &subject)?;
    account.of_cgi();
    Ok((subject, account))
}

/// Answers the server where nothing was run, if one has started us. The reason is for the
/// operator.
pub(in crate::commands) fn excuse() {
    if [METHOD, "GATEWAY_INTERFACE"].iter().any(|name| !variable(name).is_empty()) {
        // The exit status says it, too.
        let _ = refuse(&Problem::not_run());
    }
}

/// Answers a request of which nobody has read the body.
fn refuse(problem: &Problem) -> anyhow::Result<Ending> {
    request::drop_body();
    answer(problem)
}

/// Answers in place of the handler.
fn answer(problem: &Problem) -> anyhow::Result<Ending> {
    print(&problem.answer()?)?;
    Ok(Ending::OK)
}
