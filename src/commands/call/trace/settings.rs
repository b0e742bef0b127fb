//! What the variables of the OpenTelemetry specification say of the spans of our calls. An
//! empty one is none; what is wrong in one is left out, and said to those who ask.

use std::env;
use std::fs::File;
use std::path::PathBuf;

use crate::claim::trace::Sampler;
use crate::report::collector::is_spoken;
use crate::report::voice::Voice;
use crate::text::percent_decoded;

pub(super) const TRACEPARENT: &str = "TRACEPARENT";
pub(super) const TRACESTATE: &str = "TRACESTATE";
/// The same as a client says it to a web server.
pub(super) const HTTP_TRACEPARENT: &str = "HTTP_TRACEPARENT";
pub(super) const HTTP_TRACESTATE: &str = "HTTP_TRACESTATE";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const ENDPOINT_OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const HEADERS_OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const PROTOCOL_OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
const TIMEOUT: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";
const TIMEOUT_OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT";
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";
const CERTIFICATE_OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE";
const SERVICE: &str = "OTEL_SERVICE_NAME";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const DISABLED: &str = "OTEL_SDK_DISABLED";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARGUMENT: &str = "OTEL_TRACES_SAMPLER_ARG";

/// Every variable that is read here, for the page that is held to this list.
pub const VARIABLES: [&str; 20] = [
    TRACEPARENT,
    TRACESTATE,
    HTTP_TRACEPARENT,
    HTTP_TRACESTATE,
    ENDPOINT,
    ENDPOINT_OF_TRACES,
    HEADERS,
    HEADERS_OF_TRACES,
    PROTOCOL,
    PROTOCOL_OF_TRACES,
    TIMEOUT,
    TIMEOUT_OF_TRACES,
    CERTIFICATE,
    CERTIFICATE_OF_TRACES,
    SERVICE,
    RESOURCE,
    DISABLED,
    EXPORTER,
    SAMPLER,
    SAMPLER_ARGUMENT,
];

/// What a collector takes spans at, below the endpoint for everything.
const PATH: &str = "v1/traces";

/// Where spans go, if they go anywhere.
pub(super) fn endpoint(voice: Voice) -> Option<String> {
    let (named_by, endpoint) = first_of([ENDPOINT_OF_TRACES, ENDPOINT])?;
    if is(DISABLED, "true") || !is_wanted(voice) {
        return None;
    }
    if let Some((name, protocol)) = first_of([PROTOCOL_OF_TRACES, PROTOCOL])
        && !["http/json", "http/protobuf"].contains(&protocol.trim_ascii())
    {
        voice.tell(|| format!("no trace is sent: {name} is not http/json or http/protobuf"));
        return None;
    }
    if !is_spoken(&endpoint) {
        // It may have a password in it.
        voice.tell(|| format!("no trace is sent: {named_by} is no http:// or https:// URL"));
        return None;
    }
    Some(if named_by == ENDPOINT {
        format!("{}/{PATH}", endpoint.trim_end_matches('/'))
    } else {
        endpoint
    })
}

/// Whether spans go to a collector: not where all of them go elsewhere, or nowhere.
fn is_wanted(voice: Voice) -> bool {
    let Some(exporters) = value(EXPORTER) else { return true };
    let mut named = exporters.split(',').map(str::trim_ascii);
    let is_wanted = named.any(|name| name.eq_ignore_ascii_case("otlp"));
    if !is_wanted && !is(EXPORTER, "none") {
        voice.tell(|| format!("no trace is sent: {EXPORTER} does not have otlp"));
    }
    is_wanted
}

/// Which traces are recorded.
pub(super) fn sampler(voice: Voice) -> Sampler {
    let Some(name) = value(SAMPLER) else { return Sampler::default() };
    let argument = value(SAMPLER_ARGUMENT);
    Sampler::parse(name.trim_ascii(), argument.as_deref().map(str::trim_ascii)).unwrap_or_else(
        || {
            voice.tell(|| {
                format!("{SAMPLER} is none that is known, or {SAMPLER_ARGUMENT} no part of 1")
            });
            Sampler::default()
        },
    )
}

/// How long the collector may take, if that is said.
pub(super) fn limit_ms(voice: Voice) -> Option<u64> {
    let (name, text) = first_of([TIMEOUT_OF_TRACES, TIMEOUT])?;
    let limit = text.trim_ascii().parse().ok().filter(|limit| *limit > 0);
    if limit.is_none() {
        voice.tell(|| format!("{name} is no number of milliseconds above 0"));
    }
    limit
}

/// What a collector is trusted by.
pub(super) struct Certificate {
    /// A file; without one, what this machine trusts.
    pub(super) path: Option<PathBuf>,
}

/// The certificate that is named, by an absolute path; nothing where it cannot be read.
pub(super) fn certificate(voice: Voice) -> Option<Certificate> {
    let Some((name, path)) = first_of([CERTIFICATE_OF_TRACES, CERTIFICATE]) else {
        return Some(Certificate { path: None });
    };
    match File::open(&path).and_then(|_| std::path::absolute(path)) {
        Ok(path) => Some(Certificate { path: Some(path) }),
        Err(why) => {
            voice.tell(|| format!("no trace is sent: {name}: {why}"));
            None
        }
    }
}

/// What is to be said to the collector besides.
pub(super) fn headers(voice: Voice) -> Vec<(String, String)> {
    let mut headers = pairs(HEADERS, voice);
    for (name, value) in pairs(HEADERS_OF_TRACES, voice) {
        headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
        headers.push((name, value));
    }
    headers
}

/// What the spans are of.
pub(super) fn resource(voice: Voice) -> Vec<(String, String)> {
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

/// The first of these variables that says something, and what: that of traces alone comes
/// before that of everything.
fn first_of(names: [&'static str; 2]) -> Option<(&'static str, String)> {
    names.into_iter().find_map(|name| Some((name, value(name)?)))
}

fn is(name: &str, word: &str) -> bool {
    value(name).is_some_and(|is| is.trim_ascii().eq_ignore_ascii_case(word))
}

#[expect(clippy::disallowed_methods, reason = "these variables are not ours")]
pub(super) fn value(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
