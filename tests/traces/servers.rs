//! What a collector is told, and that nobody waits for it.

mod handed_on;
mod proxies;
mod variables;
mod web;

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::PARENT;
use super::collector::{Collector, alone};
use crate::support::{BIN, Call, Running, Scene, Signal, until};

/// The trace and the span of [`PARENT`].
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

const FIND: &str = "printf %s \"$TRACEPARENT\"";

#[test]
fn a_fresh_run_sends_a_span_and_hands_it_on_to_its_command() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call =
        scene.once("k --namespace n --source s").sh("printf %s \"$DOUBLETAP_FENCE $TRACEPARENT\"");
    let text = collector.known_to(call).any_stdout().run().text();
    let (fence, handed_on) = text.split_once(' ').unwrap();
    let received = collector.receive();
    assert_eq!(received.asked(), "POST /v1/traces");
    let span = received.span();
    received.accept();
    assert_eq!(span.name(), "doubletap.once");
    assert_eq!(span.handed_on(), handed_on);
    assert_eq!(span.parent(), None);
    assert_eq!(span.attribute("doubletap.key"), Some("k"));
    assert_eq!(span.attribute("doubletap.namespace"), Some("n"));
    assert_eq!(span.attribute("doubletap.source"), Some("s"));
    assert_eq!(span.attribute("doubletap.outcome"), Some("ran"));
    assert_eq!(span.number("doubletap.attempt"), Some(1));
    assert_eq!(span.number("doubletap.fence"), Some(fence.parse().unwrap()));
    assert_eq!(span.number("doubletap.exit_code"), Some(0));
    assert!(span.is_well());
    assert_eq!(span.resource("service.name"), Some("doubletap"));
}

#[test]
fn a_replay_is_a_span_of_the_trace_that_its_caller_is_part_of() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = || collector.known_to(scene.once("k").sh(FIND));
    let told = call().any_stdout().run().text();
    assert_eq!(collector.span().handed_on(), told);
    let replay = call().env("TRACEPARENT", PARENT).env("TRACESTATE", "a=1,b=2");
    replay.stdout(told).run();
    let span = collector.span();
    assert_eq!(span.attribute("doubletap.outcome"), Some("replayed"));
    assert_eq!((&*span.trace(), span.parent().as_deref()), (TRACE, Some(SPAN)));
    assert_ne!(span.id(), SPAN);
    assert_eq!(span.state(), "a=1,b=2");
}

#[test]
fn a_busy_call_is_no_failure_and_a_failed_one_is() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let holder = scene.holder("k");
    collector.known_to(scene.attempt("k")).status(75).any_stderr().run();
    let span = collector.span();
    assert_eq!(span.attribute("doubletap.outcome"), Some("busy"));
    assert_eq!(span.number("doubletap.exit_code"), None);
    assert!(span.is_well());
    scene.gate().open();
    holder.finish();
    collector.known_to(scene.lease("l").sh("exit 3")).status(3).run();
    let span = collector.span();
    assert_eq!(span.name(), "doubletap.lease");
    assert_eq!(span.attribute("doubletap.outcome"), Some("failed"));
    assert_eq!(span.number("doubletap.exit_code"), Some(3));
    assert_eq!(span.failure(), "failed");
}

#[test]
fn a_call_without_a_key_that_was_asked_for_is_no_failure() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = |end: &str| {
        let call = scene.call("once --key-env NONE --if-key -q").sh(end).any_stderr().unchecked();
        collector.known_to(call).run();
        let span = collector.span();
        assert_eq!(span.attribute("doubletap.outcome"), Some("not_recorded"));
        assert_eq!(span.attribute("doubletap.key"), None);
        span
    };
    assert!(call(":").is_well());
    assert_eq!(call("exit 3").failure(), "not_recorded");
    assert_eq!(call("kill -9 $$").failure(), "not_recorded");
    // Nobody has asked for a store that cannot be used.
    let call = scene.once("k --fail-open --store /dev/null/store").sh(":").any_stderr();
    collector.known_to(call).run();
    assert_eq!(collector.span().failure(), "not_recorded");
}

#[test]
fn a_step_is_below_the_operation_that_it_belongs_to() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = scene.once("k").sh("\"$BIN\" step build -- true");
    collector.known_to(call).run();
    let [once, step] = collector.two_spans();
    assert_eq!((step.name(), once.name()), ("doubletap.step", "doubletap.once"));
    assert_eq!(step.attribute("doubletap.step"), Some("build"));
    assert_eq!(step.attribute("doubletap.key"), Some("k"));
    assert_eq!((step.trace(), step.parent()), (once.trace(), Some(once.id())));
}

