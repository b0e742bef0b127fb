//! What `begin` and `acquire` do not take: they say so before anything is opened.

use crate::support::Scene;

#[test]
fn a_claim_must_hang_on_something() {
    let scene = Scene::new();
    let call = scene.begin("k").status(64);
    call.note(&["--pid", "--claim-ttl", "doubletap begin --help"]).run();
    assert_eq!(scene.state_files().len(), 0, "nothing was opened");
    let call = scene.acquire("n --pid 1").status(64);
    call.note(&["--ttl"]).run();
    assert_eq!(scene.state_files().len(), 0, "nothing was opened");
}

#[test]
fn a_process_that_is_not_there_is_refused_and_the_right_one_is_suggested() {
    let scene = Scene::new();
    let script = scene.shell("exit 0").spawn();
    let gone = script.pid();
    script.finish();
    for call in [scene.begin(&format!("k --pid {gone}")), {
        scene.acquire(&format!("n --ttl 1m --pid {gone}"))
    }] {
        call.status(64).note(&[&format!("--pid {gone}"), "no such process", "--pid $$"]).run();
    }
    assert_eq!(scene.state_files().len(), 0, "nothing was opened");
}

#[test]
fn a_process_that_has_ended_and_was_not_waited_for_is_not_there() {
    let scene = Scene::new();
    let script = scene.shell("exit 0").spawn();
    let zombie = script.pid();
    crate::support::until("it has ended", || !crate::support::processes::is_alive(zombie));
    scene.begin(&format!("k --pid {zombie}")).status(64).note(&["no such process"]).run();
    script.finish();
}

#[test]
fn a_number_that_is_no_process_is_refused() {
    let scene = Scene::new();
    for pid in ["0", "-1", "4194305000", "$$", ""] {
        let call = scene.begin("k").arg(format!("--pid={pid}")).status(64);
        call.note(&["--pid"]).run();
    }
    assert_eq!(scene.state_files().len(), 0);
}

#[test]
fn a_time_of_less_than_two_seconds_is_refused_and_nothing_is_written() {
    let scene = Scene::new();
    for time in ["1s", "1999ms", "0s", "forever", "90", "-5s"] {
        let call = scene.begin("k").arg(format!("--claim-ttl={time}")).status(64);
        call.note(&["--claim-ttl"]).run();
        let call = scene.acquire("n").arg(format!("--ttl={time}")).status(64);
        call.note(&["--ttl"]).run();
    }
    assert_eq!(scene.state_files().len(), 0);
    scene.begin("k --claim-ttl 2s").any_stdout().run();
}

#[test]
fn keys_are_held_to_what_keys_are() {
    let scene = Scene::new();
    scene.begin("--claim-ttl 1m").arg("").status(64).note(&["empty"]).run();
    scene.begin("--claim-ttl 1m").arg("a\nb").status(64).note(&["control"]).run();
    scene.begin("--claim-ttl 1m").status(64).note(&["KEY"]).run();
    assert_eq!(scene.state_files().len(), 0);
}

#[test]
fn a_form_that_there_is_not_is_refused() {
    let scene = Scene::new();
    scene.begin("k --claim-ttl 1m --format xml").status(64).note(&["xml"]).run();
    scene.begin("k --claim-ttl 1m --format").status(64).note(&["--format"]).run();
}

#[test]
fn waiting_and_not_waiting_are_not_asked_for_at_once() {
    let scene = Scene::new();
    let call = scene.begin("k --claim-ttl 1m --wait 1m --nonblock").status(64);
    call.note(&["--nonblock"]).run();
    assert_eq!(scene.state_files().len(), 0);
}
