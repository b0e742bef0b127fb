//! What a command finds in its environment.

use std::env;
use std::ffi::OsString;

use crate::claim::attempt::Attempt;
use crate::claim::fence::Fence;
use crate::claim::http::scope::is_reserved;
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Kind, Subject};
use crate::cli::Global;
#[cfg(feature = "otel")]
use crate::cli::REDACT_KEYS;

use super::super::Context;
use super::Call;

/// The variable that carries the tokens of all claims above a command.
const HELD: &str = "DOUBLETAP_HELD";

const KEY: &str = "DOUBLETAP_KEY";
const NAME: &str = "DOUBLETAP_NAME";
const NAMESPACE: &str = "DOUBLETAP_NAMESPACE";
pub(in crate::commands) const STORE: &str = "DOUBLETAP_STORE";
const TOKEN: &str = "DOUBLETAP_TOKEN";
const FENCE: &str = "DOUBLETAP_FENCE";
const ATTEMPT: &str = "DOUBLETAP_ATTEMPT";
const IDEMPOTENCY_KEY: &str = "DOUBLETAP_IDEMPOTENCY_KEY";

/// Every variable that a command may find, for the documents that are held to
/// this list.
pub const VARIABLES: [&str; 9] =
    [KEY, NAME, NAMESPACE, STORE, TOKEN, HELD, FENCE, ATTEMPT, IDEMPOTENCY_KEY];

/// Variables to be set for a command, or to be taken away from it.
pub(in crate::commands) type Variables = Vec<(&'static str, Option<OsString>)>;

/// The tokens of all claims above us.
#[expect(clippy::disallowed_methods, reason = "the wrapper above us wrote this variable")]
pub(in crate::commands) fn held_above() -> Vec<Token> {
    let held = env::var_os(HELD).unwrap_or_default();
    held.to_string_lossy().split(',').filter_map(Token::parse).collect()
}

/// The token of the innermost claim above us, as it was written.
#[expect(clippy::disallowed_methods, reason = "the claim above us wrote this variable")]
pub(in crate::commands) fn token_above() -> Option<String> {
    env::var(TOKEN).ok()
}

/// The fence of the innermost claim above us.
#[expect(clippy::disallowed_methods, reason = "the claim above us wrote this variable")]
pub(in crate::commands) fn fence_above() -> Option<Fence> {
    env::var(FENCE).ok()?.parse().ok().map(Fence)
}

/// The key of the operation that we are part of.
#[expect(clippy::disallowed_methods, reason = "the claim above us wrote this variable")]
pub(in crate::commands) fn key_above() -> Option<OsString> {
    env::var_os(KEY)
}

impl<R> Call<'_, R> {
    /// What the command finds in its environment, as far as it is known before
    /// the claim.
    pub(in crate::commands) fn variables(&self) -> Variables {
        self.variables_below(&held_above())
    }

    /// The same, below the claims with these tokens.
    pub(in crate::commands) fn variables_below(&self, above: &[Token]) -> Variables {
        let (own, parent) = (self.request.token, self.request.parent.as_ref());
        let token = parent.map_or(own, |parent| parent.token);
        let mut held: Vec<String> = above.iter().map(Token::to_string).collect();
        held.push(own.to_string());
        let mut variables = self.common_variables();
        variables
            .extend([(TOKEN, Some(token.to_string().into())), (HELD, Some(held.join(",").into()))]);
        variables.extend(parent.map(|parent| (FENCE, Some(parent.fence.0.to_string().into()))));
        #[cfg(feature = "otel")]
        variables.extend(self.trace_variables());
        variables
    }

    /// What a command without a claim finds: nothing of a claim above it, whose
    /// idempotency key would make its effects look like repetitions.
    pub(in crate::commands) fn unguarded_variables(&self) -> Variables {
        let mut variables = self.common_variables();
        variables.extend(without_claim(self.request.new_operation));
        #[cfg(feature = "otel")]
        variables.extend(self.trace_variables());
        variables
    }

    /// What tells the calls inside of the trace that they are part of, and what not to tell.
    #[cfg(feature = "otel")]
    fn trace_variables(&self) -> impl Iterator<Item = (&'static str, Option<OsString>)> {
        let redaction = redaction(self.context.redacts_keys());
        self.account.trace_variables().into_iter().chain(redaction)
    }

    fn common_variables(&self) -> Variables {
        // A step is of the key that it belongs to.
        let parent = self.request.parent.as_ref();
        let subject = parent.map_or(&self.request.subject, |parent| &parent.subject);
        let namespace = match self.context.named_namespace() {
            // Those of `cgi` are for nobody else: what a client calls a key must not be one
            // that its handler uses.
            named if is_reserved(&subject.namespace) => {
                named.map_or("default", |named| named.as_str())
            }
            _ => subject.namespace.as_str(),
        };
        vec![
            (name_of(subject), Some(subject.key.as_str().into())),
            (NAMESPACE, Some(namespace.into())),
            (STORE, Some(self.context.place().secret().into())),
        ]
    }
}

/// What has the calls inside tell a collector no keys, where this one does not.
#[cfg(feature = "otel")]
fn redaction(redacts_keys: bool) -> Option<(&'static str, Option<OsString>)> {
    redacts_keys.then(|| (REDACT_KEYS, Some("1".into())))
}

/// What even a command finds that has us out of its way.
#[cfg(feature = "otel")]
pub(in crate::commands) fn handed_on(global: &Global) -> Variables {
    redaction(global.traces.redact_keys).into_iter().collect()
}

/// The same in builds that tell no collector anything.
#[cfg(not(feature = "otel"))]
pub(in crate::commands) fn handed_on(_: &Global) -> Variables {
    Variables::new()
}

/// What a command finds that runs without a claim, and has no key.
pub(in crate::commands) fn keyless_variables(
    context: &Context,
    operation: OperationId,
) -> anyhow::Result<Variables> {
    let mut variables = vec![
        (KEY, None),
        (NAMESPACE, Some(context.namespace()?.as_str().into())),
        (STORE, Some(context.place().secret().into())),
    ];
    variables.extend(without_claim(operation));
    #[cfg(feature = "otel")]
    variables.extend(redaction(context.redacts_keys()));
    Ok(variables)
}

/// Nothing of a claim, and an idempotency key of its own.
fn without_claim(operation: OperationId) -> [(&'static str, Option<OsString>); 4] {
    let key = operation.to_string();
    [(TOKEN, None), (FENCE, None), (ATTEMPT, None), (IDEMPOTENCY_KEY, Some(key.into()))]
}

/// The variable that names what is claimed.
fn name_of(subject: &Subject) -> &'static str {
    match subject.kind {
        Kind::Once | Kind::Step => KEY,
        Kind::Lease => NAME,
    }
}

/// Variables whose values only the claim says. A lease begins no operation: what
/// runs under it belongs to the one above it, if there is one. A step has the fence of
/// the attempt that it belongs to, so that what looks at fences sees one that grows.
pub(super) fn late_names(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Once => &[FENCE, ATTEMPT, IDEMPOTENCY_KEY],
        Kind::Lease => &[FENCE],
        Kind::Step => &[ATTEMPT, IDEMPOTENCY_KEY],
    }
}

/// What the command finds in its environment, as far as only the claim says.
pub(in crate::commands) fn late_variables(
    attempt: &Attempt,
    kind: Kind,
) -> Vec<(&'static str, String)> {
    let value = |name| match name {
        FENCE => attempt.fence.0.to_string(),
        ATTEMPT => attempt.number.to_string(),
        _ => attempt.operation.to_string(),
    };
    late_names(kind).iter().map(|name| (*name, value(name))).collect()
}
