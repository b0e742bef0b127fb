//! What a command, and a call inside it, finds of the trace and of what is not to be told.

use doubletap::claim::id::to_hex;
use sha2::{Digest as _, Sha256};

use super::super::PARENT;
use super::super::collector::{Collector, alone};
use crate::support::Scene;

/// What a command prints of its environment that is named like this.
fn find(name: &str) -> String {
    format!("env | grep '^{name}=' || true")
}

#[test]
fn a_command_finds_one_trace_and_not_that_of_its_caller_too() {
    let (scene, collector) = (Scene::new(), Collector::start());
    for verb in ["once k", "lease k", "once --key-env NONE --if-key"] {
        // No shell, which would take one of them for its own.
        let call = collector.known_to(scene.call(verb).command(["env"])).any_stderr();
        let found = call.env("TRACEPARENT", PARENT).any_stdout().run().text();
        let found: Vec<_> = found.lines().filter(|line| line.starts_with("TRACEPARENT")).collect();
        assert_eq!(found, [format!("TRACEPARENT={}", collector.span().handed_on())], "{verb}");
    }
}

#[test]
fn what_the_systems_above_say_of_no_trace_is_not_handed_on() {
    let (scene, collector) = (Scene::new(), Collector::start());
    for (number, parent) in ["", "nonsense", "00-0-0-01"].into_iter().enumerate() {
        let call = scene.once(&format!("k{number}")).sh(&find("TRACESTATE"));
        let call = collector.known_to(call).env("TRACEPARENT", parent);
        call.env("TRACESTATE", "a=1").stdout("").run();
        let span = collector.span();
        assert_eq!((span.parent(), span.state()), (None, ""), "{parent}");
    }
    let call = collector.known_to(scene.once("good").sh(&find("TRACESTATE")));
    let call = call.env("TRACEPARENT", PARENT).env("TRACESTATE", "a=1");
    call.stdout("TRACESTATE=a=1\n").run();
}

#[test]
fn keys_are_redacted_in_the_calls_inside_a_call_too() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let hex = |text: &str| to_hex(&Sha256::digest(text));
    let inner = "\"$BIN\" step bob@example.org -- true";
    let call = collector.known_to(scene.once("alice@example.org --redact-keys").sh(inner));
    call.run();
    let [once, step] = collector.two_spans();
    assert_eq!(step.attribute("doubletap.step_sha256"), Some(&*hex("bob@example.org")));
    for span in [once, step] {
        assert!(!span.document.contains("@example.org"), "{}", span.document);
        let key = span.attribute("doubletap.key_sha256");
        assert_eq!(key, Some(&*hex("alice@example.org")));
    }
    // Without a claim around it as well.
    for verb in ["once --key-env NONE --if-key --redact-keys", "lease l --redact-keys"] {
        let call = scene.call(verb).sh("\"$BIN\" once carol@example.org -- true");
        collector.known_to(call).any_stderr().run();
        for span in collector.two_spans() {
            assert!(!span.document.contains("carol"), "{}", span.document);
        }
    }
}

#[test]
fn keys_are_redacted_in_the_calls_of_a_handler_whether_its_request_goes_through_or_not() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let handler = "printf 'A: b\\n\\n'; \"$BIN\" once carol@example.org -- env | grep REDACT";
    let call = |words: &str, method: &str, key: &str| {
        let call = collector.known_to(scene.call(words).sh(handler));
        call.env("REQUEST_METHOD", method).env("HTTP_IDEMPOTENCY_KEY", key)
    };
    for (method, key) in [("GET", "k"), ("PUT", ""), ("POST", ""), ("POST", "k")] {
        let answer = call("cgi --redact-keys", method, key);
        answer.stdout("A: b\n\nDOUBLETAP_REDACT_KEYS=1\n").run();
        let is_guarded = !key.is_empty() && method == "POST";
        let spans = if is_guarded { collector.two_spans().into() } else { vec![collector.span()] };
        for span in spans {
            assert!(!span.document.contains("carol"), "{method}: {}", span.document);
        }
        scene.call("forget carol@example.org").run();
    }
}

#[test]
fn a_variable_redacts_keys_as_the_option_does() {
    let (scene, collector) = (Scene::new(), Collector::start());
    for (value, is_told) in [("1", false), ("true", false), ("", true), ("0", true)] {
        let call = collector.known_to(scene.attempt("alice")).env("DOUBLETAP_REDACT_KEYS", value);
        call.run();
        assert_eq!(collector.span().document.contains("alice"), is_told, "{value}");
    }
    let call = alone(scene.once("k --redact-keys").sh(&find("DOUBLETAP_REDACT_KEYS")));
    call.stdout("DOUBLETAP_REDACT_KEYS=1\n").run();
}

#[test]
fn whose_a_request_is_is_not_told_where_keys_are_redacted() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = |words: &str| {
        let call = scene.call(words).sh("printf 'Content-Type: text/plain\\n\\nhello'");
        let call = collector.known_to(call).env("REQUEST_METHOD", "POST").any_stdout();
        call.env("HTTP_IDEMPOTENCY_KEY", "\"k\"").env("REMOTE_USER", "alice@example.org").run();
        collector.span()
    };
    let namespace = "cgi:default:REMOTE_USER=alice@example.org";
    assert_eq!(call("cgi").attribute("doubletap.namespace"), Some(namespace));
    let span = call("cgi --redact-keys");
    assert!(!span.document.contains("alice"), "{}", span.document);
    assert_eq!(span.attribute("doubletap.namespace"), None);
    let digest = to_hex(&Sha256::digest(namespace));
    assert_eq!(span.attribute("doubletap.namespace_sha256"), Some(&*digest));
    collector.known_to(scene.once("k --namespace n --redact-keys").sh(":")).run();
    assert_eq!(collector.span().attribute("doubletap.namespace"), Some("n"));
}