#[test]
fn a_request_behind_a_web_server_is_a_span_and_one_that_is_not_guarded_is_none() {
    let (scene, collector, client) = (Scene::new(), Collector::start(), Collector::start());
    let call = |method| {
        let call = scene.call("cgi").sh("printf 'Content-Type: text/plain\\n\\nhello'");
        let call = collector.known_to(call).env("REQUEST_METHOD", method).any_stdout();
        // What a client can say with a header `Proxy`.
        let call = call.env("HTTP_PROXY", client.url());
        call.env("HTTP_IDEMPOTENCY_KEY", "\"k\"").env("REMOTE_USER", "alice").run();
    };
    call("GET");
    call("POST");
    let span = collector.span();
    assert_eq!(span.name(), "doubletap.cgi");
    assert_eq!(span.attribute("doubletap.key"), Some("k"));
    assert_eq!(span.attribute("doubletap.outcome"), Some("ran"));
    assert!(collector.is_unknown(), "a request that is passed through has no report either");
    assert!(client.is_unknown(), "a client does not choose where spans go");
}

#[test]
fn a_collector_that_never_answers_delays_nobody_and_is_let_go_of() {
    let (scene, collector) = (Scene::new(), Collector::start());
    // A caller that reads what we have inherited until nobody has it open any more.
    let call = scene.once("k").sh("echo out; exit 3").env("MARK", scene.root());
    let call = collector.known_to(call).through_sh("all=$(\"$@\" 3>&1); s=$?; echo \"$all $s\"");
    call.stdout("out 3\n").run();
    // It has ended, and its caller with it, before anybody was heard.
    let mut received = collector.receive();
    assert!(received.is_held(), "somebody waits for the collector");
    assert_eq!(received.span().attribute("doubletap.outcome"), Some("failed"));
    let messengers = messengers(&scene);
    let [messenger] = messengers[..] else { panic!("one messenger, and not {messengers:?}") };
    assert_eq!(open_files(messenger).len(), 1, "it has its connection open, and no file");
    until("the messenger has given up", || !received.is_held());
    until("the messenger is gone", || self::messengers(&scene).is_empty());
}

#[test]
fn a_messenger_outlives_the_end_of_the_service_that_it_was_started_from() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = scene.once("k").sh(":").env("MARK", scene.root());
    collector.known_to(call).run();
    let mut received = collector.receive();
    for messenger in messengers(&scene) {
        let pid = nix::unistd::Pid::from_raw(messenger);
        nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
    }
    assert!(received.is_held(), "it was told to end, and waits for the answer");
    received.accept();
    until("the messenger is gone", || messengers(&scene).is_empty());
}

#[test]
fn a_messenger_is_told_nothing_of_the_store_and_minds_nothing_of_it() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = scene.call("once k --store").arg(scene.store()).sh(":").env("MARK", scene.root());
    let call = collector.known_to(call).env("DOUBLETAP_STORE", "");
    call.env("DOUBLETAP_TOKEN", "secret").env("DOUBLETAP_LOG", "").run();
    let received = collector.receive();
    let [messenger] = messengers(&scene)[..] else { panic!("one messenger") };
    let environment = fs::read(format!("/proc/{messenger}/environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains("DOUBLETAP_"));
    assert_eq!(received.span().attribute("doubletap.key"), Some("k"));
}

#[test]
fn no_answer_and_no_collector_changes_how_a_call_ends() {
    let scene = Scene::new();
    let away = Collector::start();
    let url = away.url();
    drop(away);
    for (number, endpoint) in
        [url.as_str(), "ftp://example.org", "nonsense", "http://"].iter().enumerate()
    {
        let call = alone(scene.once(&format!("k{number}"))).sh("echo out; exit 5");
        call.env("OTEL_EXPORTER_OTLP_ENDPOINT", *endpoint).stdout("out\n").status(5).run();
    }
    let collector = Collector::start();
    for answer in
        ["nonsense", "", "HTTP/1.1 503 No\r\n\r\n", "HTTP/1.1 307 To\r\nLocation: /\r\n\r\n"]
    {
        let call = collector.known_to(scene.attempt("again")).env("MARK", scene.root());
        call.run();
        collector.receive().mumble(answer);
        until("the messenger is gone", || messengers(&scene).is_empty());
    }
    assert!(collector.is_unknown(), "nobody comes twice");
    assert_eq!(scene.runs(), 1);
}

#[test]
fn an_endpoint_that_cannot_be_spoken_to_is_told_to_those_who_ask() {
    let scene = Scene::new();
    let call = alone(scene.once("k -v").sh(":")).env("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x");
    call.notes(&["no trace is sent: OTEL_EXPORTER_OTLP_ENDPOINT is no http:// or https:// URL"])
        .run();
}

#[test]
fn nothing_is_sent_where_nobody_asks_for_it() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let find = || scene.attempt("k");
    let not_sampled = PARENT.replace("-01", "-00");
    alone(find()).env("TRACEPARENT", PARENT).run();
    alone(find()).env("OTEL_EXPORTER_OTLP_ENDPOINT", "").run();
    collector.known_to(find()).env("OTEL_SDK_DISABLED", "TRUE").run();
    collector.known_to(find()).env("OTEL_TRACES_EXPORTER", "none").run();
    collector.known_to(find()).env("TRACEPARENT", not_sampled).run();
    // Whoever had come before would be served before.
    collector.known_to(find()).env("OTEL_SERVICE_NAME", "last").run();
    assert_eq!(collector.span().resource("service.name"), Some("last"));
}

