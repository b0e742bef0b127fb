//! The body is read once, in bounded memory, and handed to the handler.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use super::{Answer, KEY, Request, says};
use crate::support::Scene;
use crate::support::processes::peak_memory_kb;

#[test]
fn a_body_comes_to_the_handler_byte_for_byte() {
    let scene = Scene::new();
    scene.behave(&format!("{}; cat", says("")));
    let bytes: Vec<u8> = (0..=255_u8).cycle().take(10 << 20).collect();
    for again in [false, true] {
        let answer = Request::post(&scene, KEY, "").body(&bytes).answer("");
        assert_eq!((answer.is_replayed(), answer.body == bytes), (again, true));
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn no_more_is_read_than_the_server_says_there_is() {
    let scene = Scene::new();
    scene.behave(&format!("{}; cat", says("")));
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"body").unwrap();
    let call = Request::post(&scene, KEY, "body").call("");
    // It stays open: who waited for its end would wait for ever.
    let call = call.stdin(File::from(OwnedFd::from(reader)));
    assert_eq!(Answer::of(&call.any_stdout().run()).text(), "body");
    drop(writer);
}

/// fcgiwrap makes a 502 of whatever is answered before it has got rid of the body.
#[test]
fn a_body_that_nobody_wants_is_read_all_the_same() {
    let large = vec![b'x'; 300_000];
    let whole = large.len().to_string();
    for (key, length, options, folder, status) in [
        ("", &*whole, "--require-key", "/tmp", "400"),
        ("", "", "--require-key", "/tmp", "400"),
        ("\"open", &whole, "", "/tmp", "400"),
        (KEY, "many", "", "/tmp", "400"),
        (KEY, &whole, "--max-body 100KiB", "/tmp", "413"),
        (KEY, "", "--max-body 100KiB", "/tmp", "413"),
        (KEY, &whole, "", "/nonexistent", "503"),
        (KEY, "", "", "/nonexistent", "503"),
        (KEY, &whole, "--log /nonexistent/log", "/tmp", "503"),
    ] {
        let scene = Scene::new();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let call = Request::post(&scene, key, "").without("CONTENT_LENGTH");
        let call = call.with("CONTENT_LENGTH", length).call(options).env("TMPDIR", folder);
        let call = call.stdin(File::from(OwnedFd::from(reader))).any_stdout().any_stderr();
        let running = call.spawn();
        let written = writer.write_all(&large);
        // Where the length is known it stays open: who waited for its end would wait for ever.
        let open = (length == whole).then_some(writer);
        assert_eq!(Answer::of(&running.finish()).status(), status);
        assert!(written.is_ok(), "{status}, a length of {length:?}, {options}: {written:?}");
        drop(open);
    }
}

#[test]
fn a_body_of_unknown_length_is_read_to_its_end() {
    let scene = Scene::new();
    scene.behave(&format!("{}; cat", says("")));
    let chunked = || Request::post(&scene, KEY, "in chunks").without("CONTENT_LENGTH");
    assert_eq!(chunked().answer("").text(), "in chunks");
    assert!(chunked().answer("").is_replayed());
    chunked().with("CONTENT_LENGTH", "").answer("");
    assert!(Request::post(&scene, KEY, "in chunks").answer("").is_replayed());
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_body_that_is_too_large_is_refused_and_nothing_runs() {
    let scene = Scene::new();
    scene.behave(&says("done"));
    for request in [
        Request::post(&scene, KEY, "12345"),
        Request::post(&scene, KEY, "12345").without("CONTENT_LENGTH"),
    ] {
        let answer = request.answer_and_note("--max-body 4", &[KEY, "--max-body"]);
        let detail = answer.problem(413, "Content Too Large");
        assert!(detail.contains("4 bytes"), "{detail}");
    }
    let large = vec![0; (16 << 20) + 1];
    let request = || Request::post(&scene, KEY, "").body(&large);
    request().answer_and_note("", &["16777216"]).problem(413, "Content Too Large");
    assert_eq!(scene.runs(), 0);
    Request::post(&scene, KEY, "1234").answer("--max-body 4");
    Request::post(&scene, "other", "").body(&large).answer("--max-body none");
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_body_that_does_not_come_whole_is_refused_and_nothing_runs() {
    let scene = Scene::new();
    let request = Request::post(&scene, KEY, "half").without("CONTENT_LENGTH");
    let request = request.with("CONTENT_LENGTH", "8");
    request.answer_and_note("", &[KEY, "CONTENT_LENGTH"]).problem(400, "Bad Request");
    let request = Request::post(&scene, KEY, "half").without("CONTENT_LENGTH");
    let request = request.with("CONTENT_LENGTH", "many");
    request.answer_and_note("", &[KEY, "CONTENT_LENGTH"]).problem(400, "Bad Request");
    assert_eq!(scene.runs(), 0);
    assert_eq!(scene.state(&format!("{KEY} --namespace cgi:default:guest")), "absent");
}

#[test]
fn a_body_of_any_size_takes_bounded_memory() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(&format!("read x <gate; {}; wc -c", says("")));
    let large = vec![1; 64 << 20];
    let request = Request::post(&scene, KEY, "").body(&large);
    let running = scene.begun(request.call("--max-body none").any_stdout());
    let peak = peak_memory_kb(running.pid());
    gate.open();
    assert_eq!(Answer::of(&running.finish()).text(), "67108864\n");
    assert!(peak < 16 << 10, "it took {peak} kB");
}

#[test]
fn without_room_for_a_body_nothing_runs() {
    let scene = Scene::new();
    let call = Request::post(&scene, KEY, "body").call("").env("TMPDIR", "/nonexistent");
    let done = call.any_stdout().note(&[KEY, "body", "/nonexistent", "TMPDIR"]).run();
    let detail = Answer::of(&done).problem(503, "Service Unavailable");
    assert!(detail.contains("cannot be taken in"), "{detail}");
    assert_eq!(scene.runs(), 0);
}

#[test]
fn a_handler_that_does_not_read_its_body_is_no_failure() {
    let scene = Scene::new();
    scene.behave(&says("done"));
    let request = Request::post(&scene, KEY, "").body(vec![7; 1 << 20]);
    assert_eq!(request.clone().answer("").text(), "done");
    assert!(request.answer("").is_replayed());
}
