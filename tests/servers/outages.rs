//! A server that goes away: before a run, in the middle of one, and at its end.

use std::time::{Duration, Instant};

use super::engine::Engine;
use crate::support::{Scene, until};

every_server!(
    nothing_runs_while_the_server_is_gone,
    a_claim_outlasts_a_restart_of_the_server,
    a_command_is_stopped_before_its_claim_is_over,
    under_on_crash_stop_a_command_that_was_stopped_is_left_to_a_person,
    a_command_that_holds_a_name_is_stopped_before_its_lease_is_over,
    an_end_is_recorded_when_the_server_is_back_in_time,
    an_end_that_cannot_be_recorded_is_settled_by_hand,
    a_failure_that_cannot_be_noted_is_not_made_a_record_by_hand,
    under_on_crash_stop_a_failure_that_cannot_be_noted_is_to_be_forgotten,
    a_result_that_was_refused_is_not_made_a_record_by_hand,
    a_name_outlasts_a_stop_and_a_kill_of_the_server,
    a_claim_whose_server_was_gone_for_longer_than_it_is_taken_over,
);

const UNTIL_TOLD: &str =
    r#"exec 2>/dev/null; trap "echo told; exit 3" TERM; : >begun; while :; do sleep 0.05; done"#;

fn nothing_runs_while_the_server_is_gone<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    server.pause();
    let began = Instant::now();
    let call = scene.once("k --store-timeout 1s").sh("echo >>runs");
    call.status(125).note(&["the store"]).run();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    server.resume();
    server.kill();
    let words = ["localhost", "see whether the server runs, and whether host and port are right"];
    scene.once("k").sh("echo >>runs").status(125).note(&words).run();
    assert_eq!(scene.runs(), 0);
    scene.once("k -q --fail-open").sh("echo >>runs").any_stderr().run();
    assert_eq!(scene.runs(), 1);
}

fn a_claim_outlasts_a_restart_of_the_server<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging("k --claim-ttl 20s").any_stderr());
    server.kill();
    server.restart();
    scene.attempt("k").status(75).note(&["held by"]).run();
    gate.open();
    holder.finish();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

fn a_command_is_stopped_before_its_claim_is_over<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    let began = Instant::now();
    let call = scene.once("k --claim-ttl 4s").sh(UNTIL_TOLD).stdout("told\n").status(69);
    let call = call.notes(&["cannot be renewed at present", "stopped before its 4s were over"]);
    let running = call.spawn();
    until("it runs", || scene.path("begun").exists());
    server.pause();
    running.finish();
    let took = began.elapsed();
    assert!(took < Duration::from_millis(8500), "it took {took:?}");
    server.resume();
}

fn under_on_crash_stop_a_command_that_was_stopped_is_left_to_a_person<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    scene.behave(UNTIL_TOLD);
    let call = scene.attempt("k --claim-ttl 3s --on-crash stop").stdout("told\n").status(69);
    let words = ["complete k --unresolved --exit-code N", "doubletap forget k"];
    let holder = scene.begun(call.notes(&words));
    until("it runs", || scene.path("begun").exists());
    server.kill();
    let said = holder.finish().complaint();
    assert!(!said.contains("runs it again"), "{said}");
    server.restart();
    let next = || scene.attempt("k -q --on-crash stop").unchecked().run();
    until("its lease is over, and it is refused", || next().code() == 70);
    assert_eq!(scene.runs(), 1);
}

fn a_command_that_holds_a_name_is_stopped_before_its_lease_is_over<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    let call = scene.lease("n --ttl 4s").sh(UNTIL_TOLD).stdout("told\n").status(69);
    let call = call.notes(&["cannot be renewed at present", "stopped before its 4s were over"]);
    let running = call.spawn();
    until("it runs", || scene.path("begun").exists());
    let began = Instant::now();
    server.pause();
    running.finish();
    let took = began.elapsed();
    assert!(took < Duration::from_millis(8500), "it took {took:?}");
    server.resume();
}

fn an_end_is_recorded_when_the_server_is_back_in_time<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging("k --claim-ttl 30s --store-timeout 1s").any_stderr());
    server.pause();
    gate.open();
    until("it has tried in vain", || {
        String::from_utf8_lossy(&holder.stderr_so_far()).contains("cannot be recorded yet")
    });
    server.resume();
    holder.finish();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

