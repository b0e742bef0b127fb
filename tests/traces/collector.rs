//! A collector of traces: a server for the OpenTelemetry protocol over HTTP, in JSON. What
//! arrives is read by the crates of those who define the one and speak the other.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::span::Span;
use crate::support::Call;

/// How long a collector waits for anything.
const PATIENCE: Duration = Duration::from_secs(40);

/// A collector, which serves whoever comes one after the other.
pub(super) struct Collector(TcpListener);

/// Something that was handed over; whoever did waits for an answer.
pub(super) struct Received {
    request: Request<Bytes>,
    answer: oneshot::Sender<Response<String>>,
    /// Ends with the connection.
    connection: JoinHandle<()>,
    runtime: Runtime,
    /// The same connection, for what is not HTTP.
    raw: TcpStream,
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
        Received::from(stream)
    }

    /// The one span that comes next, which is answered well.
    pub(super) fn span(&self) -> Span {
        let received = self.receive();
        let span = received.span();
        received.accept();
        span
    }

    /// The two spans that come next, by their names: the one below comes first, or nearly so.
    pub(super) fn two_spans(&self) -> [Span; 2] {
        let mut spans = [self.span(), self.span()];
        spans.sort_by_key(|span| span.name().to_owned());
        spans
    }

    /// Whether nobody has come.
    pub(super) fn is_unknown(&self) -> bool {
        self.0.set_nonblocking(true).expect("a socket can be told");
        self.0.accept().is_err()
    }
}

impl From<TcpStream> for Received {
    /// Hears what this connection brings.
    fn from(stream: TcpStream) -> Self {
        let raw = stream.try_clone().expect("a socket can be duplicated");
        stream.set_nonblocking(true).expect("a socket can be told");
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (tell, told) = oneshot::channel();
        let (answer, answers) = oneshot::channel();
        let once = Mutex::new(Some((tell, answers)));
        let service = service_fn(move |request: Request<Incoming>| {
            let ends = once.lock().expect("nobody has panicked").take();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.expect("the whole body comes").to_bytes();
                let (tell, answers) = ends.expect("a connection has one request");
                tell.send(Request::from_parts(head, body)).expect("somebody waits for it");
                // Nobody answers where this fails.
                answers.await
            }
        });
        let (connection, request) = runtime.block_on(async {
            let stream = tokio::net::TcpStream::from_std(stream).expect("a socket of loopback");
            let mut http = http1::Builder::new();
            let http = http.keep_alive(false).serve_connection(TokioIo::new(stream), service);
            let connection = tokio::spawn(async { drop(http.await) });
            (connection, timeout(PATIENCE, told).await)
        });
        let request = request.expect("a request comes in time").expect("it is one");
        Self { request, answer, connection, runtime, raw }
    }
}

impl Received {
    /// What was asked for: `POST /v1/traces`.
    pub(super) fn asked(&self) -> String {
        format!("{} {}", self.request.method(), self.request.uri())
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.request.headers().get(name).map(|value| value.to_str().expect("a text"))
    }

    /// Says what a collector says that has taken everything.
    pub(super) fn accept(self) {
        let taken = ExportTraceServiceResponse::default();
        let taken = serde_json::to_string(&taken).expect("a document");
        let answer = Response::builder().header("content-type", "application/json").body(taken);
        self.answer.send(answer.expect("a response")).expect("the connection is open");
        let end = self.runtime.block_on(async { timeout(PATIENCE, self.connection).await });
        end.expect("it is heard in time").expect("and nobody has panicked");
    }

    /// Says what no collector says.
    pub(super) fn mumble(mut self, text: &str) {
        self.raw.write_all(text.as_bytes()).expect("somebody listens");
    }

    /// Whether whoever came is still there.
    pub(super) fn is_held(&mut self) -> bool {
        let moment = Duration::from_millis(1);
        let connection = &mut self.connection;
        self.runtime.block_on(async { timeout(moment, connection).await }).is_err()
    }

    /// The one span in it, checked field by field.
    #[track_caller]
    pub(super) fn span(&self) -> Span {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.request.body();
        let message: ExportTraceServiceRequest =
            serde_json::from_slice(body).expect("a request of the protocol");
        // What a message does not know it passes over, and ids are read in capitals too.
        let said: Value = serde_json::from_slice(body).expect("a document");
        let meant = serde_json::to_value(&message).expect("a document");
        assert_within(&said, &meant, "");
        Span::only_one_in(message, String::from_utf8_lossy(body).into_owned())
    }
}

/// Fails where something is said that the protocol does not have, or has otherwise.
#[track_caller]
fn assert_within(said: &Value, meant: &Value, place: &str) {
    match (said, meant) {
        (Value::Object(said), Value::Object(meant)) => {
            for (name, said) in said {
                let place = format!("{place}.{name}");
                let meant = meant.get(name);
                assert_within(
                    said,
                    meant.unwrap_or_else(|| panic!("the protocol has no {place}")),
                    &place,
                );
            }
        }
        (Value::Array(said), Value::Array(meant)) => {
            assert_eq!(said.len(), meant.len(), "{place}");
            said.iter().zip(meant).for_each(|(said, meant)| assert_within(said, meant, place));
        }
        _ => assert_eq!(said, meant, "{place} is written otherwise"),
    }
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

#[test]
#[should_panic(expected = "the protocol has no .resourceSpans.scopeSpans.spans.trace_id")]
fn a_field_that_the_protocol_does_not_have_is_found() {
    hear(r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"trace_id":"00"}]}]}]}"#);
}

#[test]
#[should_panic(expected = ".resourceSpans.scopeSpans.spans.startTimeUnixNano is written otherwise")]
fn a_number_of_64_bits_that_is_no_text_is_found() {
    hear(r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":7}]}]}]}"#);
}

/// Has a collector hear this document.
#[track_caller]
fn hear(document: &str) {
    let collector = Collector::start();
    let mut stream = TcpStream::connect(collector.0.local_addr().unwrap()).unwrap();
    let head = "POST /v1/traces HTTP/1.1\r\nHost: us\r\nContent-Type: application/json";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{document}", document.len()).unwrap();
    collector.receive().span();
}
