//! Which keys are taken, and how a request is refused because of its key.

use super::{INVALID, KEY, Request, says};
use crate::support::Scene;

#[test]
fn a_quoted_key_and_a_bare_one_are_the_same() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    let keys = [format!("\"{KEY}\""), KEY.to_owned(), format!(" \"{KEY}\";a=1 ")];
    for (number, key) in keys.iter().enumerate() {
        let answer = Request::post(&scene, key, "").answer("");
        assert_eq!(answer.is_replayed(), number > 0, "{key}");
    }
    let odd = Request::post(&scene, r#""a \"b\" \\ c""#, "");
    odd.clone().answer("");
    assert!(odd.answer("").is_replayed());
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_malformed_key_is_refused_and_nothing_runs() {
    let scene = Scene::new();
    for key in [
        "\"open",
        "a, b",
        "\"a\", \"b\"",
        "\"a\";v=1, \"b\"",
        "\"a\"; , \"b\"",
        "\"a\";",
        "\"\"",
        "é",
        "\"a\\n\"",
    ] {
        let request = Request::post(&scene, key, "");
        let detail = request
            .answer_and_note("", &["refused a request", "HTTP_IDEMPOTENCY_KEY"])
            .problem(400, INVALID);
        assert!(detail.contains("cannot be used"), "{detail}");
    }
    let long = "k".repeat(1025);
    let detail =
        Request::post(&scene, &long, "").answer_and_note("", &["1025"]).problem(400, INVALID);
    assert!(detail.contains("1024"), "{detail}");
    assert_eq!(scene.runs(), 0);
}

#[test]
fn a_missing_key_is_refused_where_one_is_required() {
    let scene = Scene::new();
    for request in [
        Request::new(&scene, "POST"),
        Request::post(&scene, "", ""),
        Request::new(&scene, "DELETE"),
    ] {
        let answer = request.answer_and_note("--require-key", &["HTTP_IDEMPOTENCY_KEY"]);
        answer.problem(400, "Idempotency-Key is missing");
    }
    assert_eq!(scene.runs(), 0);
}

#[test]
fn a_key_may_come_in_a_header_of_another_name() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    let request = Request::new(&scene, "POST").with("HTTP_X_IDEMPOTENCY_KEY", "\"k\"");
    let options = "--key-env HTTP_X_IDEMPOTENCY_KEY --require-key";
    assert!(!request.clone().answer(options).is_replayed());
    assert!(request.answer(options).is_replayed());
    Request::post(&scene, KEY, "")
        .answer_and_note(options, &["HTTP_X_IDEMPOTENCY_KEY"])
        .problem(400, "Idempotency-Key is missing");
    assert_eq!(scene.runs(), 1);
    for bad in ["A=B", "$KEY", ""] {
        let call = scene.call("cgi --key-env").arg(bad).command(["true"]);
        call.status(64).note(&["--key-env"]).run();
    }
}

#[test]
fn keys_that_could_be_guessed_are_refused_of_guests_alone() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    let option = "--require-random-key";
    for key in
        ["17", "order-17", "1732977896123456", "aaaaaaaaaaaaaaaaaaaa", "2026-11-30T14:37:59Z"]
    {
        let request = Request::post(&scene, key, "");
        let detail = request.answer_and_note(option, &[key, "REMOTE_USER"]).problem(400, INVALID);
        assert!(detail.contains("guess"), "{detail}");
    }
    assert_eq!(scene.runs(), 0);
    Request::post(&scene, KEY, "").answer(option);
    Request::post(&scene, "17", "").with("REMOTE_USER", "alice").answer(option);
    Request::post(&scene, "17", "").answer("");
    assert_eq!(scene.runs(), 3);
}
