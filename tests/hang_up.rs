//! A terminal that goes away in mid-run: the command hears of it once, nothing of its
//! end is lost, and nobody hangs or is left.

use crate::support::counting::unignored;
use crate::support::processes::is_alive;
use crate::support::{Scene, Signal, Terminal, until};

/// Whether whoever started the tests ignores a hang-up, as `nohup` does.
fn is_deaf() -> bool {
    unignored(&[Signal::SIGHUP]).is_empty()
}

#[test]
fn as_leader_of_the_session_we_hand_a_hang_up_on_once() {
    if is_deaf() {
        return;
    }
    for words in ["k", "k --no-output"] {
        let scene = Scene::new();
        let mut gate = scene.gate();
        let terminal = Terminal::new();
        scene.count_signals("");
        let running = scene.begun(scene.attempt(words).at(&terminal));
        scene.await_counting();
        terminal.hang_up();
        scene.await_signal(Signal::SIGHUP);
        scene.settle(running.pid());
        assert_eq!(scene.count(Signal::SIGHUP), 1, "{:?}", scene.signals());
        gate.open();
        running.finish();
        assert_eq!(scene.state("k"), "done");
    }
}

#[test]
fn a_stopped_command_is_woken_to_hear_of_it() {
    if is_deaf() {
        return;
    }
    let scene = Scene::new();
    let _gate = scene.gate();
    let terminal = Terminal::new();
    scene.behave("echo ready >ready; kill -STOP $$; read x <gate");
    let running = scene.begun(scene.attempt("k").at(&terminal).dies_of(Signal::SIGHUP));
    let command = scene.command_pid();
    until("the command has stopped", || crate::support::processes::state(command) == Some('T'));
    terminal.hang_up();
    running.finish();
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn a_command_that_a_hang_up_ends_is_on_record_and_nobody_of_it_is_left() {
    if is_deaf() {
        return;
    }
    let scene = Scene::new();
    let _gate = scene.gate();
    let terminal = Terminal::new();
    scene.behave("(read x <gate) & echo $! >child; echo ready >ready; wait");
    let call = scene.attempt("k --record any").at(&terminal).dies_of(Signal::SIGHUP);
    let running = scene.begun(call);
    until("the child is there", || scene.path("ready").exists());
    let child: i32 = scene.read("child").trim().parse().unwrap();
    terminal.hang_up();
    running.finish();
    assert_eq!(scene.state("k"), "failed", "it was not left as a crash");
    for pid in [scene.command_pid(), child] {
        until("nobody is left", || !is_alive(pid));
    }
    scene.behave(":");
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn where_a_shell_leads_the_session_the_kernel_tells_the_command_and_we_do_not_again() {
    if is_deaf() {
        return;
    }
    let scene = Scene::new();
    let mut gate = scene.gate();
    let terminal = Terminal::new();
    scene.count_signals("");
    let script = r#""$BIN" once k -- sh -c 'echo $PPID >wrapper; . ./behaviour'; :"#;
    let shell = scene.script(&terminal, script).dies_of(Signal::SIGHUP).spawn();
    scene.await_counting();
    let wrapper: i32 = scene.read("wrapper").trim().parse().unwrap();
    terminal.hang_up();
    shell.finish();
    scene.await_signal(Signal::SIGHUP);
    scene.settle(wrapper);
    assert_eq!(scene.count(Signal::SIGHUP), 1, "{:?}", scene.signals());
    gate.open();
    until("the end is on record", || scene.state("k") == "done");
    until("the wrapper is gone", || !is_alive(wrapper));
}

#[test]
fn what_a_command_writes_after_it_is_recorded_and_told_to_have_been_lost() {
    if is_deaf() {
        return;
    }
    let scene = Scene::new();
    let mut gate = scene.gate();
    let mut terminal = Terminal::new();
    scene.behave(
        "trap 'echo HUP >>signals' HUP; echo early
        (trap '' HUP; read x <gate) >&- 2>&- & while kill -0 $! 2>&-; do wait; done
        echo late; echo later >&2",
    );
    let running = scene.begun(scene.attempt("k").at(&terminal).status(73));
    terminal.await_text("early");
    terminal.hang_up();
    scene.await_signal(Signal::SIGHUP);
    gate.open();
    running.finish();
    scene.attempt("k").stdout("early\nlate\n").stderr("later\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn under_nohup_the_command_outlives_it() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let terminal = Terminal::new();
    let call = scene.hanging("k --no-output").through(["nohup"]).at(&terminal);
    let running = scene.begun(call);
    terminal.hang_up();
    gate.open();
    running.finish();
    assert_eq!(scene.state("k"), "done");
}
