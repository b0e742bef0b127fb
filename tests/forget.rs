//! `forget` drops one key on purpose.

use crate::support::{Scene, finished, until};

#[test]
fn a_forgotten_key_runs_again() {
    let scene = Scene::new();
    scene.attempt("k").run();
    scene.call("forget k").run();
    assert_eq!(scene.state("k"), "forgotten");
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 2);
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn a_forgotten_key_may_be_used_for_something_else() {
    let scene = Scene::new();
    scene.once("k").command(["echo", "one"]).stdout("one\n").run();
    scene.call("forget k").run();
    scene.once("k").command(["echo", "two"]).stdout("two\n").run();
}

#[test]
fn forgetting_an_absent_key_is_1() {
    let scene = Scene::new();
    scene.attempt("other").run();
    scene.call("forget k").status(1).note(&["k"]).run();
}

#[test]
fn whoever_looks_for_an_absent_key_is_told_in_which_file() {
    let scene = Scene::new();
    let store = scene.store().display().to_string();
    for verb in ["show", "logs", "forget"] {
        let call = scene.call(&format!("{verb} k"));
        call.status(1).note(&["k", "there is no store", &store]).run();
    }
    scene.call("complete k --unresolved").status(69).note(&["there is no store", &store]).run();
    scene.attempt("other").run();
    for verb in ["show", "logs", "forget"] {
        let call = scene.call(&format!("{verb} k"));
        call.status(1).note(&["k", "no such key in namespace default", &store]).run();
    }
    scene.call("complete k --unresolved").status(69).note(&["no such key", &store]).run();
}

#[test]
fn the_default_store_is_named_as_well() {
    let scene = Scene::new();
    let call = scene.call("show k").without_env("DOUBLETAP_STORE").without_env("XDG_STATE_HOME");
    let store = scene.home().join(".local/state/doubletap/doubletap.db").display().to_string();
    call.status(1).note(&["k", &store]).run();
}

#[test]
fn a_living_holder_is_named_and_kept() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let pid = format!("pid {}", holder.pid());
    scene.call("forget k").status(75).note(&["k", &pid]).run();
    assert_eq!(scene.state("k"), "running");
    gate.open();
    holder.finish();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_failure_can_be_forgotten_with_its_retry_after() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --retry-after 1h").status(1).run();
    scene.call("forget k").run();
    scene.behave(":");
    scene.attempt("k --retry-after 1h").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn who_waits_for_a_key_or_a_name_that_rests_notices_that_it_was_forgotten() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --retry-after 1h").status(1).run();
    scene.behave(":");
    scene.held("n --min-hold 1h").run();
    let key = scene.attempt("k -v --retry-after 1h --wait forever").any_stderr();
    let name = scene.held("n -v --wait forever").any_stderr();
    let waiters = [key.spawn(), name.spawn()];
    until("they wait", || waiters.iter().all(|waiter| !waiter.stderr_so_far().is_empty()));
    scene.call("forget k").run();
    scene.call("forget n --kind lease").run();
    finished(waiters);
    assert_eq!(scene.runs(), 4);
}

#[test]
fn generations_go_on_after_a_forget() {
    let scene = Scene::new();
    scene.attempt("k").run();
    scene.call("forget k").run();
    scene.attempt("k").run();
    let shown = scene.json("show k --json");
    let newest = shown["attempts"][0]["generation"].as_u64().unwrap();
    assert!(newest >= 2, "a zombie of generation 1 must lose: {shown}");
}