#[test]
fn a_trace_that_is_not_recorded_is_handed_on_as_it_came() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let not_sampled = PARENT.replace("-01", "-00");
    let call = collector.known_to(scene.once("k").sh(FIND)).env("TRACEPARENT", &not_sampled);
    call.stdout(not_sampled).run();
}

#[test]
fn the_variables_of_the_specification_say_where_and_as_whom() {
    let (scene, collector) = (Scene::new(), Collector::start());
    let call = collector.known_to(scene.once("k").sh(":"));
    let call = call.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9/elsewhere");
    let own = format!("{}/own/path", collector.url());
    let call = call.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", own);
    let call = call.env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=general,x-b=2%203, wrong ,");
    let call = call.env("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "Api-Key=own");
    let call =
        call.env("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment=test");
    call.env("OTEL_SERVICE_NAME", "nightly").run();
    let received = collector.receive();
    assert_eq!(received.asked(), "POST /own/path");
    assert_eq!(received.header("api-key"), Some("own"));
    assert_eq!(received.header("x-b"), Some("2 3"));
    let span = received.span();
    received.accept();
    assert_eq!(span.resource("service.name"), Some("nightly"));
    assert_eq!(span.resource("deployment.environment"), Some("test"));
}

/// A certificate that vouches for itself.
const FORM: &str = "\
[req]
distinguished_name = name
prompt = no
[name]
CN = a collector
[server]
basicConstraints = critical, CA:FALSE
subjectAltName = IP:127.0.0.1
";

/// A collector behind TLS, with a certificate in `cert.pem` that vouches for itself.
struct Secure {
    server: Running,
    address: SocketAddr,
}

impl Secure {
    fn start(scene: &Scene) -> Self {
        let openssl = |words: &str| scene.call(words).program("openssl".as_ref()).unchecked();
        scene.write("form.cnf", FORM);
        let make = "req -x509 -config form.cnf -extensions server -days 2 -newkey rsa:2048 -nodes";
        openssl(&format!("{make} -keyout key.pem -out cert.pem")).run();
        scene.write("answer", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let words = format!("s_server -quiet -accept {address} -cert cert.pem -key key.pem");
        // It says what it reads, and sends what it is fed.
        let server = openssl(&words).through_sh("(cat answer; exec tail -f /dev/null) | \"$@\"");
        let server = server.spawn();
        until("the server listens", || TcpStream::connect(address).is_ok());
        Self { server, address }
    }

    /// A call that knows it, and nobody else.
    fn known_to<'a>(&self, scene: &'a Scene, key: &str) -> Call<'a> {
        let call = alone(scene.once(key).sh(":")).env("MARK", scene.root());
        call.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("https://{}", self.address))
    }

    fn heard(&self) -> String {
        String::from_utf8_lossy(&self.server.stdout_so_far()).into_owned()
    }
}

#[test]
#[ignore = "needs openssl: cargo test --features full -- --ignored servers::"]
fn a_collector_behind_tls_is_told_where_its_certificate_is_trusted() {
    let scene = Scene::new();
    let server = Secure::start(&scene);
    server.known_to(&scene, "stranger").run();
    until("the messenger has turned away", || messengers(&scene).is_empty());
    let call = server.known_to(&scene, "friend");
    call.env("SSL_CERT_FILE", scene.path("cert.pem")).run();
    until("the server has heard of the span", || server.heard().contains("friend"));
    assert!(!server.heard().contains("stranger"), "{}", server.heard());
}

/// The processes that this scene's calls have left behind for a collector.
fn messengers(scene: &Scene) -> Vec<i32> {
    let mark = format!("MARK={}", scene.root().display());
    let all = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    all.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_ours = environment.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes());
        is_ours && fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.as_os_str() == BIN)
    })
    .collect()
}

/// What a process has open, but for what is nothing.
fn open_files(pid: i32) -> Vec<String> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let names =
        open.filter_map(|fd| Some(fs::read_link(fd.ok()?.path()).ok()?.display().to_string()));
    names.filter(|name| name != "/dev/null").collect()
}
