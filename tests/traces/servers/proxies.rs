//! The way to a collector, which may lead through a proxy.

use std::net::TcpListener;

use super::super::collector::{Collector, alone};
use crate::support::{Call, Scene, until};

/// A proxy that hears who is asked for, and takes nobody there.
struct Proxy(TcpListener);

impl Proxy {
    fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().unwrap())
    }

    /// Who is asked for through it.
    #[track_caller]
    fn asked(&self) -> String {
        use std::io::{BufRead as _, BufReader};
        self.0.set_nonblocking(true).unwrap();
        let mut accepted = None;
        until("somebody comes to the proxy", || {
            accepted = self.0.accept().ok();
            accepted.is_some()
        });
        let (stream, _) = accepted.unwrap();
        stream.set_nonblocking(false).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    #[track_caller]
    fn is_unknown(&self) {
        self.0.set_nonblocking(true).unwrap();
        let came = self.0.accept();
        assert!(came.is_err(), "nobody was to come to this proxy");
    }
}

/// A call that knows a collector by this URL.
fn call<'a>(scene: &'a Scene, key: &str, endpoint: &str) -> Call<'a> {
    alone(scene.once(key).sh(":")).env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
}

#[test]
fn a_collector_on_this_machine_is_asked_for_at_no_proxy() {
    let (scene, collector, proxy) = (Scene::new(), Collector::start(), Proxy::start());
    let all = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let calls = [collector.url(), collector.url().replace("127.0.0.1", "localhost")];
    for (number, endpoint) in calls.iter().enumerate() {
        let mut call = call(&scene, &format!("k{number}"), endpoint);
        for name in all {
            call = call.env(name, proxy.url());
        }
        call.run();
        assert_eq!(collector.span().attribute("doubletap.outcome"), Some("ran"));
    }
    proxy.is_unknown();
}

#[test]
fn a_proxy_is_for_the_scheme_that_its_variable_names() {
    let (scene, proxy, other) = (Scene::new(), Proxy::start(), Proxy::start());
    for (number, (scheme, name)) in [
        ("http", "http_proxy"),
        ("https", "https_proxy"),
        ("https", "HTTPS_PROXY"),
        ("http", "all_proxy"),
        ("https", "ALL_PROXY"),
    ]
    .into_iter()
    .enumerate()
    {
        // Nobody has this name, by RFC 6761.
        let call = call(&scene, &format!("k{number}"), &format!("{scheme}://there.invalid:4318"));
        // All that is not for this scheme, or only where nothing is.
        let strangers: &[&str] = match (scheme, name) {
            (_, "all_proxy" | "ALL_PROXY") => &["HTTP_PROXY"],
            ("http", _) => &["https_proxy", "HTTPS_PROXY", "all_proxy", "HTTP_PROXY"],
            _ => &["http_proxy", "ALL_PROXY"],
        };
        let call = strangers.iter().fold(call, |call, name| call.env(name, other.url()));
        call.env(name, proxy.url()).run();
        assert!(proxy.asked().contains("there.invalid:4318"), "{name}");
    }
    other.is_unknown();
}

#[test]
fn where_no_proxy_is_wanted_none_is_asked() {
    let (scene, collector, proxy) = (Scene::new(), Collector::start(), Proxy::start());
    // This machine too, but not by a name that says so.
    let endpoint = collector.url().replace("127.0.0.1", "0.0.0.0");
    for (number, (name, list)) in
        [("no_proxy", "*"), ("NO_PROXY", "0.0.0.0"), ("no_proxy", "elsewhere, 0.0.0.0")]
            .into_iter()
            .enumerate()
    {
        let call = call(&scene, &format!("k{number}"), &endpoint);
        call.env("http_proxy", proxy.url()).env(name, list).run();
        assert_eq!(collector.span().attribute("doubletap.outcome"), Some("ran"), "{list}");
    }
    proxy.is_unknown();
    let call = call(&scene, "k", &endpoint);
    call.env("http_proxy", proxy.url()).env("no_proxy", "elsewhere,10.0.0.0").run();
    assert!(proxy.asked().contains("0.0.0.0"));
}
