//! A call that has no key, and may run without one (`--if-key`).

use crate::claim::id::OperationId;
use crate::claim::key::Kind;
use crate::cli::OnceArgs;
use crate::cli::once::KeySource;
use crate::exit::Ending;
use crate::process::wake::Waker;

use super::super::Context;
use super::super::call::account::Account;
use super::super::call::environment::keyless_variables;
use super::super::call::unguarded::Unguarded;
use super::super::context::random;
use super::conclude;

/// Says so, and runs the command unguarded.
#[inline(never)]
pub(super) fn run(context: &Context, args: &OnceArgs) -> anyhow::Result<Ending> {
    let title = match args.key.source() {
        KeySource::Given(key) => key.to_string(),
        KeySource::Variable(name) => format!("--key-env {name}"),
    };
    let mut account = Account::open_without_key(context, args.run.report.as_ref(), Kind::Once)?;
    context.voice.warn(&format!("{title}: running unguarded, because it is unset or empty"));
    let operation = OperationId(random()?);
    let ending = keyless_variables(context, operation).and_then(|variables| {
        #[cfg(feature = "otel")]
        let variables = variables.into_iter().chain(account.trace_variables()).collect();
        Unguarded { context, run: &args.run, title: &title, variables, pump: None }.run(
            None,
            &mut Waker::default(),
            &mut account,
        )
    });
    conclude(context, account, ending)
}
