//! A server may tell a call to end whose handler has ended by itself: the effect has
//! happened, and whoever asks again gets the answer.

use super::{Answer, KEY, Request, says};
use crate::support::processes::state;
use crate::support::{Scene, Signal, narrow_pipe, until};

#[test]
fn a_handler_that_ended_before_its_call_was_told_to_end_has_its_answer_recorded() {
    for answer in [says("done"), r"printf 'Content-Length: 4\r\n\r\ndone'".to_owned()] {
        let scene = Scene::new();
        let mut gate = scene.gate();
        scene.behave(&format!("read x <gate; {answer}"));
        let running = scene.begun(Request::post(&scene, KEY, "").call("").any_stdout());
        running.sleep_while(|| {
            gate.open();
            until("the handler has ended", || state(scene.command_pid()) == Some('Z'));
            running.signal(Signal::SIGTERM);
        });
        assert_eq!(Answer::of(&running.finish()).text(), "done");
        let again = Request::post(&scene, KEY, "").answer("");
        assert_eq!((again.is_replayed(), again.text()), (true, "done".to_owned()));
        assert_eq!(scene.runs(), 1);
    }
}

#[test]
fn an_answer_that_is_still_in_the_pipe_when_the_call_is_told_to_end_is_recorded_whole() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let half = "head -c 20000 /dev/zero";
    scene.behave(&format!("{}; {half}; echo >half; read x <gate; {half}", says("")));
    let (reader, writer) = narrow_pipe();
    let running = Request::post(&scene, KEY, "").call("").stdout_into(writer).spawn();
    until("the server takes no more", || {
        scene.path("half").exists() && running.waits_for_its_reader()
    });
    gate.open();
    until("the handler has ended", || state(scene.command_pid()).is_none());
    running.signal(Signal::SIGTERM);
    running.finish();
    drop(reader);
    let again = Request::post(&scene, KEY, "").answer("");
    assert_eq!((again.is_replayed(), again.body.len(), scene.runs()), (true, 40_000, 1));
}

#[test]
fn an_answer_of_a_handler_that_leaves_a_daemon_is_recorded_whole_too() {
    let scene = Scene::new();
    scene.behave(&format!("sleep 60 & {}", says("done")));
    let running = scene.begun(Request::post(&scene, KEY, "").call("").any_stdout());
    until("the handler has ended", || state(scene.command_pid()).is_none());
    running.signal(Signal::SIGTERM);
    running.finish();
    let again = Request::post(&scene, KEY, "").answer("");
    assert_eq!((again.is_replayed(), again.text()), (true, "done".to_owned()));
}
