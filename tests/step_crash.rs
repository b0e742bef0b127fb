//! Whoever is killed in the middle of a step: the next run goes on where it was.

use crate::support::processes::{destroy, is_alive};
use crate::support::{Call, Scene, Signal, token_of, until};

/// Three steps. The second does what the file `second` says.
const STEPS: &str = r#"
    step() { "$BIN" step "$@"; }
    step first -- sh -c 'echo first >>trace' || exit
    step second -- sh -c 'echo second >>trace; echo "$DOUBLETAP_IDEMPOTENCY_KEY" >>runs; . ./second' || exit
    step third -- sh -c 'echo third >>trace'"#;

fn operation<'scene>(scene: &'scene Scene, words: &str) -> Call<'scene> {
    scene.once(words).sh(STEPS)
}

/// The next run goes on: the first step is not run again, and the second is, as the same
/// operation.
#[track_caller]
fn goes_on(scene: &Scene) {
    scene.write("second", ":");
    operation(scene, "k --wait 10s").any_stderr().run();
    assert_eq!(scene.read("trace"), "first\nsecond\nsecond\nthird\n");
    let keys = scene.keys();
    assert_eq!(keys[0], keys[1]);
    operation(scene, "k").any_stderr().run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn when_the_command_of_a_step_is_killed_the_next_run_goes_on() {
    let scene = Scene::new();
    scene.write("second", "kill -9 $$");
    operation(&scene, "k").status(137).run();
    goes_on(&scene);
}

#[test]
fn when_the_step_itself_is_killed_the_next_run_goes_on() {
    let scene = Scene::new();
    scene.write("second", "kill -9 $PPID");
    operation(&scene, "k").any_stderr().status(137).run();
    goes_on(&scene);
}

#[test]
fn when_the_operation_is_killed_the_next_run_goes_on() {
    let scene = Scene::new();
    let gate = scene.gate();
    scene.write("second", "read x <gate");
    scene.begun(operation(&scene, "k").unchecked()).kill();
    drop(gate);
    until("nobody is left of it", || scene.state("k") == "interrupted");
    goes_on(&scene);
}

#[test]
fn when_everybody_is_killed_the_next_run_goes_on() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.write("second", "trap '' TERM; read x <gate");
    let running = scene.begun(operation(&scene, "k").unchecked());
    scene.kill_everybody();
    running.finish();
    goes_on(&scene);
}

#[test]
fn when_a_script_that_began_is_killed_the_next_one_goes_on() {
    let scene = Scene::new();
    let script = format!(
        r#"eval "$("$BIN" begin k --pid $$ -q --format sh)" || exit; {STEPS}; "$BIN" complete k"#
    );
    let _gate = scene.gate();
    scene.write("second", "trap '' TERM; read x <gate");
    let running = scene.begun(scene.shell(&script).unchecked());
    scene.kill_everybody();
    running.finish();
    assert_eq!(scene.state("k"), "interrupted");
    scene.write("second", ":");
    scene.shell(&script).any_stderr().run();
    assert_eq!(scene.read("trace"), "first\nsecond\nsecond\nthird\n");
    assert_eq!(scene.keys()[0], scene.keys()[1]);
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn a_step_that_lives_is_waited_for_and_given_again_to_whoever_took_its_operation() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let first = token_of(&scene.begin("k --claim-ttl 2s").any_stdout().run());
    let work = "echo run >>runs; read x <gate; echo out";
    let step = scene.begun(scene.with_token("step a", &first).sh(work).stdout("out\n"));
    until("its time is over", || scene.state("k") == "interrupted");
    let taker = scene.token("k -q");
    scene.with_token("step a", &taker).sh(work).status(75).note(&["k: step a: busy"]).run();
    let waiter = scene.with_token("step a --wait forever", &taker).sh(work).stdout("out\n").spawn();
    scene.await_waiters(1);
    gate.open();
    step.finish();
    waiter.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_step_that_succeeds_after_its_script_has_failed_is_not_run_again() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let work = "echo run >>runs; read x <gate; echo out";
    let token = scene.token("k");
    let step = scene.begun(scene.with_token("step a", &token).sh(work).stdout("out\n"));
    scene.with_token("fail k", &token).run();
    gate.open();
    step.finish();
    let token = scene.token("k");
    scene.with_token("step a", &token).sh(work).stdout("out\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_step_whose_command_outlives_it_is_not_run_beside_it() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let token = scene.token("k");
    let script = "trap '' TERM; echo run >>runs; . ./second";
    scene.write("second", "echo $$ >left; kill -9 $PPID; read x <gate");
    let call = scene.with_token("step a", &token).sh(script);
    call.dies_of(Signal::SIGKILL).run();
    until("its command has told who it is", || scene.read("left").ends_with('\n'));
    let call = scene.with_token("step a", &token).sh(script);
    call.status(75).note(&["k: step a: busy", "its command still runs"]).run();
    gate.open();
    let left: i32 = scene.read("left").trim().parse().unwrap();
    until("it is gone", || !is_alive(left));
    destroy(left);
    scene.write("second", ":");
    let call = scene.with_token("step a", &token).sh(script);
    call.note(&["k: step a", "interrupted"]).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_step_of_a_dropped_operation_does_not_run_beside_the_next_one() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let script = r#""$BIN" step s -q -- sh -c "trap '' TERM; echo \$\$ >zombie; echo run >>runs; read x <gate""#;
    let dropped = scene.begun(scene.once("k").sh(script).unchecked());
    let zombie: i32 = scene.read("zombie").trim().parse().unwrap();
    scene.call("forget k --force").run();
    scene.once("k").sh("echo next").stdout("next\n").run();
    assert!(!is_alive(zombie), "it ran beside the next operation");
    dropped.finish();
}
