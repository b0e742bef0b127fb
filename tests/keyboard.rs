//! Keys that send signals: the terminal tells the whole foreground group, so that a
//! command which shares ours has them already.

use crate::support::counting::{name, unignored};
use crate::support::processes::state;
use crate::support::{Scene, Signal, Terminal, until};

/// The process that a file of the scene names.
fn pid(scene: &Scene, name: &str) -> i32 {
    scene.read(name).trim().parse().unwrap()
}

/// A shell with job control, and a command that says who its wrapper is. The shell
/// reads a line from the terminal once it has that back, and then types `fg`.
fn with_job_control(command: &str) -> String {
    format!(
        r#"set -m
        $TRACE "$BIN" once k -- sh -c 'echo $PPID >wrapper; echo $$ >pid; {command}'
        echo $? >stopped
        read line
        read pid name state parent group session tty foreground rest </proc/$$/stat
        echo "$group $foreground" >groups; echo "$line" >line
        fg
        echo $? >ended"#
    )
}

#[test]
fn a_key_that_ends_comes_to_the_command_once_and_we_die_of_it_once_that_is_on_record() {
    for (key, shown, signal) in [("\x03", "^C", Signal::SIGINT), ("\x1c", "^\\", Signal::SIGQUIT)] {
        if unignored(&[signal]).is_empty() {
            continue;
        }
        let scene = Scene::new();
        let mut gate = scene.gate();
        let mut terminal = Terminal::new();
        let name = name(signal);
        scene.count_signals(&format!("trap - {name}; kill -{name} $$"));
        let call = scene.attempt("k --record any").at(&terminal).dies_of(signal);
        let running = scene.begun(call);
        scene.await_counting();
        terminal.press(key);
        terminal.await_text(shown);
        scene.await_signal(signal);
        scene.settle(running.pid());
        assert_eq!(scene.count(signal), 1, "{:?}", scene.signals());
        gate.open();
        running.finish();
        assert_eq!(scene.state("k"), "failed", "it was not left as a crash");
    }
}