fn an_end_that_cannot_be_recorded_is_settled_by_hand<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    let mut gate = scene.gate();
    let call = scene.hanging("k --claim-ttl 3s --store-timeout 1s").status(74);
    let holder = scene.begun(call.notes(&["complete k --unresolved --exit-code 0"]));
    server.kill();
    gate.open();
    let said = holder.finish().complaint();
    server.restart();
    let (_, line) = said.trim().rsplit_once("by hand: doubletap ").unwrap();
    assert!(!line.contains(E::password()), "{line}");
    let typed =
        || scene.call("-c").program("sh".as_ref()).arg(format!(r#""$BIN" {line}"#)).unchecked();
    // The password is beside the line: in the variable that names the store, or in one of
    // its own. Whoever has it nowhere is told where to put it.
    until("its lease is over, and it can be settled", || typed().run().code() == 0);
    let own = typed().without_env("DOUBLETAP_STORE").env("PGPASSWORD", E::password());
    let told = own.env("REDISCLI_AUTH", E::password()).run().complaint();
    assert!(told.contains("its outcome is on record"), "{told}");
    let told = typed().without_env("DOUBLETAP_STORE").run().complaint();
    assert!(told.contains("PGPASSWORD") || told.contains("REDISCLI_AUTH"), "{told}");
    assert_eq!(scene.state("k"), "done");
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

/// What is said of a command whose end nobody could be told of.
fn said_of_an_end<E: Engine>(words: &str, command: &str) -> (E, Scene, String) {
    let mut server = E::start();
    let scene = server.scene();
    let mut gate = scene.gate();
    scene.behave(&format!("read x <gate; {command}"));
    let call = scene.attempt(&format!("k --claim-ttl 3s --store-timeout 1s {words}"));
    let holder = scene.begun(call.any_stdout().status(74).any_stderr());
    server.kill();
    gate.open();
    let said = holder.finish().complaint();
    server.restart();
    (server, scene, said)
}

fn a_failure_that_cannot_be_noted_is_not_made_a_record_by_hand<E: Engine>() {
    let (_server, scene, said) = said_of_an_end::<E>("--retry-after 1h", "exit 9");
    assert!(said.contains("ended with exit status 9"), "{said}");
    assert!(said.contains("nothing need be done: the next call runs it again"), "{said}");
    assert!(!said.contains("complete"), "{said}");
    scene.behave(":");
    scene.attempt("k -q --wait 30s").run();
    assert_eq!(scene.runs(), 2);
}

fn under_on_crash_stop_a_failure_that_cannot_be_noted_is_to_be_forgotten<E: Engine>() {
    let (_server, scene, said) = said_of_an_end::<E>("--on-crash stop", "exit 9");
    let (_, line) = said.trim().rsplit_once("to have it run again: doubletap ").expect(&said);
    assert!(!said.contains("complete"), "{said}");
    scene.behave(":");
    let next = || scene.attempt("k -q --on-crash stop").unchecked().run().code();
    until("its lease is over, and it is refused", || next() == 70);
    let typed = scene.call("-c").program("sh".as_ref()).arg(format!(r#""$BIN" {line}"#));
    typed.run();
    assert_eq!(next(), 0);
    assert_eq!(scene.runs(), 2);
}

fn a_result_that_was_refused_is_not_made_a_record_by_hand<E: Engine>() {
    let (_server, _scene, said) = said_of_an_end::<E>("--validate false", "echo bad");
    assert!(said.contains("the next call runs it again"), "{said}");
    assert!(!said.contains("complete"), "{said}");
}

fn a_name_outlasts_a_stop_and_a_kill_of_the_server<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n --ttl 20s").any_stderr());
    let end: [fn(&mut E); 2] = [E::stop, E::kill];
    for end in end {
        end(&mut server);
        server.restart();
        scene.held("n").status(75).note(&["held by"]).run();
    }
    gate.open();
    holder.finish();
    scene.behave(":");
    scene.held("n").run();
    assert_eq!(scene.runs(), 2);
}

fn a_claim_whose_server_was_gone_for_longer_than_it_is_taken_over<E: Engine>() {
    let mut server = E::start();
    let scene = server.scene();
    scene.behave(UNTIL_TOLD);
    let call = scene.attempt("k --claim-ttl 3s").stdout("told\n").status(69);
    let call = call.notes(&["cannot be renewed at present", "stopped before its 3s were over"]);
    let holder = scene.begun(call);
    until("it runs", || scene.path("begun").exists());
    server.kill();
    holder.finish();
    server.restart();
    scene.behave("echo second");
    scene.attempt("k -q --wait 30s").stdout("second\n").run();
    let keys = scene.keys();
    assert_eq!(keys[0], keys[1], "it is one operation");
}
