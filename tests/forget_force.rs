//! `forget --force` takes a key from a living holder, and what it runs ends before anything new.

use crate::support::processes::{is_alive, state};
use crate::support::{Scene, Signal, until};

#[test]
fn the_old_command_is_gone_before_the_new_one_begins_and_the_old_wrapper_learns_that_it_lost() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave("trap '' TERM; echo >ready; read x <gate");
    let call = scene.attempt("k --claim-ttl 2s").status(69).notes(&["k", "lost"]);
    let wrapper = scene.begun(call);
    until("the command is ready", || scene.path("ready").exists());
    let old = scene.command_pid();
    wrapper.signal(Signal::SIGSTOP);
    until("the wrapper has stopped", || state(wrapper.pid()) == Some('T'));

    scene.call("forget k").status(75).note(&["k", "--force"]).run();
    scene.call("forget k --force").run();
    assert!(is_alive(old), "to forget is to end nothing");
    // A zombie that its stopped parent cannot reap is gone, too.
    scene.behave(&format!(
        "if grep -q '^State:.[RSDTt]' /proc/{old}/status 2>&-; then echo beside; else echo alone; fi"
    ));
    scene.attempt("k --claim-ttl 2s").stdout("alone\n").run();

    wrapper.signal(Signal::SIGCONT);
    wrapper.finish();
    scene.attempt("k --claim-ttl 2s").stdout("alone\n").run();
    assert_eq!(scene.runs(), 2);
    let keys = scene.keys();
    assert_ne!(keys[0], keys[1], "what was forgotten is another operation");
}

#[test]
fn a_running_wrapper_stops_a_command_whose_key_was_forgotten() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let call = scene.hanging("k --claim-ttl 2s").status(69).notes(&["k", "lost"]);
    let wrapper = scene.begun(call);
    let command = scene.command_pid();
    scene.call("forget k --force").run();
    wrapper.finish();
    assert!(!is_alive(command));
    assert_eq!(scene.state("k"), "forgotten");
}
