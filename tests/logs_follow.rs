//! `logs -f`: what an attempt writes, as it comes, until it ends.

use crate::large_output::spools;
use crate::support::processes::{destroy, has_open, is_alive};
use crate::support::{Scene, Stopped, until};

/// A command that writes to both streams, and more once the gate opens.
const IN_TWO_PARTS: &str = "echo first; echo error >&2; read x <gate; echo last; exit 3";

#[test]
fn what_a_command_writes_is_followed_and_the_following_ends_with_it() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(IN_TWO_PARTS);
    let running = scene.begun(scene.attempt("k").unchecked());
    let call = scene.call("logs -f k").stdout("first\nlast\n").stderr("error\n");
    let mut logs = call.spawn();
    until("the first part is given", || logs.stdout_so_far() == b"first\n");
    assert!(logs.is_under_way());
    gate.open();
    running.finish();
    logs.finish();
}

#[test]
fn a_single_stream_is_followed_alone() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(IN_TWO_PARTS);
    let running = scene.begun(scene.attempt("k").unchecked());
    let logs = scene.call("logs -f k --stderr").stdout("error\n").spawn();
    until("it is given", || logs.stdout_so_far() == b"error\n");
    gate.open();
    running.finish();
    logs.finish();
}

#[test]
fn of_a_command_that_ends_before_any_of_it_can_be_seen_all_is_given_at_its_end() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo only");
    let running = scene.begun(scene.attempt("k").stdout("only\n"));
    let logs = scene.call("logs -f k").stdout("only\n").spawn();
    gate.open();
    running.finish();
    logs.finish();
}

#[test]
fn a_finished_attempt_is_given_at_once() {
    let scene = Scene::new();
    scene.once("k").sh("echo done; exit 4").stdout("done\n").status(4).run();
    scene.call("logs -f k").stdout("done\n").run();
    scene.call("logs -f absent").status(1).note(&["absent", "no such key"]).run();
}

#[test]
fn the_following_ends_when_the_holder_dies() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(IN_TWO_PARTS);
    let running = scene.begun(scene.attempt("k").unchecked());
    let logs = scene.call("logs -f k").stdout("first\n").stderr("error\n").spawn();
    until("the first part is given", || logs.stdout_so_far() == b"first\n");
    running.kill();
    logs.finish();
    let command = scene.command_pid();
    destroy(-command);
    until("the command is gone", || !is_alive(command));
}

#[test]
fn the_following_ends_when_its_reader_leaves_though_nothing_more_is_written() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave(IN_TWO_PARTS);
    let running = scene.begun(scene.attempt("k").unchecked());
    let call = scene.call("logs -f k --stdout").through_sh(r#"{ "$@"; echo $? >&2; } | head -n 1"#);
    call.stdout("first\n").stderr("0\n").run();
    gate.open();
    running.finish();
}

#[test]
fn a_flood_is_followed_byte_for_byte() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.behave("seq 300000; read x <gate; seq 300000");
    let running = scene.begun(scene.attempt("k").any_stdout());
    let logs = scene.call("logs -f k").any_stdout().spawn();
    until("the first half is given", || logs.stdout_so_far().ends_with(b"\n300000\n"));
    gate.open();
    let (ran, followed) = (running.finish(), logs.finish());
    assert!(ran.stdout == followed.stdout, "{} {}", ran.stdout.len(), followed.stdout.len());
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn an_output_whose_spool_was_given_up_is_given_from_the_tables() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    scene.attempt("earlier").run();
    scene.behave("echo out; read x <gate");
    // It has made its spool, and nothing is in it.
    let call = scene.attempt("k").stdout("out\n");
    let holder = Stopped::after(&scene, call, "fchmod", None);
    let spool = spools(&scene).remove(0);
    let logs = scene.call("logs -f k").stdout("out\n").spawn();
    until("it is looked at", || has_open(logs.pid(), &spool));
    let limit_files_of = |pid: i32, bytes: &str| {
        let call = scene.call(&format!("--pid {pid} --fsize={bytes}:"));
        call.program("prlimit".as_ref()).run();
    };
    let pid = holder.pid();
    limit_files_of(pid, "0");
    let holder = holder.go_on();
    until("it is given up", || !spool.exists());
    limit_files_of(pid, "unlimited");
    gate.open();
    holder.finish();
    logs.finish();
}
