//! What is none of our business goes straight through.

use super::{Answer, KEY, Request, says};
use crate::support::Scene;

#[test]
fn methods_that_may_be_repeated_go_straight_through_with_a_key_too() {
    let scene = Scene::new();
    scene.behave(&format!("{}; cat", says("")));
    for method in ["GET", "HEAD", "OPTIONS", "PUT"] {
        let before = scene.runs();
        for _ in 0..2 {
            let request =
                Request::new(&scene, method).with("HTTP_IDEMPOTENCY_KEY", KEY).body("fed");
            let call = request.call("--require-key --require-random-key --max-body 1");
            call.stdout("Content-Type: text/plain\r\n\r\nfed").run();
        }
        assert_eq!(scene.runs(), before + 2, "{method}");
    }
    assert!(!scene.store().exists(), "nothing was looked up");
}

#[test]
fn requests_without_a_key_go_straight_through() {
    let scene = Scene::new();
    scene.behave(&says("hello"));
    for key in [None, Some(""), Some(" ")] {
        let request = Request::new(&scene, "POST").body("x");
        let request = match key {
            Some(key) => request.with("HTTP_IDEMPOTENCY_KEY", key),
            None => request,
        };
        let answer = request.answer("");
        assert!(!answer.is_replayed());
    }
    assert_eq!(scene.runs(), 3);
    assert!(!scene.store().exists(), "nothing was looked up");
}

#[test]
fn what_goes_through_is_the_handler_itself() {
    let scene = Scene::new();
    let request = Request::new(&scene, "GET");
    let call = scene.call("cgi").command(["sh", "-c", "echo $PPID; exit 7"]);
    let wrapped = request.handled_by(call).any_stdout().status(7).run().text();
    let ours = std::process::id().to_string();
    assert_eq!(wrapped.trim(), ours, "nobody is between the server and the handler");
    let call = scene.call("cgi").command(["sh", "-c", "kill -9 $$"]);
    request.handled_by(call).dies_of(crate::support::Signal::SIGKILL).run();
    let call =
        scene.call("cgi").command(["sh", "-c", "exec <&0; grep -c SigIgn /proc/self/status"]);
    request.handled_by(call).stdout("1\n").run();
}

#[test]
fn a_handler_that_goes_through_ignores_no_signal_that_it_would_not() {
    let scene = Scene::new();
    let ignored = ["grep", "SigIgn", "/proc/self/status"];
    let bare = scene.call("SigIgn /proc/self/status").program("grep".as_ref());
    let bare = bare.any_stdout().run().text();
    let call = scene.call("cgi").command(ignored);
    Request::new(&scene, "GET").handled_by(call).stdout(bare).run();
}

#[test]
fn a_handler_that_cannot_be_executed_is_told_of() {
    let scene = Scene::new();
    let request = Request::new(&scene, "GET");
    let call = scene.call("cgi").command(["./absent"]);
    let call = request.handled_by(call).status(127).note(&["cgi", "./absent", "not found"]);
    Answer::of(&call.any_stdout().run()).problem(500, "Internal Server Error");
    scene.write("text", "no program");
    let call = scene.call("cgi").command(["./text"]);
    let call = request.handled_by(call).status(126).note(&["cgi", "./text", "cannot be executed"]);
    Answer::of(&call.any_stdout().run()).problem(500, "Internal Server Error");
}

#[test]
fn outside_a_server_it_says_what_it_is_for() {
    let scene = Scene::new();
    let call = scene.handled("").status(64);
    call.note(&["REQUEST_METHOD", "web server", "once --key-env"]).run();
    let call = scene.call("cgi ./handler").status(64);
    call.note(&["a command goes after --: doubletap cgi -- ./handler"]).run();
    let call = scene.call("cgi").command([""]).status(64);
    call.note(&["COMMAND is empty"]).run();
    scene.handled("--frobnicate").status(64).note(&["--frobnicate"]).run();
    scene.handled("").env("DOUBLETAP_NAMESPACE", "").status(64).note(&["namespace"]).run();
    assert_eq!(scene.runs(), 0);
}
