//! What is not recorded, and what is answered where the handler has no say.

use super::{Answer, KEY, Request, says};
use crate::support::damage::DAMAGES;
use crate::support::processes::{destroy, is_alive};
use crate::support::{Scene, Signal, until};

#[test]
fn a_handler_that_fails_is_not_recorded_whatever_it_printed() {
    let scene = Scene::new();
    scene.behave(&format!("{}; exit 3", says("almost")));
    let first = Request::post(&scene, KEY, "").call("").status(3).any_stdout().run();
    assert_eq!(Answer::of(&first).text(), "almost", "it is handed on all the same");
    scene.behave(&says("done"));
    let second = Request::post(&scene, KEY, "").answer("");
    assert_eq!((second.is_replayed(), second.text()), (false, "done".to_owned()));
    assert!(Request::post(&scene, KEY, "").answer("").is_replayed());
    let keys = scene.keys();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]), "one operation");
}

#[test]
fn why_a_response_was_not_recorded_can_be_seen() {
    let scene = Scene::new();
    scene.behave("echo 'Status: 503'; echo");
    Request::post(&scene, KEY, "").answer("");
    let shown = scene.json(&format!("show {KEY} --namespace cgi:default:guest --json"));
    assert_eq!(shown["state"], "failed");
    assert_eq!(shown["attempts"][0]["reason"], "it answered with the HTTP status 503");
}

#[test]
fn after_a_crash_the_request_is_handled_again_under_the_same_idempotency_key() {
    let scene = Scene::new();
    scene.behave("read x <gate");
    scene.begun(Request::post(&scene, KEY, "").call("").unchecked()).kill();
    let command = scene.command_pid();
    destroy(-command);
    until("the handler is gone", || !is_alive(command));
    scene.behave(&says("done"));
    let answer = Request::post(&scene, KEY, "").answer_and_note("", &[KEY, "interrupted"]);
    assert_eq!((answer.is_replayed(), answer.text()), (false, "done".to_owned()));
    let keys = scene.keys();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
}

#[test]
fn what_only_a_person_can_decide_is_a_500_and_says_nothing_of_what_is_on_record() {
    let scene = Scene::new();
    scene.behave("echo 'Status: 503'; echo");
    Request::post(&scene, KEY, "").answer("");
    let request = Request::post(&scene, KEY, "");
    let words = ["unsuccessful", "but it answered with the HTTP status 503", "forget"];
    let answer = request.answer_and_note("--max-attempts 1", &words);
    let detail = answer.problem(500, "Internal Server Error");
    assert!(!detail.contains("doubletap") && !detail.contains("pid"), "{detail}");
    assert!(detail.contains("without success, as often as is allowed"), "{detail}");
    assert_eq!(scene.runs(), 1);
}

#[test]
fn without_a_store_nothing_runs_and_the_client_is_to_come_again() {
    for damage in &DAMAGES {
        let scene = Scene::new();
        damage.inflict(&scene);
        let call = Request::post(&scene, KEY, "").call("").any_stdout().any_stderr();
        let done = call.run();
        let answer = Answer::of(&done);
        answer.problem(503, "Service Unavailable");
        assert_eq!(answer.header("Retry-After"), Some("1"), "{}", damage.name);
        assert!(done.complaint().contains(KEY), "{}: {}", damage.name, done.complaint());
        assert!(!answer.text().contains("store.db"), "the client is told where the store is");
        assert_eq!(scene.runs(), 0, "{}", damage.name);
    }
}

#[test]
fn what_keeps_a_request_from_being_looked_up_is_a_503_whatever_it_is() {
    let lost = r#"mkdir gone; cd gone; rmdir ../gone; exec "$@""#;
    for (options, script, words) in [
        ("--log /nonexistent/log", "", &["/nonexistent/log"][..]),
        ("--report /nonexistent/report", "", &["/nonexistent/report"]),
        ("--report fd:9", "", &["--report fd:9"]),
        ("--store here.db", lost, &["here.db"]),
    ] {
        let scene = Scene::new();
        let call = Request::post(&scene, KEY, "").call(options);
        let call = if script.is_empty() { call } else { call.through_sh(script) };
        let answer = Answer::of(&call.any_stdout().note(words).run());
        answer.problem(503, "Service Unavailable");
        assert!(!answer.text().contains("nonexistent"), "{}", answer.text());
        assert_eq!(scene.runs(), 0, "{options}");
    }
}

