//! The trace that a call is part of, and the span that a build with the feature `otel`
//! sends of it.

#[cfg(feature = "otel")]
mod collector;
#[cfg(feature = "otel")]
mod servers;
#[cfg(feature = "otel")]
mod span;

use crate::support::Scene;

/// The example of the W3C recommendation.
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn a_command_finds_the_trace_that_its_call_is_part_of() {
    let scene = Scene::new();
    let script = "echo \"$TRACEPARENT $TRACESTATE\"";
    for verb in ["once k", "lease k"] {
        let call = scene.call(verb).sh(script).env("TRACEPARENT", PARENT);
        let call = call.without_env("OTEL_EXPORTER_OTLP_ENDPOINT").env("TRACESTATE", "a=1");
        call.without_env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
            .stdout(format!("{PARENT} a=1\n"))
            .run();
    }
}

#[cfg(not(feature = "otel"))]
#[test]
fn a_build_without_the_feature_sends_nothing_and_has_no_option_for_it() {
    let scene = Scene::new();
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    collector.set_nonblocking(true).unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let call = scene.once("k").sh("echo \"$TRACEPARENT\"").env("TRACEPARENT", PARENT);
    call.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).stdout(format!("{PARENT}\n")).run();
    assert_eq!(collector.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let call = scene.once("k --redact-keys").sh(":").status(64);
    call.note(&["unexpected argument '--redact-keys'", "doubletap once --help"]).run();
}
