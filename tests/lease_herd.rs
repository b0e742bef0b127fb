//! Many contenders for one name: an outside witness sees no two at once.

use crate::support::{Done, Running, Scene, Signal, finished, until};

/// Makes a folder, and takes it away again: whoever finds it there overlaps.
const WITNESS: &str = "mkdir witness || echo overlap >>overlaps; echo run >>runs; rmdir witness";

fn witnessed(scene: &Scene, herd: Vec<Running>) {
    let done: Vec<Done> = finished(herd);
    assert!(done.iter().all(|done| done.code() == 0));
    assert_eq!((scene.runs(), scene.read("overlaps")), (done.len(), String::new()));
}

#[test]
fn of_40_contenders_that_wait_no_two_overlap_and_all_run() {
    let scene = Scene::new();
    let call = |_| scene.lease("n --wait forever").sh(WITNESS).spawn();
    witnessed(&scene, (0..40).map(call).collect());
}

#[test]
fn of_40_contenders_for_3_slots_no_more_than_3_run_at_once() {
    let scene = Scene::new();
    let script = "
        for slot in 1 2 3 4; do mkdir slot$slot 2>/dev/null && break; done
        test $slot = 4 && echo overlap >>overlaps
        echo run >>runs; rmdir slot$slot";
    let call = |_| scene.lease("n --slots 3 --wait forever").sh(script).spawn();
    witnessed(&scene, (0..40).map(call).collect());
}

#[test]
fn contenders_that_do_not_wait_run_or_are_told_75() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate");
    let mut herd: Vec<Running> = (0..40).map(|_| scene.held("n -q").unchecked().spawn()).collect();
    until("all but the holder have ended", || {
        herd.iter_mut().filter_map(|one| one.is_under_way().then_some(())).count() == 1
    });
    gate.open();
    let codes: Vec<i32> = finished(herd).iter().map(Done::code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 75).count(), 39);
    assert_eq!((codes.iter().filter(|code| **code == 0).count(), scene.runs()), (1, 1));
}

#[test]
fn holders_that_are_stopped_past_their_time_and_go_on_do_not_overlap_their_successors() {
    let scene = Scene::new();
    let script = "mkdir witness || echo overlap >>overlaps; echo $$ >>runs
        exec tail -f /dev/null";
    let call = scene.lease("n --ttl 2s").sh(script).status(69).note(&["n", "lost", "held by"]);
    let stalled = scene.begun(call);
    stalled.signal(Signal::SIGSTOP);
    let script = "rmdir witness; mkdir witness || echo overlap >>overlaps; echo run >>runs
        read x <gate; rmdir witness";
    let mut gate = scene.gate();
    let next = scene.lease("n --ttl 10s --wait forever").sh(script).spawn();
    until("the successor runs", || scene.runs() == 2);
    stalled.signal(Signal::SIGCONT);
    stalled.finish();
    gate.open();
    next.finish();
    assert_eq!(scene.read("overlaps"), "");
}
