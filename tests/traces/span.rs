//! A span, as a collector has understood it.

use doubletap::claim::id::to_hex;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{self, Status};

/// A span, and what it is of.
pub(super) struct Span {
    message: v1::Span,
    resource: Vec<KeyValue>,
    /// The document that it came in.
    pub(super) document: String,
}

impl Span {
    /// That of a message, and nothing else is in it.
    #[track_caller]
    pub(super) fn only_one_in(message: ExportTraceServiceRequest, document: String) -> Self {
        let resource = only(message.resource_spans);
        let scope = only(resource.scope_spans);
        let named = scope.scope.expect("it says who counts");
        assert_eq!((&*named.name, &*named.version), ("doubletap", env!("CARGO_PKG_VERSION")));
        let resource = resource.resource.expect("it is of something").attributes;
        let span = Self { message: only(scope.spans), resource, document };
        span.check();
        span
    }

    #[track_caller]
    fn check(&self) {
        let span = &self.message;
        assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8), "{span:?}");
        assert!(matches!(span.parent_span_id.len(), 0 | 8), "{span:?}");
        assert_eq!(span.kind(), SpanKind::Internal);
        assert_eq!(span.flags, 1, "a trace that is recorded");
        let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
        assert!(start > 1_600_000_000_000_000_000 && start <= end, "{span:?}");
    }

    pub(super) fn name(&self) -> &str {
        &self.message.name
    }

    /// What the systems above have said.
    pub(super) fn state(&self) -> &str {
        &self.message.trace_state
    }

    pub(super) fn trace(&self) -> String {
        to_hex(&self.message.trace_id)
    }

    pub(super) fn id(&self) -> String {
        to_hex(&self.message.span_id)
    }

    /// The span that it hangs below.
    pub(super) fn parent(&self) -> Option<String> {
        let parent = &self.message.parent_span_id;
        (!parent.is_empty()).then(|| to_hex(parent))
    }

    fn status(&self) -> &Status {
        self.message.status.as_ref().expect("it has a status")
    }

    /// Whether it says nothing of a failure.
    pub(super) fn is_well(&self) -> bool {
        *self.status() == Status::default()
    }

    /// What it says of a failure.
    #[track_caller]
    pub(super) fn failure(&self) -> &str {
        assert_eq!(self.status().code(), StatusCode::Error);
        &self.status().message
    }

    /// An attribute that is a text.
    #[track_caller]
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        text(&self.message.attributes, name)
    }

    /// An attribute that is a number.
    #[track_caller]
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        attribute(&self.message.attributes, name).map(|value| match value {
            Value::IntValue(number) => *number,
            other => panic!("{name} is no number: {other:?}"),
        })
    }

    /// An attribute of what the span is of.
    #[track_caller]
    pub(super) fn resource(&self, name: &str) -> Option<&str> {
        text(&self.resource, name)
    }

    /// What a command below it finds in its environment.
    pub(super) fn handed_on(&self) -> String {
        format!("00-{}-{}-01", self.trace(), self.id())
    }
}

#[track_caller]
fn only<T>(mut list: Vec<T>) -> T {
    assert_eq!(list.len(), 1, "one and no more");
    list.pop().expect("one")
}

#[track_caller]
fn text<'a>(of: &'a [KeyValue], name: &str) -> Option<&'a str> {
    attribute(of, name).map(|value| match value {
        Value::StringValue(text) => text.as_str(),
        other => panic!("{name} is no text: {other:?}"),
    })
}

#[track_caller]
fn attribute<'a>(of: &'a [KeyValue], name: &str) -> Option<&'a Value> {
    let mut named = of.iter().filter(|pair| pair.key == name);
    let pair = named.next();
    assert!(named.next().is_none(), "{name} twice in {of:?}");
    pair.map(|pair| pair.value.as_ref().and_then(|any| any.value.as_ref()).expect("a value"))
}
