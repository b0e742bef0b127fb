//! The variables of the OpenTelemetry specification beside those that say where and as whom.

use std::net::TcpListener;

use super::super::PARENT;
use super::super::collector::{Collector, alone};
use super::{FIND, Secure, messengers};
use crate::support::{Scene, until};

#[test]
fn a_protocol_or_an_exporter_that_is_not_ours_is_not_spoken_to_and_those_who_ask_are_told() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let silent = |name: &str, value: &str| {
        let call = collector.known_to(scene.attempt("k")).env(name, value);
        call.run();
        collector.known_to(scene.attempt("k -v")).env(name, value).any_stderr().run().complaint()
    };
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_TRACES_EXPORTER", "console"),
    ] {
        let told = silent(name, value);
        assert!(told.contains(&format!("no trace is sent: {name}")), "{told}");
    }
    assert!(!silent("OTEL_TRACES_EXPORTER", "none").contains("trace"));
    assert!(collector.is_unknown());
    for (number, (name, value)) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_TRACES_EXPORTER", "console, OTLP"),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("spoken-{number}");
        collector.known_to(scene.once(&key).sh(":")).env(name, value).run();
        assert_eq!(collector.span().attribute("doubletap.key"), Some(&*key));
    }
    // That of traces alone comes before that of everything.
    let call = collector.known_to(scene.once("both").sh(":"));
    let call = call.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    call.env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json").run();
    assert_eq!(collector.span().attribute("doubletap.key"), Some("both"));
}

/// What a trace is recorded by: a sampler, what it is told, the caller's trace, and whether
/// it is recorded then.
const SAMPLERS: [(&str, &str, &str, bool); 15] = [
    ("always_off", "", "", false),
    ("always_off", "", "01", false),
    ("always_on", "", "00", true),
    ("parentbased_always_on", "", "00", false),
    ("parentbased_always_on", "", "", true),
    ("parentbased_always_off", "", "", false),
    ("parentbased_always_off", "", "01", true),
    ("traceidratio", "0", "01", false),
    ("traceidratio", "1", "00", true),
    ("traceidratio", "", "", true),
    ("parentbased_traceidratio", "0.0", "", false),
    ("parentbased_traceidratio", "0", "01", true),
    ("parentbased_traceidratio", "1.0", "00", false),
    ("jaeger_remote", "", "", true),
    ("traceidratio", "much", "", true),
];

#[test]
fn a_sampler_says_which_calls_are_spans() {
    let (scene, collector) = (Scene::new(), Collector::start());
    for (number, (sampler, argument, flags, is_sent)) in SAMPLERS.into_iter().enumerate() {
        let key = format!("k{number}");
        let call = collector.known_to(scene.once(&key).sh(FIND));
        let call = call.env("OTEL_TRACES_SAMPLER", sampler);
        let call = call.env("OTEL_TRACES_SAMPLER_ARG", argument);
        let parent = PARENT.replace("-01", &format!("-{flags}"));
        let parent = if flags.is_empty() { String::new() } else { parent };
        let found = call.env("TRACEPARENT", &parent).any_stdout().run().text();
        if is_sent {
            let span = collector.span();
            assert_eq!(span.attribute("doubletap.key"), Some(&*key), "{sampler} {argument}");
            assert_eq!(span.handed_on(), found, "{sampler} {argument}");
            assert_eq!(span.parent().is_some(), !flags.is_empty());
        } else {
            assert_eq!(found, parent, "{sampler} {argument}");
        }
    }
    assert!(collector.is_unknown());
}

#[test]
fn a_sampler_that_is_not_known_is_told_to_those_who_ask() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = collector.known_to(scene.once("k -v").sh(":")).any_stderr();
    let told = call.env("OTEL_TRACES_SAMPLER", "xray").run().complaint();
    assert!(told.contains("OTEL_TRACES_SAMPLER is none that is known"), "{told}");
}

#[test]
fn the_time_that_a_collector_has_is_that_of_its_variable() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = collector.known_to(scene.once("k").sh(":")).env("MARK", scene.root());
    call.env("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")
        .env("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "300")
        .run();
    let mut received = collector.receive();
    let begin = std::time::Instant::now();
    until("the messenger has given up", || !received.is_held());
    // On its own it would have waited for four seconds.
    assert!(begin.elapsed().as_millis() < 3500, "{:?}", begin.elapsed());
    let wrong = collector.known_to(scene.once("l -v").sh(":")).any_stderr();
    let told = wrong.env("OTEL_EXPORTER_OTLP_TIMEOUT", "2s").run().complaint();
    assert!(told.contains("OTEL_EXPORTER_OTLP_TIMEOUT is no number of milliseconds"), "{told}");
}

#[test]
#[ignore = "needs openssl: cargo test --features full -- --ignored servers::"]
fn a_certificate_of_its_own_is_what_a_collector_is_trusted_by() {
    let scene = Scene::new();
    let server = Secure::start(&scene);
    let call = |key| server.known_to(&scene, key);
    call("stranger").env("OTEL_EXPORTER_OTLP_CERTIFICATE", "form.cnf").run();
    until("the messenger has turned away", || messengers(&scene).is_empty());
    let call = call("friend").env("OTEL_EXPORTER_OTLP_CERTIFICATE", "gone.pem");
    // Relative to where the call is made; the messenger is elsewhere.
    call.env("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "cert.pem").run();
    until("the server has heard of the span", || server.heard().contains("friend"));
    assert!(!server.heard().contains("stranger"), "{}", server.heard());
}

#[test]
fn a_certificate_that_cannot_be_read_is_told_to_those_who_ask() {
    let scene = Scene::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}", nobody.local_addr().unwrap());
    let call = alone(scene.once("k -v").sh(":")).any_stderr();
    let call = call.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    let told = call.env("OTEL_EXPORTER_OTLP_CERTIFICATE", "gone.pem").run().complaint();
    assert!(told.contains("no trace is sent: OTEL_EXPORTER_OTLP_CERTIFICATE"), "{told}");
}
