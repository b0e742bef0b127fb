//! The trace of a request, which a client names.

use super::super::PARENT;
use super::super::collector::Collector;
use super::{SPAN, TRACE};
use crate::support::servers::Web;
use crate::support::{BIN, Scene};

/// Prints what it finds of the trace as an answer.
const HANDLER: &str = r#"printf 'Content-Type: text/plain\n\n'
printf '%s\n' "$TRACEPARENT" "$HTTP_TRACEPARENT" "${TRACESTATE-none}" "${HTTP_TRACESTATE-none}""#;

/// The lines of an answer, without its head.
fn lines(answer: &str) -> Vec<&str> {
    let (_, body) = answer.split_once("\n\n").unwrap();
    body.lines().collect()
}

#[test]
fn a_request_is_part_of_the_trace_that_its_client_names() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = |key: &str| {
        let call = collector.known_to(scene.call("cgi").sh(HANDLER)).any_stdout();
        call.env("REQUEST_METHOD", "POST").env("HTTP_IDEMPOTENCY_KEY", key)
    };
    let client = PARENT.replace("b7ad", "0000");
    let of_client = call("one").env("HTTP_TRACEPARENT", &client).env("HTTP_TRACESTATE", "b=2");
    let answer = of_client.run().text();
    let span = collector.span();
    assert_eq!((&*span.trace(), span.parent()), (TRACE, Some(SPAN.replace("b7ad", "0000"))));
    assert_eq!(span.state(), "b=2");
    let own = span.handed_on();
    assert_eq!(lines(&answer), [&*own, &*own, "b=2", "b=2"]);
    // What the server says counts before what the client says.
    let both = call("two").env("HTTP_TRACEPARENT", &client).env("HTTP_TRACESTATE", "b=2");
    let answer = both.env("TRACEPARENT", PARENT).env("TRACESTATE", "a=1").run().text();
    let span = collector.span();
    assert_eq!((span.parent().as_deref(), span.state()), (Some(SPAN), "a=1"));
    let own = span.handed_on();
    assert_eq!(lines(&answer), [&*own, &*own, "a=1", "a=1"]);
    // One that is none counts as none, and what is said of it goes with it.
    let wrong = call("three").env("HTTP_TRACEPARENT", "x").env("HTTP_TRACESTATE", "b=2");
    let answer = wrong.run().text();
    let span = collector.span();
    assert_eq!((span.parent(), span.state()), (None, ""));
    let own = span.handed_on();
    assert_eq!(lines(&answer), [&*own, &*own, "none", "none"]);
}

#[test]
fn what_looks_like_a_header_is_nothing_to_a_call_that_no_server_has_made() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = collector.known_to(scene.once("k").sh("printf %s \"$HTTP_TRACEPARENT\""));
    call.env("HTTP_TRACEPARENT", PARENT).stdout(PARENT).run();
    assert_eq!(collector.span().parent(), None);
}

#[test]
#[ignore = "needs lighttpd and curl: cargo test --features full -- --ignored servers::"]
fn behind_lighttpd_the_program_that_it_starts_names_the_collector() {
    let (scene, collector) = (Scene::new(), Collector::start());
    scene.write("handler", HANDLER);
    let work = scene.work().display().to_string();
    let store = scene.store().display().to_string();
    let line = format!(
        "export OTEL_EXPORTER_OTLP_ENDPOINT={}\nexec '{BIN}' cgi --store '{store}' -- sh '{work}/handler'",
        collector.url()
    );
    scene.executable(&scene.path("pay"), &line);
    let web = Web::lighttpd(&format!(
        "server.modules += ( \"mod_cgi\", \"mod_alias\" )\nalias.url += ( \"/pay\" => \"{work}/pay\" )\ncgi.assign = ( \"\" => \"\" )\n"
    ));
    let client = scene.call("-sS -m 60 -d x").program("curl".as_ref()).arg(web.url("/pay"));
    let client = client.arg("-H").arg("Idempotency-Key: \"a\"");
    let client = client.arg("-H").arg(format!("traceparent: {PARENT}"));
    let answer = client.any_stdout().run().text();
    let span = collector.span();
    assert_eq!((&*span.trace(), span.parent().as_deref()), (TRACE, Some(SPAN)));
    let own = span.handed_on();
    assert_eq!(answer, format!("{own}\n{own}\nnone\nnone\n"));
}
