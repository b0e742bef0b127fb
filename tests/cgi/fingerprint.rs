//! The same key with another request is refused.

use super::{KEY, REUSED, Request, says};
use crate::support::Scene;

#[test]
fn another_method_path_query_content_type_or_body_is_another_request() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    let request = || {
        let request = Request::post(&scene, KEY, "body").with("PATH_INFO", "/17");
        let request = request.with("QUERY_STRING", "a=1").with("REQUEST_URI", "/pay/17?a=1");
        request.with("CONTENT_TYPE", "text/plain")
    };
    request().answer("");
    for (variable, value, field) in [
        ("REQUEST_METHOD", "PATCH", "method differs"),
        ("SCRIPT_NAME", "/refund", "path differs"),
        ("PATH_INFO", "/18", "path differs"),
        ("REQUEST_URI", "/refund/17?a=1", "path differs"),
        ("QUERY_STRING", "a=2", "query differs"),
        ("REQUEST_URI", "/pay/17?a=2", "query differs"),
        ("CONTENT_TYPE", "text/html", "content type differs"),
    ] {
        let other = request().without(variable).with(variable, value);
        other.answer_and_note("", &[KEY, field]).problem(422, REUSED);
    }
    for body in ["bodx", "bod", "", "body2"] {
        request().body(body).answer_and_note("", &["body differs"]).problem(422, REUSED);
    }
    assert!(request().with("HTTP_USER_AGENT", "another").answer("").is_replayed());
    assert_eq!(scene.runs(), 1);
}

#[test]
fn hosts_share_the_keys_of_a_store_unless_that_is_said() {
    let scene = Scene::new();
    scene.behave(r#"printf 'A: b\n\n%s' "$HTTP_HOST""#);
    let ask = |host: &str, options: &str| {
        Request::post(&scene, KEY, "").with("HTTP_HOST", host).answer(options)
    };
    for host in ["a.example", "b.example"] {
        assert_eq!(ask(host, "").text(), "a.example");
    }
    for host in ["a.example", "b.example"] {
        assert_eq!(ask(host, &format!("--namespace {host}")).text(), host);
    }
    let key = Request::post(&scene, "another", "").with("HTTP_HOST", "a.example");
    key.clone().answer("--fingerprint env:HTTP_HOST");
    let other = key.without("HTTP_HOST").with("HTTP_HOST", "b.example");
    let words = ["env:HTTP_HOST differs"];
    other.answer_and_note("--fingerprint env:HTTP_HOST", &words).problem(422, REUSED);
}

#[test]
fn what_is_in_the_path_of_one_request_is_not_in_its_query() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    let request = Request::post(&scene, KEY, "");
    request.clone().without("SCRIPT_NAME").with("SCRIPT_NAME", "/a/b").answer("");
    let other = request.without("SCRIPT_NAME").with("SCRIPT_NAME", "/a").with("PATH_INFO", "/b");
    other.answer_and_note("", &["path differs"]).problem(422, REUSED);
}

#[test]
fn a_json_body_may_be_written_in_another_way_where_that_is_said() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    let json = "--fingerprint json";
    Request::post(&scene, KEY, r#"{"a":1,"b":[1,2]}"#).answer(json);
    for same in [r#"{"b":[1,2],"a":1}"#, "{ \"a\" : 1,\n\"b\": [1, 2] }"] {
        assert!(Request::post(&scene, KEY, same).answer(json).is_replayed(), "{same}");
    }
    for other in [r#"{"a":1,"b":[2,1]}"#, r#"{"a":1}"#, "{", ""] {
        let request = Request::post(&scene, KEY, other);
        request.answer_and_note(json, &["body differs"]).problem(422, REUSED);
    }
    // What is no JSON is compared byte by byte, and is for the handler to refuse.
    Request::post(&scene, "other", "{").answer(json);
    assert!(Request::post(&scene, "other", "{").answer(json).is_replayed());
    Request::post(&scene, "other", "{ ").answer_and_note(json, &["body"]).problem(422, REUSED);
    assert_eq!(scene.runs(), 2);
}

#[test]
fn more_can_be_compared() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    let options = "--fingerprint env:HTTP_X_TENANT --fingerprint json";
    let request = |tenant: &str| Request::post(&scene, KEY, "1").with("HTTP_X_TENANT", tenant);
    request("a").answer(options);
    assert!(request("a").answer(options).is_replayed());
    request("b").answer_and_note(options, &["env:HTTP_X_TENANT"]).problem(422, REUSED);
    for bad in ["stdin", "none", "jsom"] {
        let call = request("a").call(&format!("--fingerprint {bad}"));
        call.status(64).note(&["--fingerprint"]).any_stdout().run();
    }
}