#[test]
fn a_command_that_answers_control_c_with_a_status_of_its_own_decides() {
    if unignored(&[Signal::SIGINT]).is_empty() {
        return;
    }
    let scene = Scene::new();
    let _gate = scene.gate();
    let mut terminal = Terminal::new();
    scene.behave("trap 'exit 5' INT; (read x <gate) >&- 2>&- & echo ready >ready; wait");
    let running = scene.begun(scene.attempt("k --record 5").at(&terminal).status(5));
    until("the trap is set", || scene.path("ready").exists());
    terminal.press("\x03");
    running.finish();
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn control_c_comes_to_a_command_that_has_left_our_group_too() {
    if unignored(&[Signal::SIGINT]).is_empty() {
        return;
    }
    let scene = Scene::new();
    let _gate = scene.gate();
    let mut terminal = Terminal::new();
    // `timeout` makes a group of its own for what it runs.
    let script = "echo ready >ready; read x <gate";
    let call = scene.once("k").command(["timeout", "1h", "sh", "-c", script]);
    let running = call.at(&terminal).unchecked().spawn();
    until("the command is ready", || scene.path("ready").exists());
    terminal.press("\x03");
    // It dies of the signal too, or says 130 where that comes very early.
    running.finish();
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn control_z_gives_the_shell_its_terminal_back_and_fg_continues_both() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let mut terminal = Terminal::new();
    let command = r#"trap "echo CONT >>signals" CONT; trap "echo USR1 >>signals" USR1
        (trap "" USR1; echo ready >ready; read x <gate) >&- 2>&- &
        while kill -0 $! 2>&-; do wait; done; read x; echo "$x" >read; exit 6"#;
    let running = scene.script(&terminal, &with_job_control(command)).spawn();
    until("the command is ready", || scene.path("ready").exists());
    let (wrapper, command) = (pid(&scene, "wrapper"), pid(&scene, "pid"));
    terminal.press("\x1a");
    until("the shell goes on", || !scene.read("stopped").is_empty());
    assert_eq!(scene.read("stopped"), "148\n", "it sees the stop that it would without us");
    assert_eq!((state(wrapper), state(command)), (Some('T'), Some('T')));
    assert_eq!(scene.state("k"), "running");
    scene.once("other").sh("true").run();

    terminal.press("to the shell\n");
    until("the shell has read a line", || !scene.read("line").is_empty());
    assert_eq!(scene.read("line"), "to the shell\n");
    let groups = scene.read("groups");
    let groups: Vec<&str> = groups.split_whitespace().collect();
    assert_eq!(groups[0], groups[1], "the shell is in the foreground");
    scene.await_signal(Signal::SIGCONT);
    scene.settle(wrapper);
    assert_eq!(scene.count(Signal::SIGCONT), 1, "{:?}", scene.signals());

    gate.open();
    terminal.press("to the command\n");
    running.finish();
    assert_eq!(scene.read("read"), "to the command\n");
    assert_eq!(scene.read("ended"), "6\n");
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn a_command_that_cleans_up_before_it_stops_is_waited_for() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let mut terminal = Terminal::new();
    // As every full-screen program does.
    let command = r#"trap "echo TSTP >>signals" TSTP; trap "echo USR1 >>signals" USR1
        (trap "" TSTP USR1; echo ready >ready; read x <gate) >&- 2>&- &
        while kill -0 $! 2>&-; do wait; done
        trap - TSTP; kill -TSTP $$; exit 7"#;
    let running = scene.script(&terminal, &with_job_control(command)).spawn();
    until("the command is ready", || scene.path("ready").exists());
    terminal.press("\x1a");
    scene.await_signal(Signal::SIGTSTP);
    scene.settle(pid(&scene, "wrapper"));
    assert_eq!(scene.count(Signal::SIGTSTP), 1);
    assert_eq!(scene.read("stopped"), "", "the terminal is still the command's");
    gate.open();
    until("the shell goes on", || scene.read("stopped") == "148\n");
    terminal.press("\n");
    running.finish();
    assert_eq!(scene.read("ended"), "7\n");
    assert_eq!(scene.count(Signal::SIGTSTP), 1);
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn control_z_without_a_shell_that_could_continue_anybody_stops_nobody() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let mut terminal = Terminal::new();
    scene.behave(
        r#"trap "echo USR1 >>signals" USR1
        (trap "" USR1; echo ready >ready; read x <gate) >&- 2>&- &
        while kill -0 $! 2>&-; do wait; done; :"#,
    );
    let running = scene.begun(scene.attempt("k").at(&terminal));
    scene.await_counting();
    terminal.press("\x1a");
    terminal.await_text("^Z");
    scene.settle(running.pid());
    gate.open();
    running.finish();
    assert_eq!(scene.state("k"), "done");
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn what_the_terminal_or_a_shell_tells_the_group_is_not_sent_by_us_again() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let mut terminal = Terminal::new();
    let command = r#"for name in INT QUIT USR1 WINCH CONT; do
            trap "echo $name >>signals" $name
        done
        (trap "" INT QUIT USR1; echo ready >ready; read x <gate) >&- 2>&- &
        while kill -0 $! 2>&-; do wait; done; :"#;
    let call = scene.script(&terminal, &with_job_control(command));
    let running = call.env("TRACE", "strace -DDD -o trace -e trace=kill").spawn();
    until("the command is ready", || scene.path("ready").exists());
    let wrapper = pid(&scene, "wrapper");
    for (key, signal) in [("\x03", Signal::SIGINT), ("\x1c", Signal::SIGQUIT)] {
        if !unignored(&[signal]).is_empty() {
            terminal.press(key);
            scene.await_signal(signal);
            scene.settle(wrapper);
        }
    }
    terminal.resize(30);
    scene.await_signal(Signal::SIGWINCH);
    scene.settle(wrapper);
    terminal.press("\x1a");
    until("the shell goes on", || !scene.read("stopped").is_empty());
    terminal.press("\n");
    scene.await_signal(Signal::SIGCONT);
    scene.settle(wrapper);
    gate.open();
    running.finish();
    let trace = scene.read("trace");
    let mut calls = trace.lines().filter(|line| line.starts_with("kill("));
    assert!(calls.all(|line| line.contains("SIGUSR1")), "{trace}");
    assert_eq!(scene.state("k"), "done");
}
