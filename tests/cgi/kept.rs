//! Which responses are kept for replay, how much of them, and for how long.

use super::{Answer, KEY, Request, says};
use crate::support::Scene;

fn answers_with(scene: &Scene, status: &str) {
    scene.behave(&format!(r"printf 'Status: {status}\r\n\r\nbody'"));
}

/// Whether a second request runs nothing.
fn is_kept(printed: &str, options: &str) -> bool {
    let scene = Scene::new();
    scene.behave(printed);
    Request::post(&scene, KEY, "").call(options).any_stdout().run();
    let again = Request::post(&scene, KEY, "").call(options).any_stdout().run();
    let is_kept = scene.runs() == 1;
    assert_eq!(again.text().contains("Idempotent-Replayed"), is_kept, "{printed}");
    is_kept
}

#[test]
fn answers_are_kept_and_what_says_to_come_again_is_not() {
    for (status, kept) in [
        ("200 OK", true),
        ("201 Created", true),
        ("302 Found", true),
        ("303", true),
        ("400 Bad Request", true),
        ("404 Not Found", true),
        ("408 Request Timeout", false),
        ("409 Conflict", false),
        ("425 Too Early", false),
        ("429 Too Many Requests", false),
        ("499", true),
        ("500 Internal Server Error", false),
        ("503 Service Unavailable", false),
        ("nonsense", false),
    ] {
        let printed = format!(r"printf 'Status: {status}\r\n\r\nbody'");
        assert_eq!(is_kept(&printed, ""), kept, "{status}");
    }
    assert!(is_kept(&says("no status is a success"), ""));
    assert!(is_kept(r"printf 'Location: /there\n\n'", "--record-status 302"));
    assert!(!is_kept(r"printf 'Location: /there\n\n'", "--record-status 200"));
}

#[test]
fn a_failure_is_none_of_the_kept_whatever_else_a_handler_prints_in_its_header_block() {
    for printed in [
        r"Status: 503\nsome warning\nContent-Type: text/plain\n\nsorry",
        r"Content-Type: text/plain\nsome warning\nStatus: 503\n\nsorry",
        r"HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\n\r\nsorry",
    ] {
        let scene = Scene::new();
        scene.behave(&format!("printf '{printed}'"));
        for _ in 0..2 {
            Request::post(&scene, KEY, "").call("").any_stdout().run();
        }
        assert_eq!(scene.runs(), 2, "{printed}");
        let shown = scene.json(&format!("show {KEY} --namespace cgi:default:guest --json"));
        assert_eq!(shown["state"], "failed", "{printed}");
    }
}

#[test]
fn which_statuses_are_kept_can_be_said() {
    let scene = Scene::new();
    for (list, kept, not) in [("2xx", "201", "404"), ("200,500-503", "502", "201")] {
        let option = format!("--record-status {list}");
        assert!(is_kept(&format!(r"printf 'Status: {kept}\n\n'"), &option));
        assert!(!is_kept(&format!(r"printf 'Status: {not}\n\n'"), &option));
    }
    for bad in ["ok", "2x", "600", "", "300-200"] {
        let call = scene.call("cgi --record-status").arg(bad).command(["true"]);
        call.status(64).note(&["--record-status"]).run();
    }
}

#[test]
fn a_private_response_leaves_only_its_status_in_the_store() {
    let scene = Scene::new();
    scene.behave(r"printf 'Status: 201 Made\r\nX-Secret: s3cret\r\n\r\ns3cret'; echo s3cret >&2");
    let request = || Request::post(&scene, KEY, "");
    let first = request().call("--no-output").any_stdout().stderr("s3cret\n").run();
    assert_eq!(Answer::of(&first).text(), "s3cret");
    for _ in 0..2 {
        let again = "Status: 201 Made\r\nIdempotent-Replayed: true\r\n\r\n";
        request().call("--no-output").stdout(again).run();
    }
    assert_eq!(scene.runs(), 1);
    for name in scene.state_files() {
        let bytes = std::fs::read(scene.state_folder().join(&name)).unwrap();
        let found = bytes.windows(6).any(|window| window == b"s3cret");
        assert!(!found, "{name} has the private answer");
    }
}

