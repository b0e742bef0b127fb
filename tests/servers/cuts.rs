//! A host that is cut off in mid-lease: what it runs is stopped before the other begins.

use std::time::Duration;

use super::engine::Engine;
use super::herds::ALONE;
use crate::support::processes::is_alive;
use crate::support::servers::{Host, Network};
use crate::support::{Call, Running, Scene, until};

every_server_of_hosts!(
    what_a_host_runs_is_stopped_when_it_is_cut_off_and_only_then_the_other_begins,
    a_command_that_heeds_nothing_is_ended_before_the_other_begins_too,
    a_host_that_is_cut_off_for_less_than_the_lease_goes_on,
);

/// Holds a folder as long as it runs, and says at its end that it was told.
fn alone() -> String {
    format!(
        r#"{ALONE}; trap "echo told >>told; rmdir held; exit 3" TERM; exec 2>/dev/null
        while :; do sleep 0.02; done"#
    )
}

/// What whoever comes next does.
fn next() -> String {
    format!("{ALONE}; read now rest </proc/uptime; echo $now >next; rmdir held")
}

/// Waits until a call by this host is told to wait.
#[track_caller]
fn waiting(host: &Host<'_>, call: Call<'_>) -> Running {
    let waiter = call.through(host.through()).any_stderr().spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    waiter
}

/// A call of each kind, for one key or name.
fn calls<'a>(scene: &'a Scene, words: &str) -> [Call<'a>; 2] {
    let once = scene.attempt(&format!("k --claim-ttl {words}"));
    [once, scene.held(&format!("k --ttl {words}"))]
}

fn what_a_host_runs_is_stopped_when_it_is_cut_off_and_only_then_the_other_begins<E: Engine>() {
    let network = Network::new();
    let server = E::within(&network);
    let [one, other] = [network.host(1, "one"), network.host(2, "two")];
    for kind in 0..2 {
        let scene = server.scene_of(&other);
        let call = |words: &str| {
            let [run, held] = calls(&scene, words);
            if kind == 0 { run } else { held }
        };
        scene.behave(&alone());
        let cut = call("4s --report report").status(69);
        let cut = cut.notes(&["cannot be renewed at present", "stopped before its 4s were over"]);
        let cut = scene.begun(cut.through(one.through()));
        until("it is at work", || scene.path("held").exists());
        scene.behave(&next());
        let waiter = waiting(&other, call("4s -v --wait 30s"));
        one.cut_off();
        cut.finish();
        assert_eq!(scene.read("told"), "told\n");
        assert!(scene.read("report").contains(r#""outcome":"lost""#), "{}", scene.read("report"));
        waiter.finish();
        assert_eq!(scene.read("overlaps"), "");
        assert_eq!(scene.runs(), 2);
        one.join();
    }
}

fn a_command_that_heeds_nothing_is_ended_before_the_other_begins_too<E: Engine>() {
    let network = Network::new();
    let server = E::within(&network);
    let [one, other] = [network.host(1, "one"), network.host(2, "two")];
    let scene = server.scene_of(&other);
    // It says every now and then that it is there, and so does its child.
    scene.behave(
        r#"trap "" HUP INT QUIT TERM
        there() { exec 2>/dev/null
            while read now rest </proc/uptime; do echo $now >>$1; sleep 0.02; done; }
        there child & echo $! >child-pid; there parent"#,
    );
    let call = scene.attempt("k --claim-ttl 4s").status(69).any_stderr();
    let cut = scene.begun(call.through(one.through()));
    until("both are there", || {
        scene.read("child-pid").ends_with('\n')
            && !scene.read("child").is_empty()
            && !scene.read("parent").is_empty()
    });
    let left = [scene.command_pid(), scene.read("child-pid").trim().parse().unwrap()];
    scene.behave(&next());
    let waiter = waiting(&other, scene.attempt("k -v --wait 30s"));
    one.cut_off();
    waiter.finish();
    assert!(!left.iter().any(|pid| is_alive(*pid)));
    let at = |text: &str| Duration::from_secs_f64(text.lines().last().unwrap().parse().unwrap());
    let began = at(&scene.read("next"));
    for name in ["parent", "child"] {
        assert!(at(&scene.read(name)) <= began, "{name} was there when the other had begun");
    }
    cut.finish();
}

fn a_host_that_is_cut_off_for_less_than_the_lease_goes_on<E: Engine>() {
    let network = Network::new();
    let server = E::within(&network);
    let [one, other] = [network.host(1, "one"), network.host(2, "two")];
    let scene = server.scene_of(&other);
    let mut gate = scene.gate();
    let words = "k --claim-ttl 20s --store-timeout 1s";
    let holder = scene.begun(scene.hanging(words).any_stderr().through(one.through()));
    one.cut_off();
    until("it is told", || !holder.stderr_so_far().is_empty());
    one.join();
    scene.attempt("k -q").status(75).through(other.through()).run();
    gate.open();
    holder.finish();
    scene.attempt("k").through(other.through()).run();
    assert_eq!(scene.runs(), 1);
}
