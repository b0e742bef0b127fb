//! A collector of traces: a server for the OpenTelemetry protocol over HTTP, in JSON.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::support::Call;

/// How long a collector waits for anything.
const PATIENCE: Duration = Duration::from_secs(40);

/// What a well-behaved collector says.
pub(super) const WELL: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

/// A collector, which serves whoever comes one after the other.
pub(super) struct Collector(TcpListener);

/// Something that was handed over; whoever did waits for an answer.
pub(super) struct Received {
    /// `POST /v1/traces HTTP/1.1`.
    pub(super) request: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    stream: TcpStream,
}

impl Collector {
    pub(super) fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free"))
    }

    /// Where it listens.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().expect("it listens"))
    }

    /// A call that knows this collector.
    pub(super) fn known_to<'a>(&self, call: Call<'a>) -> Call<'a> {
        alone(call).env("OTEL_EXPORTER_OTLP_ENDPOINT", self.url())
    }

    /// Whoever comes next, and has said all that it has to say.
    pub(super) fn receive(&self) -> Received {
        self.0.set_nonblocking(true).expect("a socket can be told");
        let mut accepted = None;
        crate::support::until("somebody comes to the collector", || {
            accepted = self.0.accept().ok();
            accepted.is_some()
        });
        let (stream, _) = accepted.expect("somebody has come");
        stream.set_nonblocking(false).expect("a socket can be told");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket can be told");
        let mut reader = BufReader::new(stream.try_clone().expect("a socket can be duplicated"));
        let mut line = || {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a line comes");
            line.trim_end().to_owned()
        };
        let request = line();
        let mut headers = Vec::new();
        while let Some((name, value)) = line().split_once(": ") {
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut received = Received { request, headers, body: Vec::new(), stream };
        let length = received.header("content-length").expect("it says how much comes");
        let length = length.parse().expect("a number");
        received.body.resize(length, 0);
        reader.read_exact(&mut received.body).expect("the whole body comes");
        received
    }

    /// The one span that comes next, which is answered well.
    pub(super) fn span(&self) -> Span {
        let mut received = self.receive();
        received.answer(WELL);
        received.span()
    }

    /// The two spans that come next, by their names: the one below comes first, or nearly so.
    pub(super) fn two_spans(&self) -> [Span; 2] {
        let mut spans = [self.span(), self.span()];
        spans.sort_by_key(|span| span.text("name").to_owned());
        spans
    }

    /// Whether nobody has come.
    pub(super) fn is_unknown(&self) -> bool {
        self.0.set_nonblocking(true).expect("a socket can be told");
        self.0.accept().is_err()
    }
}

impl Received {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn answer(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).expect("somebody listens");
    }

    /// Whether whoever came is still there.
    pub(super) fn is_held(&self) -> bool {
        self.stream.set_nonblocking(true).expect("a socket can be told");
        let held = match self.stream.peek(&mut [0]) {
            Ok(more) => more > 0,
            Err(why) => why.kind() == std::io::ErrorKind::WouldBlock,
        };
        self.stream.set_nonblocking(false).expect("a socket can be told");
        held
    }

    /// The one span in it, checked field by field.
    #[track_caller]
    pub(super) fn span(&self) -> Span {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let document: Value = serde_json::from_slice(&self.body).expect("a document");
        let only = |of: &Value, name: &str| {
            let list = of[name].as_array().unwrap_or_else(|| panic!("{name} in {of}"));
            assert_eq!(list.len(), 1, "{name} in {of}");
            list[0].clone()
        };
        let resource = only(&document, "resourceSpans");
        let scope = only(&resource, "scopeSpans");
        assert_eq!(scope["scope"]["name"], "doubletap");
        assert_eq!(scope["scope"]["version"], env!("CARGO_PKG_VERSION"));
        let span = Span { span: only(&scope, "spans"), resource: resource["resource"].clone() };
        span.check();
        span
    }
}

/// A span, and what it is of.
pub(super) struct Span {
    pub(super) span: Value,
    resource: Value,
}

impl Span {
    #[track_caller]
    fn check(&self) {
        let known = [
            "traceId",
            "spanId",
            "parentSpanId",
            "traceState",
            "flags",
            "name",
            "kind",
            "startTimeUnixNano",
            "endTimeUnixNano",
            "attributes",
            "status",
        ];
        for name in self.span.as_object().expect("a span").keys() {
            assert!(known.contains(&name.as_str()), "no field of a span: {name}");
        }
        assert!(is_hex(self.text("traceId"), 32), "{}", self.span);
        assert!(is_hex(self.text("spanId"), 16), "{}", self.span);
        assert_eq!(self.span["kind"], 1, "an internal span");
        assert_eq!(self.span["flags"], 1, "a trace that is recorded");
        let (start, end) = (self.time("startTimeUnixNano"), self.time("endTimeUnixNano"));
        assert!(start > 1_600_000_000_000_000_000 && start <= end, "{}", self.span);
    }

    /// A field that is a text.
    #[track_caller]
    pub(super) fn text(&self, name: &str) -> &str {
        self.span[name].as_str().unwrap_or_else(|| panic!("{name} in {}", self.span))
    }

    #[track_caller]
    fn time(&self, name: &str) -> u64 {
        self.text(name).parse().expect("nanoseconds, in a text")
    }

    /// An attribute that is a text.
    #[track_caller]
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        attribute(&self.span, name, "stringValue")
    }

    /// An attribute that is a number, which is written as a text.
    #[track_caller]
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        attribute(&self.span, name, "intValue").map(|text| text.parse().expect("a number"))
    }

    /// An attribute of what the span is of.
    #[track_caller]
    pub(super) fn resource(&self, name: &str) -> Option<String> {
        attribute(&self.resource, name, "stringValue")
    }

    /// What a command below it finds in its environment.
    pub(super) fn handed_on(&self) -> String {
        format!("00-{}-{}-01", self.text("traceId"), self.text("spanId"))
    }
}

#[track_caller]
fn attribute(of: &Value, name: &str, kind: &str) -> Option<String> {
    let list = of["attributes"].as_array().expect("attributes");
    let mut named = list.iter().filter(|pair| pair["key"] == name);
    let value = named.next().map(|pair| pair["value"][kind].as_str());
    assert!(named.next().is_none(), "{name} twice in {of}");
    value.map(|value| value.unwrap_or_else(|| panic!("{name} is no {kind} in {of}")).to_owned())
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A call that knows no collector, no proxy and no trace of the machine's.
pub(super) fn alone(call: Call<'_>) -> Call<'_> {
    let named = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let others = named.filter(|name| {
        let lower = name.to_ascii_lowercase();
        lower.ends_with("_proxy") || lower.starts_with("otel_") || lower.starts_with("trace")
    });
    others.fold(call, |call, name| call.without_env(&name))
}
