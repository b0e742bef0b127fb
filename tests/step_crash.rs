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
fn the_step_of_a_taker_ends_what_is_left_of_the_one_it_took_over() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let first = scene.begin("k --claim-ttl 2s").any_stdout().run();
    let first = token_of(&first);
    let hang = "trap '' TERM; echo $$ >zombie; echo run >>runs; . ./second; read x <gate";
    scene.write("second", ":");
    let step = scene.with_token("step a", &first).sh(hang).unchecked();
    let step = scene.begun(step);
    let zombie: i32 = scene.read("zombie").trim().parse().unwrap();
    until("its time is over", || scene.state("k") == "interrupted");
    let taker = scene.token("k -q");
    assert!(is_alive(zombie), "to begin alone ends nothing of a script");
    scene.write("second", "exit 0");
    let call = scene.with_token("step a", &taker).sh(hang).note(&["k: step a", "interrupted"]);
    call.run();
    assert!(!is_alive(zombie), "it ran beside the step of the taker");
    let done = step.finish();
    assert_eq!(done.code(), 69, "{}", done.complaint());
    assert!(done.complaint().contains("claim was lost"), "{}", done.complaint());
    scene.with_token("step a", &taker).sh(hang).run();
    assert_eq!(scene.runs(), 2, "the taker's is on record");
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
