//! A lease at a terminal: the command has it, and job control works through us.

use crate::support::counting::unignored;
use crate::support::processes::{is_alive, state};
use crate::support::{Scene, Signal, Terminal, until};

fn pid(scene: &Scene, name: &str) -> i32 {
    scene.read(name).trim().parse().unwrap()
}

#[test]
fn an_interactive_command_reads_keys_and_writes_to_the_screen() {
    let scene = Scene::new();
    let mut terminal = Terminal::new();
    let script =
        r#"test -t 0 && test -t 1 && test -t 2 && printf 'name? '; read x; echo "$x" >read"#;
    let running = scene.lease("n").sh(script).at(&terminal).unchecked().spawn();
    terminal.await_text("name? ");
    terminal.press("doubletap\n");
    assert_eq!(running.finish().code(), 0);
    assert_eq!(scene.read("read"), "doubletap\n");
    assert_eq!(scene.lease_state("n"), "released");
}

#[test]
fn control_c_comes_to_the_command_once_and_frees_the_name() {
    if unignored(&[Signal::SIGINT]).is_empty() {
        return;
    }
    let scene = Scene::new();
    let mut gate = scene.gate();
    let mut terminal = Terminal::new();
    scene.count_signals("trap - INT; kill -INT $$");
    let call = scene.held("n").at(&terminal).dies_of(Signal::SIGINT);
    let running = scene.begun(call);
    scene.await_counting();
    terminal.press("\x03");
    scene.await_signal(Signal::SIGINT);
    scene.settle(running.pid());
    assert_eq!(scene.count(Signal::SIGINT), 1, "{:?}", scene.signals());
    gate.open();
    running.finish();
    assert_eq!(scene.lease_state("n"), "released");
}

#[test]
fn control_z_stops_both_and_fg_renews_the_lease_that_nobody_has_taken_meanwhile() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let mut terminal = Terminal::new();
    let script = r#"
        set -m
        "$BIN" lease n --ttl 2s -- sh -c 'echo $PPID >wrapper; echo $$ >pid
            (echo ready >ready; read x <gate) >&- 2>&- &
            while kill -0 $! 2>&-; do wait; done; exit 6'
        echo $? >stopped
        read line
        fg
        echo $? >ended"#;
    let running = scene.script(&terminal, script).spawn();
    until("the command is ready", || scene.path("ready").exists());
    let (wrapper, command) = (pid(&scene, "wrapper"), pid(&scene, "pid"));
    terminal.press("\x1a");
    until("the shell goes on", || scene.read("stopped") == "148\n");
    assert_eq!((state(wrapper), state(command)), (Some('T'), Some('T')));
    until("the lease is over", || scene.lease_state("n") == "expired");
    let ended = scene.lease_end("n");
    terminal.press("\n");
    until("it is renewed", || scene.lease_end("n") > ended);
    scene.held("n -q").status(75).run();
    gate.open();
    running.finish();
    assert_eq!(scene.read("ended"), "6\n");
    assert_eq!(scene.lease_state("n"), "released");
}

#[test]
fn a_timeout_ends_all_that_came_from_the_command_and_frees_the_name() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let terminal = Terminal::new();
    scene.behave(r#"trap "" TERM; (trap "" TERM; read x <gate) & echo $! >child; read x <gate"#);
    let call = scene.held("n --timeout 500ms --kill-after 100ms").at(&terminal);
    assert_eq!(call.unchecked().run().code(), 124);
    for name in ["pid", "child"] {
        assert!(!is_alive(pid(&scene, name)), "{name} is left");
    }
    assert_eq!(scene.lease_state("n"), "released");
}

#[test]
fn what_came_from_the_command_of_a_stopped_holder_is_ended_with_it() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let terminal = Terminal::new();
    scene.behave("(trap '' TERM HUP; echo ready >ready; read x <gate) & echo $! >child; wait");
    let holder = scene.begun(scene.held("n --ttl 2s").at(&terminal).unchecked());
    until("both are there", || scene.path("ready").exists());
    holder.signal(Signal::SIGSTOP);
    scene.lease("n --wait forever").sh("echo got").stdout("got\n").run();
    for name in ["pid", "child"] {
        assert!(!is_alive(pid(&scene, name)), "{name} is left");
    }
    holder.signal(Signal::SIGCONT);
    assert_eq!(holder.finish().code(), 69);
}
