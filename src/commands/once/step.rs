//! `step NAME -- COMMAND`: a step of an operation. It is a `once` of its own, in the
//! namespace that is the operation's alone, for as long as the attempt that it belongs to
//! holds its claim.

use crate::claim::attempt::{Attempt, State};
use crate::claim::decide::Request;
use crate::claim::id::Token;
use crate::claim::key::{Key, Kind, Subject};
use crate::cli::StepArgs;
use crate::exit::{self, Ending, Refusal};
use crate::report::line::CallOutcome;
use crate::report::sentences::Topic;
use crate::store::Store as _;

use super::super::Context;
use super::super::call::account::Account;
use super::super::call::environment::{held_above, key_above, token_above};
use super::super::script::settle::{Timeliness, found, timeliness};
use super::{Once, ask, conclude};

/// Runs the step, or gives its recorded end again.
pub(in crate::commands) fn step(context: &Context, args: StepArgs) -> anyhow::Result<Ending> {
    let name = args.name.name().clone();
    let (subject, attempt) = parent(context, args.token.token, &name)?;
    let mut account = Account::open(context, args.run.report.as_ref(), &subject)?;
    account.of_step(&name);
    if let Some(message) = why_lost(context, (&subject, &attempt), &name)? {
        account.settle(CallOutcome::Lost);
        let lost = Refusal { status: exit::LOST, message };
        return conclude(context, account, Err(lost.into()));
    }
    let args = args.as_once();
    let request = ask::request(context, &args).map(|request| Request {
        subject: Subject::step(attempt.operation, name),
        parent: Some(attempt.ownership(&subject)),
        ..request
    });
    let ending = request
        .and_then(|request| Once::new(context, &args, request, &mut account))
        .and_then(Once::run);
    conclude(context, account, ending)
}

/// The attempt that a step belongs to, and its key.
fn parent(
    context: &Context,
    named: Option<Token>,
    step: &Key,
) -> anyhow::Result<(Subject, Attempt)> {
    let (subject, attempt) = match named {
        Some(token) => {
            let (_, subject, attempt) = found(context, token, false)?;
            (subject, attempt)
        }
        None => around(context, step)?,
    };
    if subject.kind == Kind::Once {
        return Ok((subject, attempt));
    }
    let message = format!(
        "{}: that is no operation: a step belongs to a once, or to what begin has claimed",
        subject.key
    );
    Err(Refusal::usage(message).into())
}

/// Why no step can be started under an attempt, if none can.
fn why_lost(
    context: &Context,
    (subject, attempt): (&Subject, &Attempt),
    step: &Key,
) -> anyhow::Result<Option<String>> {
    if attempt.state != State::Running {
        return Ok(Some(lost_by(context, subject, step)));
    }
    Ok(match timeliness(context, subject.kind, attempt)? {
        Timeliness::InTime => None,
        Timeliness::Late => {
            let over = context.topic(subject).is_over(attempt);
            Some(format!("{over}; its step {step} was not started"))
        }
    })
}

/// What is said of a step whose operation has lost its claim.
fn lost_by(context: &Context, subject: &Subject, step: &Key) -> String {
    Topic { step: Some(step), ..context.topic(subject) }.parent_lost()
}

/// The operation that this call is part of: the claim of `DOUBLETAP_KEY` among those above.
fn around(context: &Context, step: &Key) -> anyhow::Result<(Subject, Attempt)> {
    let mut held = held_above();
    held.extend(token_above().and_then(|text| Token::parse(&text)));
    let Some(key) = key_above().filter(|_| !held.is_empty()) else {
        return Err(Refusal::usage(
            "a step belongs to an operation: run it inside a once, or after begin --format sh",
        )
        .into());
    };
    let subject = context.subject(
        Kind::Once,
        &Key::from_os(&key).map_err(|why| Refusal::usage(format!("DOUBLETAP_KEY: {why}")))?,
    )?;
    let chain = match context.open_existing()? {
        Some(mut store) => store.chain(&subject)?,
        None => Vec::new(),
    };
    let found = chain.into_iter().find(|attempt| held.contains(&attempt.token));
    found.map(|attempt| (subject.clone(), attempt)).ok_or_else(|| {
        let message = lost_by(context, &subject, step);
        Refusal { status: exit::LOST, message }.into()
    })
}
