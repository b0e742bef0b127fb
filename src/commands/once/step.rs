//! `step NAME -- COMMAND`: a step of an operation. It is a `once` of its own, in the
//! namespace that is the operation's alone, and is started only while the attempt that it
//! belongs to holds its claim. What it comes to counts for the operation even so.

use crate::claim::attempt::{Attempt, State};
use crate::claim::decide::Request;
use crate::claim::id::Token;
use crate::claim::key::{Key, Kind, Subject};
use crate::cli::StepArgs;
use crate::exit::{self, Ending, Refusal};
use crate::report::line::CallOutcome;
use crate::report::sentences::Topic;
use crate::store::Store;

use super::super::Context;
use super::super::call::account::Account;
use super::super::call::environment::{held_above, key_above, token_above};
use super::super::script::settle::{Timeliness, fence_of, found, timeliness};
use super::{Once, ask, conclude};

/// Runs the step, or gives its recorded end again.
pub(in crate::commands) fn step(context: &Context, args: StepArgs) -> anyhow::Result<Ending> {
    let name = args.name.name().clone();
    let Parent { mut store, subject, attempt } = parent(context, args.token.token, &name)?;
    let mut account = Account::open(context, args.run.report.as_ref(), &subject)?;
    account.of_step(&name);
    let why_lost = why_lost(context, &mut *store, (&subject, &attempt), &name)?;
    drop(store);
    if let Some(message) = why_lost {
        account.settle(CallOutcome::Lost);
        let lost = Refusal { status: exit::LOST, message };
        return conclude(context, account, Err(lost.into()));
    }
    let args = args.as_once();
    let step = Subject::step(attempt.operation, name);
    let request = ask::request(&args, step)
        .map(|request| Request { parent: Some(attempt.ownership(&subject)), ..request });
    let ending =
        request.map(|request| Once::new(context, &args, request, &mut account)).and_then(Once::run);
    conclude(context, account, ending)
}

/// The attempt that a step belongs to, and its key.
struct Parent {
    store: Box<dyn Store>,
    subject: Subject,
    attempt: Attempt,
}

fn parent(context: &Context, named: Option<Token>, step: &Key) -> anyhow::Result<Parent> {
    let (store, subject, attempt) = match named {
        Some(token) => found(context, token, false)?,
        None => around(context, step)?,
    };
    if subject.kind == Kind::Once {
        return Ok(Parent { store, subject, attempt });
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
    store: &mut dyn Store,
    (subject, attempt): (&Subject, &Attempt),
    step: &Key,
) -> anyhow::Result<Option<String>> {
    if attempt.state != State::Running {
        return Ok(Some(lost_by(context, subject, step)));
    }
    Ok(match timeliness(context, store, (subject.kind, attempt))? {
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

/// The operation that this call is part of: the innermost of the claims above us that is
/// one, by their tokens alone. A lease may lie between, in a namespace of its own.
fn around(context: &Context, step: &Key) -> anyhow::Result<(Box<dyn Store>, Subject, Attempt)> {
    let mut tokens: Vec<Token> =
        token_above().and_then(|text| Token::parse(&text)).into_iter().collect();
    tokens.extend(held_above().into_iter().rev());
    if tokens.is_empty() {
        return Err(Refusal::usage(
            "a step belongs to an operation: run it inside a once, or after begin --format sh and eval, or name the claim with --token",
        )
        .into());
    }
    if let Some(mut store) = context.open_existing()? {
        let mut not_one = None;
        for token in tokens {
            match store.find(token, fence_of(token))? {
                Some((subject, attempt)) if subject.kind == Kind::Once => {
                    return Ok((store, subject, attempt));
                }
                other => not_one = not_one.or(other),
            }
        }
        if let Some((subject, attempt)) = not_one {
            return Ok((store, subject, attempt));
        }
    }
    let what = key_above().map_or_else(String::new, |key| format!("{}: ", key.to_string_lossy()));
    let store = context.place();
    let message = format!(
        "{what}step {step}: not started: nothing is known of the claim that it belongs to in the store {store}"
    );
    Err(Refusal { status: exit::LOST, message }.into())
}
