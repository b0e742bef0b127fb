//! The span of a call, as the OpenTelemetry protocol has it in JSON: ids are hexadecimal
//! digits, and numbers of 64 bits are strings.

use std::time::Duration;

use serde_json::{Value, json};

use crate::claim::http::scope::is_reserved;
use crate::claim::id::to_hex;
use crate::claim::key::Namespace;
use crate::claim::trace::TraceParent;

use super::line::{CallOutcome, Line};

/// A part of what we do ourselves, as the protocol counts kinds.
const INTERNAL: u8 = 1;

/// The call has failed, as the protocol counts statuses.
const ERROR: u8 = 2;

/// How much of a key is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// All of it.
    Whole,
    /// Its digest.
    Redacted,
}

/// A span, but for what the report line says.
#[derive(Clone, Debug)]
pub struct Span {
    /// The span itself.
    pub own: TraceParent,
    /// What it hangs below.
    pub parent: Option<TraceParent>,
    /// What the systems above have to say, handed on as it came.
    pub state: String,
    /// When the call began, since 1970.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
    /// What the spans are of: `service.name` and whatever else is known.
    pub resource: Vec<(String, String)>,
    /// How much of a key is told.
    pub keys: Keys,
}

impl Span {
    /// The request that hands the span of this call to a collector.
    #[must_use]
    pub fn request(&self, line: &Line, digest: impl Fn(&str) -> String) -> Value {
        let resource: Vec<_> =
            self.resource.iter().map(|(name, value)| text(name, value)).collect();
        let mut span = json!({
            "traceId": to_hex(&self.own.trace),
            "spanId": to_hex(&self.own.span),
            "flags": self.own.flags,
            "name": format!("doubletap.{}", line.verb),
            "kind": INTERNAL,
            "startTimeUnixNano": self.start.as_nanos().to_string(),
            "endTimeUnixNano": self.end.as_nanos().to_string(),
            "attributes": self.attributes(line, digest),
            "status": status(line),
        });
        if let Some(parent) = &self.parent {
            span["parentSpanId"] = to_hex(&parent.span).into();
        }
        if !self.state.is_empty() {
            span["traceState"] = self.state.as_str().into();
        }
        let scope = json!({ "name": "doubletap", "version": line.version });
        json!({ "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": scope, "spans": [span] }],
        }] })
    }

    fn attributes(&self, line: &Line, digest: impl Fn(&str) -> String) -> Vec<Value> {
        let named = |name: &str, key: &Option<String>| {
            key.as_ref().map(|key| match self.keys {
                Keys::Whole => text(&format!("doubletap.{name}"), key),
                Keys::Redacted => text(&format!("doubletap.{name}_sha256"), &digest(key)),
            })
        };
        let known = [
            named("key", &line.key),
            named("step", &line.step),
            Some(match self.keys {
                // It says whose a request is.
                Keys::Redacted if is_of_request(&line.namespace) => {
                    text("doubletap.namespace_sha256", &digest(&line.namespace))
                }
                _ => text("doubletap.namespace", &line.namespace),
            }),
            Some(text("doubletap.outcome", line.outcome.as_str())),
            line.attempt.map(|attempt| number("doubletap.attempt", attempt)),
            line.fence.map(|fence| number("doubletap.fence", fence)),
            line.exit_code.map(|code| number("doubletap.exit_code", code)),
            line.signal.map(|signal| number("doubletap.signal", signal)),
            line.source.as_ref().map(|source| text("doubletap.source", source)),
        ];
        known.into_iter().flatten().collect()
    }
}

fn is_of_request(namespace: &str) -> bool {
    Namespace::new(namespace).is_ok_and(|namespace| is_reserved(&namespace))
}

fn text(name: &str, value: &str) -> Value {
    json!({ "key": name, "value": { "stringValue": value } })
}

fn number(name: &str, value: impl Into<i64>) -> Value {
    json!({ "key": name, "value": { "intValue": value.into().to_string() } })
}

/// A key that somebody else holds is nobody's failure, and neither is it that nothing is
/// recorded of a success for which no key was wanted.
fn status(line: &Line) -> Value {
    match line.outcome {
        CallOutcome::Ran | CallOutcome::Replayed | CallOutcome::Busy => json!({}),
        CallOutcome::NotRecorded if line.key.is_none() && line.exit_code == Some(0) => json!({}),
        CallOutcome::Mismatch
        | CallOutcome::Unresolved
        | CallOutcome::Failed
        | CallOutcome::Refused
        | CallOutcome::Timeout
        | CallOutcome::Lost
        | CallOutcome::NotRecorded
        | CallOutcome::Error => json!({ "code": ERROR, "message": line.outcome.as_str() }),
    }
}
