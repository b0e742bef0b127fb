//! With `--no-output` a full-screen program has the terminal to itself.

use crate::support::{Scene, Signal, Terminal, until};

/// Takes the terminal over, notes its size whenever that changes, and ends with the
/// first key after the gate was opened.
const PROGRAM: &str = r#"
    test -t 0 && test -t 1 && test -t 2 && stty size <&1 >sizes
    trap 'stty size <&1 >>sizes' WINCH
    trap 'echo USR1 >>signals' USR1
    before=$(stty -g)
    stty raw -echo
    printf 'full screen'
    (trap '' USR1; echo ready >ready; read x <gate) &
    while kill -0 $! 2>&-; do wait; done
    head -c 1 >key
    stty "$before"
"#;

/// That program under our care, once it is on the screen.
fn on_screen(scene: &Scene, terminal: &mut Terminal) -> crate::support::Running {
    scene.behave(PROGRAM);
    let running = scene.begun(scene.attempt("k --no-output").at(terminal));
    terminal.await_text("full screen");
    scene.await_counting();
    running
}

#[test]
fn it_finds_a_terminal_of_the_right_size_and_hears_of_a_change_once() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let mut terminal = Terminal::new();
    let running = on_screen(&scene, &mut terminal);
    terminal.resize(40);
    until("the size has come", || scene.read("sizes").lines().count() > 1);
    scene.settle(running.pid());
    gate.open();
    terminal.press("q");
    running.finish();
    assert_eq!(scene.read("sizes"), "24 80\n40 80\n");
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn it_reads_keys_also_those_that_would_end_or_stop_another() {
    for key in ["q", "\x03", "\x1a", "\x1c"] {
        let scene = Scene::new();
        let mut gate = scene.gate();
        let mut terminal = Terminal::new();
        let running = on_screen(&scene, &mut terminal);
        gate.open();
        terminal.press(key);
        running.finish();
        assert_eq!(scene.read("key"), key);
        assert_eq!(scene.state("k"), "done");
    }
}

#[test]
fn a_recorded_command_at_a_terminal_can_read_it_and_writes_to_us() {
    let scene = Scene::new();
    let mut terminal = Terminal::new();
    scene.behave("test -t 0 && ! test -t 1 && ! test -t 2 && read x && echo \"heard $x\"");
    let running = scene.begun(scene.attempt("k").at(&terminal));
    terminal.press("me\n");
    terminal.await_text("heard me");
    running.finish();
    let mut again = Terminal::new();
    scene.attempt("k").at(&again).run();
    again.await_text("heard me");
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_change_of_size_comes_to_a_recorded_command_once_too() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let terminal = Terminal::new();
    scene.count_signals("");
    let running = scene.begun(scene.attempt("k").at(&terminal));
    scene.await_counting();
    terminal.resize(50);
    scene.await_signal(Signal::SIGWINCH);
    scene.settle(running.pid());
    assert_eq!(scene.count(Signal::SIGWINCH), 1);
    gate.open();
    running.finish();
}
