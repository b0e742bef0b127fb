//! A call that is wrong in itself: its client gets an answer, and only its operator the
//! reason.

use super::{Answer, KEY, Request};
use crate::support::{Call, Scene};

/// A GET, and a POST without and with a key.
fn requests(scene: &Scene) -> [Request<'_>; 3] {
    let body = "x".repeat(100_000);
    [
        Request::new(scene, "GET"),
        Request::new(scene, "POST").body(&body),
        Request::post(scene, KEY, &body),
    ]
}

/// Makes the call for each request: nothing is run, the operator is told with these words
/// and this is the status, and the client is told nothing but that.
#[track_caller]
fn excused<'a>(scene: &'a Scene, call: impl Fn() -> Call<'a>, words: &[&str]) {
    for request in requests(scene) {
        let call = request.handled_by(call()).status(64).note(words).any_stdout();
        let answer = Answer::of(&call.run());
        let detail = answer.problem(500, "Internal Server Error");
        assert_eq!(detail, "The request could not be handled.", "{words:?}");
    }
    assert_eq!(scene.runs(), 0, "{words:?}");
    assert!(!scene.store().exists(), "{words:?}");
}

#[test]
fn a_wrong_command_line_is_a_500() {
    let scene = Scene::new();
    for (options, word) in [
        ("--frobnicate", "--frobnicate"),
        ("--ttl 5", "--ttl"),
        ("--wait", "--wait"),
        ("--store mysql://app@h/d", "mysql"),
        ("--max-output 1 --no-output", "--no-output"),
    ] {
        excused(&scene, || scene.handled(options), &[word]);
    }
    excused(&scene, || scene.call("--quiet --frobnicate cgi").sh(":"), &["--frobnicate"]);
    excused(&scene, || scene.call("cgi"), &["COMMAND"]);
    excused(&scene, || scene.call("cgi ./handler"), &["a command goes after --"]);
    excused(&scene, || scene.call("cgi").command([""]), &["COMMAND is empty"]);
}

#[test]
fn a_variable_with_a_bad_value_is_a_500() {
    let scene = Scene::new();
    for (name, value, word) in [
        ("DOUBLETAP_NAMESPACE", "", "--namespace"),
        ("DOUBLETAP_STORE", "mysql://app:s3cret@h/d", "mysql"),
    ] {
        excused(&scene, || scene.handled("").env(name, value), &[word]);
    }
}

#[test]
fn a_server_that_says_nothing_of_a_request_is_answered_too() {
    let scene = Scene::new();
    let call = scene.handled("").env("GATEWAY_INTERFACE", "CGI/1.1").status(64).any_stdout();
    let done = call.note(&["REQUEST_METHOD"]).run();
    Answer::of(&done).problem(500, "Internal Server Error");
}

#[test]
fn a_call_of_another_verb_in_a_handler_answers_no_server() {
    let scene = Scene::new();
    for words in ["once cgi --frobnicate -- cgi", "show --frobnicate", "frobnicate -- cgi"] {
        let call = scene.call(words).env("REQUEST_METHOD", "POST").status(64);
        call.note(&["frobnicate"]).run();
    }
}
