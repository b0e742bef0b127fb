//! The span of a call, for those who have a collector of traces.

mod settings;

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::claim::http::scope::is_reserved;
use crate::claim::id::to_hex;
use crate::claim::key::{Kind, Subject};
use crate::claim::trace::TraceParent;
use crate::cli::DELIVER;
use crate::process::clock::since_1970;
use crate::process::detached::leave_behind;
use crate::report::collector::Delivery;
use crate::report::line::Line;
use crate::report::span::{Keys, Span};
use crate::report::voice::Voice;

use super::super::Context;
use super::super::context::random;
use super::environment::Variables;
use settings::{HTTP_TRACEPARENT, HTTP_TRACESTATE, TRACEPARENT, TRACESTATE, value};

pub use settings::VARIABLES;

/// Who says what trace a call is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// Whoever has started us, in our environment.
    Program,
    /// A web server; where it says nothing, its client in the headers of the request.
    Server,
}

impl Caller {
    /// Who says it of a call about this.
    pub(super) fn of(subject: &Subject) -> Self {
        // Namespaces like that are of requests; only the steps of one are called in them too.
        match subject.kind {
            Kind::Once if is_reserved(&subject.namespace) => Self::Server,
            _ => Self::Program,
        }
    }
}

/// A span that has begun.
pub(super) struct Trace {
    caller: Caller,
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
    pub(super) fn begin(voice: Voice, caller: Caller) -> Option<Self> {
        let endpoint = settings::endpoint(voice)?;
        let (parent, state) = match (value(TRACEPARENT), caller) {
            (None, Caller::Server) => (value(HTTP_TRACEPARENT), HTTP_TRACESTATE),
            (parent, _) => (parent, TRACESTATE),
        };
        let parent = parent.and_then(|text| TraceParent::parse(&text));
        let (trace, [span @ .., _, _, _, _, _, _, _, _]) = (random().ok()?, random().ok()?);
        let own = parent.map_or(TraceParent::begin(trace, span), |parent| parent.below(span));
        if !settings::sampler(voice).records(parent, own.trace) {
            return None;
        }
        let state = parent.and_then(|_| value(state));
        let (start, began) = (since_1970(), Instant::now());
        Some(Self { caller, endpoint, own, parent, state, start, began })
    }

    /// What the command finds of it, so that its own spans are below ours: nothing of what
    /// is said of another trace either.
    pub(super) fn variables(&self) -> Variables {
        let own = || Some(self.own.to_string().into());
        let state = || self.state.as_ref().map(OsString::from);
        let mut variables = vec![(TRACEPARENT, own()), (TRACESTATE, state())];
        // A handler looks for it in the headers of its request.
        if self.caller == Caller::Server {
            variables.extend([(HTTP_TRACEPARENT, own()), (HTTP_TRACESTATE, state())]);
        }
        variables
    }

    /// Ends it, and leaves it to a process that nobody waits for.
    pub(super) fn send(self, context: &Context, line: &Line) {
        let voice = context.voice;
        let Some(certificate) = settings::certificate(voice) else { return };
        let span = Span {
            own: self.own,
            parent: self.parent,
            state: self.state.unwrap_or_default(),
            start: self.start,
            end: self.start + self.began.elapsed(),
            resource: settings::resource(voice),
            keys: if context.redacts_keys() { Keys::Redacted } else { Keys::Whole },
        };
        let digest = |key: &str| to_hex(&Sha256::digest(key));
        let delivery = Delivery {
            endpoint: self.endpoint,
            headers: settings::headers(voice),
            certificate: certificate.path,
            limit_ms: settings::limit_ms(voice),
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