#[test]
fn a_handler_that_runs_unguarded_is_answered_for_too() {
    let unguarded = || {
        let scene = Scene::new();
        DAMAGES[0].inflict(&scene);
        scene
    };
    let scene = unguarded();
    let call = scene.call("cgi --fail-open").command(["./absent"]);
    let call = Request::post(&scene, KEY, "").handled_by(call);
    let done = call.any_stdout().notes(&["unguarded", "./absent", "not found"]).run();
    Answer::of(&done).problem(500, "Internal Server Error");
    let scene = unguarded();
    scene.behave("read x <gate");
    let options = "--fail-open --timeout 500ms --kill-after 0s";
    let call = Request::post(&scene, KEY, "").call(options);
    let done = call.any_stdout().notes(&["unguarded", "longer than 500ms"]).run();
    Answer::of(&done).problem(504, "Gateway Timeout");
    scene.behave(&format!("{}; read x <gate", says("half")));
    let call = Request::post(&scene, KEY, "").call(options);
    let done = call.any_stdout().status(124).notes(&["unguarded", "longer than 500ms"]).run();
    assert_eq!(Answer::of(&done).text(), "half", "nothing is added to what was sent");
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn an_error_after_the_handler_has_begun_adds_nothing_to_what_was_sent() {
    let scene = Scene::new();
    scene.behave(&format!("{}; read x <gate", says("half")));
    let call = Request::post(&scene, KEY, "").call("");
    let inject = ["strace", "-f", "-o", "trace", "-e", "inject=wait4:error=EINVAL:when=2+"];
    let call = call.through(inject).any_stdout().status(125);
    let done = call.note(&["could not be waited for"]).run();
    assert_eq!(Answer::of(&done).text(), "half");
}

#[test]
fn without_a_store_fail_open_handles_the_request_unguarded() {
    let scene = Scene::new();
    DAMAGES[0].inflict(&scene);
    scene.behave(&format!("{}; cat", says("")));
    for _ in 0..2 {
        let request = Request::post(&scene, KEY, "fed");
        let call = request.call("--fail-open").notes(&[KEY, "unguarded"]).any_stdout();
        assert_eq!(Answer::of(&call.run()).text(), "fed");
    }
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_handler_that_takes_too_long_is_answered_for() {
    let scene = Scene::new();
    scene.behave("read x <gate");
    let call = Request::post(&scene, KEY, "").call("--timeout 100ms --kill-after 0s");
    let done = call.any_stdout().note(&[KEY, "longer than 100ms"]).run();
    Answer::of(&done).problem(504, "Gateway Timeout");
    scene.behave(&format!("{}; read x <gate", says("half")));
    let call = Request::post(&scene, KEY, "").call("--timeout 500ms --kill-after 0s");
    let done = call.any_stdout().status(124).note(&["longer than 500ms"]).run();
    assert_eq!(Answer::of(&done).text(), "half", "nothing is added to what was sent");
    scene.behave(&says("done"));
    assert_eq!(Request::post(&scene, KEY, "").answer("").text(), "done");
}

#[test]
fn a_handler_that_cannot_be_executed_is_answered_for() {
    let scene = Scene::new();
    let call = scene.call("cgi").command(["./absent"]);
    let call = Request::post(&scene, KEY, "").handled_by(call);
    let done = call.any_stdout().note(&[KEY, "./absent", "not found"]).run();
    Answer::of(&done).problem(500, "Internal Server Error");
}

#[test]
fn a_response_is_kept_even_if_nobody_reads_it_to_its_end() {
    let scene = Scene::new();
    scene.behave(&format!("{}; head -c 1000000 /dev/zero; echo end >>ends", says("")));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let call = Request::post(&scene, KEY, "").call("");
    call.stdout_into(std::fs::File::from(std::os::fd::OwnedFd::from(writer))).run();
    assert_eq!(scene.read("ends"), "end\n", "the handler is not disturbed");
    let again = Request::post(&scene, KEY, "").answer("");
    assert!(again.is_replayed());
    assert_eq!((again.body.len(), scene.runs()), (1_000_000, 1));
}

#[test]
fn a_server_that_ends_the_call_ends_the_handler() {
    let scene = Scene::new();
    scene.behave("read x <gate");
    let running = scene.begun(Request::post(&scene, KEY, "").call("").dies_of(Signal::SIGTERM));
    running.signal(Signal::SIGTERM);
    running.finish();
    scene.behave(&says("done"));
    assert!(!Request::post(&scene, KEY, "").answer("").is_replayed());
}

#[test]
fn a_claim_that_was_lost_is_answered_for() {
    let scene = Scene::new();
    scene.behave("read x <gate");
    let call = Request::post(&scene, KEY, "").call("--claim-ttl 2s");
    let running = scene.begun(call.any_stdout().note(&[KEY, "lost"]));
    let scope = "--namespace cgi:default:guest";
    scene.call(&format!("forget {KEY} --force {scope}")).any_stderr().run();
    Answer::of(&running.finish()).problem(503, "Service Unavailable");
}
