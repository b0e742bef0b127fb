//! Who was superseded while he slept, and who takes a key that was somebody else's.

use super::engine::{ELSEWHERE, Engine};
use crate::support::processes::state;
use crate::support::{Signal, until};

every_server!(
    a_call_that_slept_through_its_lease_learns_that_it_was_superseded_and_changes_nothing,
    a_command_that_ended_by_itself_while_its_call_slept_is_recorded_if_nobody_took_the_key,
    a_script_that_was_superseded_changes_nothing,
    a_key_whose_holder_is_gone_is_not_taken_for_something_else,
);

fn a_call_that_slept_through_its_lease_learns_that_it_was_superseded_and_changes_nothing<
    E: Engine,
>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    scene.behave("read x <gate; echo zombie");
    let call = scene.attempt("k --claim-ttl 2s --report report").status(69).any_stdout();
    let zombie = scene.begun(call.notes(&["lost"]));
    zombie.signal(Signal::SIGSTOP);
    scene.behave("echo second");
    // On another host, which does not see to the command that is left.
    let next = scene.attempt("k -q --wait 30s").stdout("second\n");
    next.through_sh(&format!(r#"{ELSEWHERE}"$@""#)).run();
    let before = scene.json("show k --json");
    gate.open();
    zombie.signal(Signal::SIGCONT);
    zombie.finish();
    assert!(scene.read("report").contains(r#""outcome":"lost""#), "{}", scene.read("report"));
    let after = scene.json("show k --json");
    assert_eq!((&after["state"], &after["attempts"][0]), (&"done".into(), &before["attempts"][0]));
    scene.attempt("k").stdout("second\n").run();
    assert_eq!(scene.runs(), 2);
}

fn a_command_that_ended_by_itself_while_its_call_slept_is_recorded_if_nobody_took_the_key<
    E: Engine,
>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    // What it leaves has its output open still when the call wakes up.
    scene.behave("read x <gate; sleep 20 & echo out");
    let call = scene.attempt("k --claim-ttl 2s --report report").stdout("out\n").any_stderr();
    let sleeper = scene.begun(call);
    sleeper.signal(Signal::SIGSTOP);
    let command = scene.command_pid();
    gate.open();
    until("it has ended", || state(command) == Some('Z'));
    until("its lease is over", || scene.state("k") == "interrupted");
    sleeper.signal(Signal::SIGCONT);
    sleeper.finish();
    assert!(scene.read("report").contains(r#""outcome":"ran""#), "{}", scene.read("report"));
    scene.attempt("k").stdout("out\n").run();
    assert_eq!(scene.runs(), 1);
}

fn a_script_that_was_superseded_changes_nothing<E: Engine>() {
    let scene = E::shared().scene();
    let begin = |words: &str| {
        let begin = scene.call(&format!("begin k {words}")).any_stdout().any_stderr();
        begin.run().text().trim().to_owned()
    };
    let [old, new] = [begin("--claim-ttl 2s"), begin("--claim-ttl 1m --wait 30s")];
    scene.write("late", "late\n");
    for words in [
        "complete k --result late",
        "complete k --result late --upsert-missing",
        "fail k --reason late",
        "renew --claim-ttl 1h",
        "assert",
    ] {
        scene.call(words).arg("--token").arg(&old).status(69).any_stderr().run();
    }
    scene.write("result", "right\n");
    scene.call("complete k --result result --token").arg(&new).run();
    for words in ["complete k --result late", "complete k --result late --upsert-missing"] {
        scene.call(words).arg("--token").arg(&old).status(69).any_stderr().run();
    }
    scene.call("begin k --claim-ttl 2s").status(10).stdout("right\n").run();
}

fn a_key_whose_holder_is_gone_is_not_taken_for_something_else<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    scene.interrupted("k --claim-ttl 2s --fingerprint text:one");
    let other = || scene.attempt("k --fingerprint text:two --wait 30s");
    until("its lease is over", || scene.state("k") == "interrupted");
    other().status(65).note(&["text"]).run();
    assert_eq!(scene.runs(), 1);
    // Nor is it shared with whoever has taken it for the same.
    let call = scene.hanging("k -q --fingerprint text:one");
    let holder = scene.begun(call);
    other().status(65).note(&["text"]).run();
    gate.open();
    holder.finish();
    other().status(65).note(&["text"]).run();
    scene.attempt("k --fingerprint text:one").run();
    assert_eq!(scene.runs(), 2);
}
