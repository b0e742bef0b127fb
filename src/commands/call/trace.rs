//! The span of a call, for those who have a collector of traces. The variables are those
//! of the OpenTelemetry specification; an empty one is none.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::claim::id::to_hex;
use crate::claim::trace::TraceParent;
use crate::cli::DELIVER;
use crate::process::clock::since_1970;
use crate::process::detached::leave_behind;
use crate::report::collector::{Delivery, is_spoken};
use crate::report::line::Line;
use crate::report::span::{Keys, Span};
use crate::report::voice::Voice;
use crate::text::percent_decoded;

use super::super::Context;
use super::super::context::random;
use super::environment::Variables;

const TRACEPARENT: &str = "TRACEPARENT";
const TRACESTATE: &str = "TRACESTATE";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const ENDPOINT_OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const HEADERS_OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
const SERVICE: &str = "OTEL_SERVICE_NAME";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const DISABLED: &str = "OTEL_SDK_DISABLED";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";

/// Every variable that is read here, for the page that is held to this list.
pub const VARIABLES: [&str; 10] = [
    TRACEPARENT,
    TRACESTATE,
    ENDPOINT,
    ENDPOINT_OF_TRACES,
    HEADERS,
    HEADERS_OF_TRACES,
    SERVICE,
    RESOURCE,
    DISABLED,
    EXPORTER,
];

/// What a collector takes spans at, below the endpoint for everything.
const PATH: &str = "v1/traces";

/// A span that has begun.
pub(super) struct Trace {
    endpoint: String,
    own: TraceParent,
    parent: Option<TraceParent>,
    /// What the systems above have to say of the parent's trace.
    state: Option<String>,
    start: Duration,
    began: Instant,
}

impl Trace {
    /// Begins the span of a call, if somebody wants it.
    pub(super) fn begin(voice: Voice) -> Option<Self> {
        let (named_by, endpoint) = endpoint()?;
        if is_switched_off() {
            return None;
        }
        if !is_spoken(&endpoint) {
            // It may have a password in it.
            voice.tell(|| format!("no trace is sent: {named_by} is no http:// or https:// URL"));
            return None;
        }
        let parent = value(TRACEPARENT).and_then(|text| TraceParent::parse(&text));
        // What nobody records above is not recorded here.
        if parent.is_some_and(|parent| !parent.is_sampled()) {
            return None;
        }
        let (trace, [span @ .., _, _, _, _, _, _, _, _]) = (random().ok()?, random().ok()?);
        let own = parent.map_or(TraceParent::begin(trace, span), |parent| parent.below(span));
        let state = parent.and_then(|_| value(TRACESTATE));
        Some(Self { endpoint, own, parent, state, start: since_1970(), began: Instant::now() })
    }

    /// What the command finds of it, so that its own spans are below ours: nothing of what
    /// is said of another trace either.
    pub(super) fn variables(&self) -> Variables {
        let state = self.state.as_ref().map(OsString::from);
        vec![(TRACEPARENT, Some(self.own.to_string().into())), (TRACESTATE, state)]
    }

    /// Ends it, and leaves it to a process that nobody waits for.
    pub(super) fn send(self, context: &Context, line: &Line) {
        let voice = context.voice;
        let span = Span {
            own: self.own,
            parent: self.parent,
            state: self.state.unwrap_or_default(),
            start: self.start,
            end: self.start + self.began.elapsed(),
            resource: resource(voice),
            keys: if context.redacts_keys() { Keys::Redacted } else { Keys::Whole },
        };
        let digest = |key: &str| to_hex(&Sha256::digest(key));
        let delivery = Delivery {
            endpoint: self.endpoint,
            headers: headers(voice),
            body: span.request(line, digest).to_string(),
        };
        let left = serde_json::to_vec(&delivery)
            .map_err(io::Error::from)
            .and_then(|what| leave_behind(&program()?, DELIVER, ours(), &what));
        if let Err(why) = left {
            voice.tell(|| format!("no trace is sent: {why}"));
        }
    }
}

fn program() -> io::Result<PathBuf> {
    // Also where another file has taken our name since.
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { env::current_exe() }
}

/// The variables that are ours: tokens, and values that the options of a call have overruled,
/// of which the messenger would complain.
fn ours() -> impl Iterator<Item = OsString> {
    let names = env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.as_bytes().starts_with(b"DOUBLETAP_"))
}

/// Where spans go, and which variable says so.
fn endpoint() -> Option<(&'static str, String)> {
    let own = value(ENDPOINT_OF_TRACES).map(|url| (ENDPOINT_OF_TRACES, url));
    own.or_else(|| {
        let base = value(ENDPOINT)?;
        Some((ENDPOINT, format!("{}/{PATH}", base.trim_end_matches('/'))))
    })
}

fn is_switched_off() -> bool {
    let says = |name, word: &str| value(name).is_some_and(|is| is.eq_ignore_ascii_case(word));
    says(DISABLED, "true") || says(EXPORTER, "none")
}

fn headers(voice: Voice) -> Vec<(String, String)> {
    let mut headers = pairs(HEADERS, voice);
    for (name, value) in pairs(HEADERS_OF_TRACES, voice) {
        headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
        headers.push((name, value));
    }
    headers
}

fn resource(voice: Voice) -> Vec<(String, String)> {
    let mut resource = pairs(RESOURCE, voice);
    let is_name = |(name, _): &(String, String)| name == "service.name";
    if let Some(name) = value(SERVICE) {
        resource.retain(|pair| !is_name(pair));
        resource.push(("service.name".to_owned(), name));
    } else if !resource.iter().any(is_name) {
        resource.push(("service.name".to_owned(), "doubletap".to_owned()));
    }
    resource
}

/// `name=value,name=value`, percent-encoded. One that is wrong is left out, and nothing of it is
/// said but that: it may be a secret.
fn pairs(variable: &str, voice: Voice) -> Vec<(String, String)> {
    let text = value(variable).unwrap_or_default();
    let written = text.split(',').filter(|pair| !pair.trim_ascii().is_empty());
    let decoded = |text: &str| percent_decoded(text.trim_ascii()).ok();
    let read = written.filter_map(|pair| {
        let pair = pair.split_once('=').and_then(|(name, value)| {
            let (name, value) = (decoded(name)?, decoded(value)?);
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
            (is_name && !value.contains(char::is_control)).then_some((name, value))
        });
        if pair.is_none() {
            voice.tell(|| format!("{variable}: what is not NAME=VALUE is left out"));
        }
        pair
    });
    read.collect()
}

#[expect(clippy::disallowed_methods, reason = "these variables are not ours")]
fn value(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
