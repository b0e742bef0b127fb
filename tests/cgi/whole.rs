//! No answer is whole before it is on record: a server may end a handler whose answer is.

use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::fd::OwnedFd;

use super::{Answer, KEY, Request, says};
use crate::support::damage::DAMAGES;
use crate::support::{Running, Scene, Signal};

/// What is on record of the request.
const RECORDED: &str = "show 8e03978e-40d5-43e8-bc93-6894a57f9324 --namespace cgi:default:guest";

/// Starts a request whose handler answers with this, waits at the gate, and has its effect.
fn answering(scene: &Scene, answer: &str) -> (Running, PipeReader) {
    scene.behave(&format!("printf '{answer}'; read x <gate; echo effect >>effects"));
    let (reader, writer) = std::io::pipe().unwrap();
    let call = Request::post(scene, KEY, "").call("");
    (call.stdout_into(File::from(OwnedFd::from(writer))).spawn(), reader)
}

/// Reads until it has come so far.
#[track_caller]
fn read_to(reader: &mut PipeReader, read: &mut Vec<u8>, end: &str) {
    while !String::from_utf8_lossy(read).contains(end) {
        let mut piece = [0; 4096];
        let count = reader.read(&mut piece).unwrap();
        assert!(count > 0, "{} ends before {end:?}", String::from_utf8_lossy(read));
        read.extend_from_slice(&piece[..count]);
    }
}

#[test]
fn a_handler_that_says_how_long_its_answer_is_is_not_taken_to_be_done_before_it_is() {
    for (answer, before, end) in [
        (r"A: b\r\nContent-Length: 4\r\n\r\ndone", "\r\n\r\ndon", "done"),
        (r"A: b\nContent-Length: 4\n\ndone and more", "\n\ndon", "done and more"),
        (r"Content-Length: 0\r\n\r\n", "0\r\n\r", "0\r\n\r\n"),
        (r"Status: 204\n\n", "204\n", "204\n\n"),
        (r"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone", "\r\n\r\ndon", "done"),
        (r"A: b\nX-Sendfile: /receipt\n\n", "/receipt\n", "/receipt\n\n"),
    ] {
        let scene = Scene::new();
        let mut gate = scene.gate();
        let (running, mut reader) = answering(&scene, answer);
        let mut read = Vec::new();
        read_to(&mut reader, &mut read, before);
        if !String::from_utf8_lossy(&read).ends_with(end) {
            gate.open();
            read_to(&mut reader, &mut read, end);
        }
        // What a server does once it has all of an answer.
        running.signal(Signal::SIGTERM);
        running.finish();
        let shown = scene.json(&format!("{RECORDED} --json"));
        assert_eq!(shown["state"], "done", "{answer}");
        Request::post(&scene, KEY, "").call("").any_stdout().run();
        assert_eq!((scene.runs(), &*scene.read("effects")), (1, "effect\n"), "{answer}");
    }
}

#[test]
fn an_answer_comes_as_it_is_printed_where_nobody_can_know_its_end() {
    for answer in [r"A: b\n\nevent\n\n", r"Content-Length: 9\n\nevent\n\n"] {
        let scene = Scene::new();
        let mut gate = scene.gate();
        let (running, mut reader) = answering(&scene, answer);
        read_to(&mut reader, &mut Vec::new(), "\n\nevent\n\n");
        gate.open();
        running.finish();
    }
}

#[test]
fn a_handler_that_fails_after_its_answer_has_it_handed_on_and_fails() {
    let scene = Scene::new();
    scene.behave(r"printf 'Content-Length: 6\n\nalmost'; exit 3");
    let first = Request::post(&scene, KEY, "").call("").status(3).any_stdout().run();
    assert_eq!(Answer::of(&first).text(), "almost");
    let options = "--timeout 100ms --kill-after 0s";
    scene.behave(r"printf 'Content-Length: 6\n\nalmost'; read x <gate");
    let call = Request::post(&scene, KEY, "").call(options).status(124).any_stdout();
    let second = call.note(&["longer than 100ms"]).run();
    assert_eq!(Answer::of(&second).text(), "almost");
    scene.behave(&says("done"));
    assert!(!Request::post(&scene, KEY, "").answer("").is_replayed());
}

#[test]
fn an_answer_with_far_more_body_than_it_says_is_recorded_whole_and_the_operator_is_told() {
    let scene = Scene::new();
    scene.behave(r"printf 'Content-Length: 4\n\n'; head -c 300000 /dev/zero");
    let call = Request::post(&scene, KEY, "").call("").status(73).any_stdout();
    let first = call.note(&[KEY, "could not be written", "headers"]).run();
    assert_eq!(Answer::of(&first).body.len(), 3 + (64 << 10));
    let again = Request::post(&scene, KEY, "").answer("");
    assert_eq!((again.is_replayed(), again.body.len()), (true, 300_000));
}

#[test]
fn a_handler_that_runs_unguarded_is_not_taken_to_be_done_either() {
    let scene = Scene::new();
    DAMAGES[0].inflict(&scene);
    scene.behave(r"printf 'Content-Length: 4\r\n\r\ndone'; echo effect >>effects");
    let call = Request::post(&scene, KEY, "").call("--fail-open").notes(&["unguarded"]);
    assert_eq!(Answer::of(&call.any_stdout().run()).text(), "done");
    assert_eq!(scene.read("effects"), "effect\n");
}

#[test]
fn who_does_not_read_the_end_of_an_answer_does_not_keep_a_call_that_is_told_to_end() {
    let scene = Scene::new();
    let body = "head -c 40000 /dev/zero";
    scene.behave(&format!(r"printf 'Content-Length: 0\n\n'; {body}; {body}; echo >printed"));
    let (reader, writer) = std::io::pipe().unwrap();
    let call = Request::post(&scene, KEY, "").call("").unchecked();
    let running = call.stdout_into(File::from(OwnedFd::from(writer))).spawn();
    crate::support::until("its end is on record", || {
        scene.call(RECORDED).unchecked().run().text().contains("done")
    });
    running.signal(Signal::SIGTERM);
    running.finish();
    drop(reader);
}
