//! The command that a message ends with does what it says when it is typed.

use std::path::PathBuf;

use crate::support::processes::{destroy, is_alive};
use crate::support::{Call, Done, Scene, until};

/// A key, a namespace and a store that a shell would take apart.
const KEY: &str = "-o'dd key";
const NAMESPACE: &str = "it's $HOME";

fn odd_store(scene: &Scene) -> PathBuf {
    scene.root().join("a 'quoted' folder/my store.db")
}

/// A call about the odd key in the odd store, its command still to come.
fn once<'scene>(scene: &'scene Scene, words: &str) -> Call<'scene> {
    let call = scene.once(words).arg(format!("--key={KEY}")).arg("--namespace").arg(NAMESPACE);
    call.arg("--store").arg(odd_store(scene)).without_env("DOUBLETAP_STORE")
}

/// The last command that a message names.
#[track_caller]
fn advised(done: &Done) -> String {
    let complaint = done.complaint();
    let (_, words) = complaint.trim_end().rsplit_once("doubletap ").expect("it names a command");
    format!("doubletap {words}")
}

/// Types it into a shell somewhere else, where nothing tells store or namespace.
#[track_caller]
fn typed(scene: &Scene, line: &str) {
    let line = format!(r#"cd /; PATH="${{BIN%/*}}:$PATH"; {line}"#);
    let call = scene.call("-c").program("sh".as_ref()).arg(line);
    call.without_env("DOUBLETAP_STORE").run();
}

/// The odd key may be used for something that was never asked for.
#[track_caller]
fn assert_free(scene: &Scene) {
    once(scene, "").command(["echo", "something new"]).stdout("something new\n").run();
}

#[test]
fn after_too_many_attempts_the_advised_command_frees_the_key() {
    let scene = Scene::new();
    let call = || once(&scene, "--max-attempts 1").sh("exit 3");
    call().status(3).run();
    let done = call().status(70).note(&[KEY]).run();
    typed(&scene, &advised(&done));
    assert_free(&scene);
}

/// Leaves the odd key interrupted, and returns what a careful caller is told.
#[track_caller]
fn interrupted(scene: &Scene) -> Done {
    let _gate = scene.gate();
    let call = || once(scene, "--on-crash stop").sh("echo $$ >pid; echo >>runs; read x <gate");
    scene.begun(call().unchecked()).kill();
    let command = scene.command_pid();
    destroy(-command);
    until("the command is gone", || !is_alive(command));
    call().status(70).note(&[KEY]).run()
}

#[test]
fn after_a_crash_the_advised_command_frees_the_key() {
    let scene = Scene::new();
    let done = interrupted(&scene);
    typed(&scene, &advised(&done));
    assert_free(&scene);
}

#[test]
fn after_a_crash_the_other_advised_command_settles_it() {
    let scene = Scene::new();
    let complaint = interrupted(&scene).complaint();
    let (before, _) = complaint.split_once(", or to run it again").unwrap();
    let (_, words) = before.rsplit_once("doubletap ").unwrap();
    assert!(words.starts_with("complete "), "{complaint}");
    typed(&scene, &format!("doubletap {}", words.replace("--exit-code N", "--exit-code 9")));
    let replay = once(&scene, "--on-crash stop").sh("echo $$ >pid; echo >>runs; read x <gate");
    replay.status(9).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn after_a_mismatch_the_advised_command_frees_the_key() {
    let scene = Scene::new();
    once(&scene, "").command(["echo", "one"]).stdout("one\n").run();
    let done = once(&scene, "").command(["echo", "two"]).status(65).note(&[KEY, "argv"]).run();
    typed(&scene, &advised(&done));
    assert_free(&scene);
}

#[test]
fn an_end_that_could_not_be_recorded_is_recorded_by_the_advised_command() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let call = || once(&scene, "--record any").sh("echo >>runs; read x <gate; exit 6");
    let running = scene.begun(call().unchecked());
    let (store, aside) = (odd_store(&scene), scene.path("aside"));
    std::fs::rename(&store, &aside).unwrap();
    gate.open();
    let done = running.finish();
    assert_eq!(done.code(), 74, "{}", done.complaint());
    std::fs::rename(&aside, &store).unwrap();
    typed(&scene, &advised(&done));
    call().status(6).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn variables_are_turned_into_options() {
    let scene = Scene::new();
    let call = |word: &'static str| {
        let call = scene.once("plain").command(["echo", word]);
        call.env("DOUBLETAP_NAMESPACE", NAMESPACE).env("DOUBLETAP_STORE", odd_store(&scene))
    };
    call("one").stdout("one\n").run();
    let done = call("two").status(65).note(&["argv"]).run();
    typed(&scene, &advised(&done));
    call("two").stdout("two\n").run();
}
