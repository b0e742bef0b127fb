//! While a request is handled, others with its key are told to come again, or wait.

use super::{Answer, KEY, OUTSTANDING, Request, says};
use crate::support::{Scene, finished};

#[test]
fn a_request_in_progress_is_a_409_that_says_when_to_come_again() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(&format!("read x <gate; {}", says("done")));
    let first = scene.begun(Request::post(&scene, KEY, "").call("--claim-ttl 20s").any_stdout());
    let answer = Request::post(&scene, KEY, "").answer_and_note("", &[KEY, "busy", "pid"]);
    let detail = answer.problem(409, OUTSTANDING);
    assert!(!detail.contains("pid"), "the client is told who holds it: {detail}");
    let seconds: u64 = answer.header("Retry-After").unwrap().parse().unwrap();
    assert!((15..=20).contains(&seconds), "it is the rest of the holder's lease: {seconds}");
    assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    gate.open();
    assert!(!Answer::of(&first.finish()).is_replayed());
    assert!(Request::post(&scene, KEY, "").answer("").is_replayed());
    assert_eq!(scene.runs(), 1);
}

#[test]
fn another_request_with_the_key_in_progress_is_refused_at_once() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(&format!("read x <gate; {}", says("done")));
    let first = scene.begun(Request::post(&scene, KEY, "a").call("").any_stdout());
    let other = Request::post(&scene, KEY, "b").answer_and_note("", &["body differs"]);
    other.problem(422, super::REUSED);
    gate.open();
    first.finish();
}

#[test]
fn who_waits_gets_the_response_of_the_first() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(&format!("read x <gate; {}", says("done")));
    let first = scene.begun(Request::post(&scene, KEY, "").call("").any_stdout());
    let waiting: Vec<_> = (0..3)
        .map(|_| Request::post(&scene, KEY, "").call("--wait 1m").any_stdout().spawn())
        .collect();
    scene.await_waiters(3);
    gate.open();
    first.finish();
    for done in finished(waiting) {
        let answer = Answer::of(&done);
        assert_eq!((answer.is_replayed(), answer.text()), (true, "done".to_owned()));
    }
    assert_eq!(scene.runs(), 1);
    let mut gate = scene.gate();
    scene.behave(&format!("read x <gate; {}", says("done")));
    let first = scene.begun(Request::post(&scene, "other", "").call("").any_stdout());
    let late = Request::post(&scene, "other", "").call("--wait 50ms").any_stdout().any_stderr();
    Answer::of(&late.run()).problem(409, OUTSTANDING);
    gate.open();
    first.finish();
}

#[test]
fn who_waits_for_a_handler_that_fails_in_silence_is_told_of_no_success() {
    for options in ["", "--no-output"] {
        for (end, status) in [("exit 3", 3), ("kill -9 $$", 137)] {
            let scene = Scene::new();
            let mut gate = scene.gate();
            scene.behave(&format!("read x <gate; {end}"));
            let call = || Request::post(&scene, KEY, "").call(&format!("{options} --wait 1m"));
            let first = scene.begun(call().status(status));
            let waiting = call().status(status).spawn();
            scene.await_waiters(1);
            gate.open();
            first.finish();
            waiting.finish();
            assert_eq!(scene.runs(), 1);
        }
    }
}

#[test]
fn who_waits_for_a_handler_that_takes_too_long_is_answered_like_the_first() {
    for options in ["", "--no-output"] {
        let scene = Scene::new();
        scene.behave("read x <gate");
        let options = format!("{options} --wait 1m --timeout 3s --kill-after 0s");
        let call = || Request::post(&scene, KEY, "").call(&options).any_stdout().any_stderr();
        let first = scene.begun(call());
        let waiting = call().spawn();
        for done in finished([first, waiting]) {
            Answer::of(&done).problem(504, "Gateway Timeout");
        }
        assert_eq!(scene.runs(), 1);
    }
}

#[test]
fn who_waits_for_a_handler_that_is_not_there_is_answered_for() {
    for options in ["", "--no-output"] {
        let scene = Scene::new();
        let mut gate = scene.gate();
        scene.behave("read x <gate; exec ./absent 2>/dev/null");
        let first = scene.begun(Request::post(&scene, KEY, "").call(options).status(127));
        let waiting = Request::post(&scene, KEY, "").call(&format!("{options} --wait 1m"));
        let waiting = waiting.any_stdout().spawn();
        scene.await_waiters(1);
        gate.open();
        first.finish();
        Answer::of(&waiting.finish()).problem(500, "Internal Server Error");
        assert_eq!(scene.runs(), 1);
    }
}

#[test]
fn of_fifty_requests_at_once_one_has_an_effect() {
    let scene = Scene::new();
    scene.behave(&says("done"));
    let all: Vec<_> =
        (0..50).map(|_| Request::post(&scene, KEY, "").call("-q").any_stdout().spawn()).collect();
    let answers: Vec<Answer> = finished(all).iter().map(Answer::of).collect();
    assert_eq!(scene.runs(), 1);
    assert_eq!(answers.iter().filter(|it| it.text() == "done" && !it.is_replayed()).count(), 1);
    for answer in &answers {
        assert!(answer.text() == "done" || answer.status() == "409", "{}", answer.head);
    }
}

#[test]
fn after_a_failure_a_key_may_rest() {
    let scene = Scene::new();
    scene.behave("echo 'Status: 503'; echo");
    Request::post(&scene, KEY, "").answer("--retry-after 90s");
    let answer = Request::post(&scene, KEY, "").answer_and_note("", &["rests"]);
    let detail = answer.problem(409, "Conflict");
    assert!(detail.contains("without success"), "nothing is being processed: {detail}");
    let seconds: u64 = answer.header("Retry-After").unwrap().parse().unwrap();
    assert!((80..=90).contains(&seconds), "{seconds}");
}

#[test]
fn a_call_says_in_its_report_what_it_came_to() {
    let scene = Scene::new();
    scene.behave(&says("done"));
    for outcome in ["ran", "replayed"] {
        Request::post(&scene, KEY, "").answer("--report report.json --log log");
        let line: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
        assert_eq!((&line["verb"], &line["outcome"]), (&"cgi".into(), &outcome.into()));
        assert_eq!((&line["key"], &line["namespace"]), (&KEY.into(), &"cgi:default:guest".into()));
    }
    Request::post(&scene, KEY, "x").call("--report report.json").any_stdout().any_stderr().run();
    assert!(scene.read("report.json").contains("\"outcome\":\"mismatch\""));
    let stats = scene.json("stats --log log --json").to_string();
    assert!(stats.contains("cgi"), "{stats}");
}
