//! A repeated request gets the response of the first.

use super::{KEY, Request, says};
use crate::support::Scene;

const METHODS: [&str; 3] = ["POST", "PATCH", "DELETE"];

#[test]
fn a_repeated_request_gets_the_response_of_the_first_and_is_told_so() {
    for method in METHODS {
        let scene = Scene::new();
        scene.behave(r"printf 'Status: 201 Created\r\nX-Id: 7\r\n\r\nmade '; cat");
        let request = || Request::new(&scene, method).with("HTTP_IDEMPOTENCY_KEY", KEY).body("it");
        let first = "Status: 201 Created\r\nX-Id: 7\r\n\r\nmade it";
        request().call("").stdout(first).run();
        scene.behave("echo 'Status: 500'; echo");
        let again = "Status: 201 Created\r\nX-Id: 7\r\nIdempotent-Replayed: true\r\n\r\nmade it";
        request().call("").stdout(again).run();
        request().call("").stdout(again).run();
        assert_eq!(scene.runs(), 1, "{method}");
    }
}

#[test]
fn a_handler_that_has_an_answer_from_elsewhere_says_nothing_of_ours_being_given_again() {
    let scene = Scene::new();
    // In pieces, so that what is left out does not come in one.
    let script =
        r"printf 'A: b\nIdempotent-Repl'; echo >&2; printf 'ayed: false\nC: d\n\n'; printf body";
    scene.behave(script);
    let first = Request::post(&scene, KEY, "").call("").any_stdout().any_stderr().run();
    assert_eq!(first.text(), "A: b\nIdempotent-Replayed: false\nC: d\n\nbody");
    let again = "A: b\nC: d\nIdempotent-Replayed: true\n\nbody";
    Request::post(&scene, KEY, "").call("").stdout(again).run();
}

#[test]
fn every_byte_of_a_response_is_given_again() {
    let scene = Scene::new();
    let bytes: Vec<u8> = (0..=255_u8).chain(*b"\r\n\r\n\n\n").cycle().take(300_001).collect();
    let head = b"Content-Type: application/octet-stream\n";
    scene.write("bytes", [head, &b"\n"[..], &bytes].concat());
    scene.behave("cat bytes");
    Request::post(&scene, KEY, "").call("").stdout(scene_bytes(&scene)).run();
    let again = [head, &b"Idempotent-Replayed: true\n\n"[..], &bytes].concat();
    for _ in 0..2 {
        Request::post(&scene, KEY, "").call("").stdout(&again).run();
    }
    assert_eq!(scene.runs(), 1);
}

fn scene_bytes(scene: &Scene) -> Vec<u8> {
    std::fs::read(scene.path("bytes")).unwrap()
}

#[test]
fn a_large_response_is_given_again_from_the_file_that_it_is_in() {
    let scene = Scene::new();
    scene.behave(&format!("{}; head -c 3000000 /dev/zero", says("")));
    let first = Request::post(&scene, KEY, "").answer("");
    let again = Request::post(&scene, KEY, "").answer("");
    assert!(again.is_replayed() && again.body.len() == 3_000_000);
    assert_eq!(first.body, again.body);
}

#[test]
fn lines_end_in_a_response_that_is_given_again_as_the_handler_ended_them() {
    for (printed, again) in [
        (r"A: b\n\nx", "A: b\nIdempotent-Replayed: true\n\nx"),
        (r"A: b\r\n\r\nx", "A: b\r\nIdempotent-Replayed: true\r\n\r\nx"),
        (
            r"Status: 204 No Content\r\n\r\n",
            "Status: 204 No Content\r\nIdempotent-Replayed: true\r\n\r\n",
        ),
        (r"Status: 204\n", "Idempotent-Replayed: true\nStatus: 204\n"),
        ("no header", "no header"),
    ] {
        let scene = Scene::new();
        scene.behave(&format!("printf '{printed}'"));
        Request::post(&scene, KEY, "").call("").any_stdout().run();
        Request::post(&scene, KEY, "").call("").stdout(again).run();
        assert_eq!(scene.runs(), 1);
    }
}

#[test]
fn what_a_handler_writes_for_its_operator_is_written_once() {
    let scene = Scene::new();
    scene.behave(&format!("echo careful >&2; {}", says("done")));
    Request::post(&scene, KEY, "").call("").any_stdout().stderr("careful\n").run();
    let again = Request::post(&scene, KEY, "").answer("");
    assert!(again.is_replayed());
    assert_eq!(again.text(), "done");
}

#[test]
fn a_handler_finds_its_environment_and_the_keys() {
    let scene = Scene::new();
    scene.behave(
        r#"printf 'A: b\r\n\r\n%s %s %s %s %s %s' "$SCRIPT_NAME" "$HTTP_X_MORE" "$DOUBLETAP_KEY" \
            "$DOUBLETAP_NAMESPACE" "$DOUBLETAP_IDEMPOTENCY_KEY" "$TRACEPARENT""#,
    );
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request =
        Request::post(&scene, KEY, "").with("HTTP_X_MORE", "more").with("TRACEPARENT", trace);
    let text = request.answer("--namespace web").text();
    let words: Vec<&str> = text.split(' ').collect();
    assert_eq!(words[..4], ["/pay", "more", KEY, "web"]);
    assert_eq!(words[4], scene.keys()[0]);
    assert_eq!(words[5], trace);
}

#[test]
fn steps_and_calls_of_their_own_work_within_a_handler() {
    let scene = Scene::new();
    scene.behave(&format!(
        r#"{}; "$BIN" step charge -- echo charged; "$BIN" once {KEY} -- echo other"#,
        says("")
    ));
    let first = Request::post(&scene, KEY, "").answer("");
    assert_eq!(first.text(), "charged\nother\n");
    assert_eq!(scene.state(KEY), "done", "the key of the handler is another one's");
}