#[test]
fn a_handler_that_succeeds_in_silence_is_given_again_as_silence() {
    for options in ["", "--no-output"] {
        let scene = Scene::new();
        scene.behave("echo careful >&2");
        Request::post(&scene, KEY, "").call(options).stderr("careful\n").run();
        Request::post(&scene, KEY, "").call(options).run();
        assert_eq!(scene.runs(), 1);
    }
}

#[test]
fn of_a_private_text_without_a_header_block_only_the_success_is_given_again() {
    let scene = Scene::new();
    scene.behave("echo s3cret");
    let request = || Request::post(&scene, KEY, "").call("--no-output");
    request().stdout("s3cret\n").run();
    request().stdout("Status: 200 OK\r\nIdempotent-Replayed: true\r\n\r\n").run();
}

#[test]
fn a_private_response_that_takes_its_time_or_fails_is_nowhere_either() {
    let scene = Scene::new();
    // So long that what another wrote would be in a file meanwhile.
    scene.behave(r"printf 'Status: 500\r\n\r\ns3cret'; sleep 1.2");
    Request::post(&scene, KEY, "").answer("--no-output");
    let mut names = scene.state_files();
    names.retain(|name| !name.starts_with("store.db"));
    assert_eq!(names, Vec::<String>::new());
    for name in scene.state_files() {
        let bytes = std::fs::read(scene.state_folder().join(&name)).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"s3cret"), "{name}");
    }
}

#[test]
fn of_a_response_that_was_too_large_to_keep_a_repeat_gets_the_status() {
    let scene = Scene::new();
    scene.behave(r"printf 'Status: 201 Made\r\nA: b\r\n\r\n'; head -c 100000 /dev/zero");
    let request = || Request::post(&scene, KEY, "");
    assert_eq!(request().answer("--max-output 64KiB").body.len(), 100_000);
    let again = request().call("--max-output 64KiB").note(&[KEY, "only the first 65536 bytes"]);
    again.stdout("Status: 201 Made\r\nIdempotent-Replayed: true\r\n\r\n").run();
    scene.call(&format!("forget {KEY} --namespace cgi:default:guest")).run();
    request().answer("--max-output 8");
    let answer = request().call("--max-output 8").note(&["only the first 8 bytes"]).any_stdout();
    Answer::of(&answer.run()).problem(500, "Internal Server Error");
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_record_is_good_for_as_long_as_is_said() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    Request::post(&scene, KEY, "").answer("--ttl 1ms");
    crate::support::until("it has expired", || {
        !Request::post(&scene, KEY, "").answer("--ttl 1ms").is_replayed()
    });
}

#[test]
fn what_a_person_records_by_hand_is_an_answer() {
    let scene = Scene::new();
    answers_with(&scene, "201");
    scene.behave("read x <gate");
    let call = Request::post(&scene, KEY, "").call("--on-crash stop").unchecked();
    scene.begun(call).kill();
    let command = scene.command_pid();
    crate::support::processes::destroy(-command);
    crate::support::until("it is gone", || !crate::support::processes::is_alive(command));
    let stopped = Request::post(&scene, KEY, "").call("--on-crash stop").any_stdout();
    let done = stopped.note(&["interrupted", "complete", "cgi:default:guest"]).run();
    Answer::of(&done).problem(500, "Internal Server Error");
    let scope = "--namespace cgi:default:guest";
    scene.call(&format!("complete {KEY} --unresolved {scope}")).any_stderr().run();
    let again = Request::post(&scene, KEY, "").call("");
    again.stdout("Status: 200 OK\r\nIdempotent-Replayed: true\r\n\r\n").run();
    assert_eq!(scene.runs(), 1);
}
