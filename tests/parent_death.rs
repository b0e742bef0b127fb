//! A wrapper that is killed outright takes its command along, by SIGTERM
//! (`PR_SET_PDEATHSIG`).

use crate::support::processes::{destroy, is_alive};
use crate::support::{Scene, Signal, Terminal, until};

/// The kernel may say it once for each thread that we had.
fn heard_nothing_else(scene: &Scene) -> bool {
    scene.signals().iter().all(|signal| signal == "TERM")
}

#[test]
fn the_command_is_told_to_end() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.count_signals("");
    let running = scene.begun(scene.attempt("k"));
    scene.await_counting();
    running.kill();
    scene.await_signal(Signal::SIGTERM);
    assert_eq!(scene.state("k"), "orphaned", "it takes its time");
    gate.open();
    until("the command is gone", || !is_alive(scene.command_pid()));
    assert!(heard_nothing_else(&scene), "{:?}", scene.signals());
    assert_eq!(scene.state("k"), "interrupted");
}

#[test]
fn a_command_that_keeps_the_terminal_is_told_too() {
    for words in ["k", "k --no-output"] {
        let scene = Scene::new();
        let mut gate = scene.gate();
        let terminal = Terminal::new();
        scene.count_signals("");
        // A shell leads the session, so that the terminal stays with the wrapper gone.
        let script = format!(
            r#""$BIN" once {words} -- sh -c 'echo $PPID >wrapper; . ./behaviour'
            echo $? >ended; read x <gate"#
        );
        let shell = scene.script(&terminal, &script).spawn();
        scene.await_counting();
        let wrapper = scene.read("wrapper").trim().parse().unwrap();
        destroy(wrapper);
        scene.await_signal(Signal::SIGTERM);
        until("the shell goes on", || scene.read("ended") == "137\n");
        assert_eq!(scene.state("k"), "orphaned");
        assert!(heard_nothing_else(&scene), "{:?}", scene.signals());
        gate.open();
        gate.open();
        shell.finish();
    }
}
