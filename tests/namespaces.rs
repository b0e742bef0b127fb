//! A namespace separates equal keys.

use crate::support::Scene;

#[test]
fn equal_keys_in_different_namespaces_are_different() {
    let scene = Scene::new();
    for namespace in ["a", "b", "default"] {
        for _ in 0..2 {
            scene.attempt(&format!("k --namespace {namespace}")).run();
        }
    }
    assert_eq!(scene.runs(), 3);
}

#[test]
fn the_namespace_is_named_default_unless_told_otherwise() {
    let scene = Scene::new();
    scene.attempt("k").run();
    scene.attempt("k --namespace default").run();
    assert_eq!(scene.runs(), 1);
    assert_eq!(scene.json("show k --json")["namespace"], "default");
}

#[test]
fn namespace_and_key_do_not_run_into_each_other() {
    let scene = Scene::new();
    for words in ["c --namespace ab", "bc --namespace a", "b/c --namespace a", "c --namespace a/b"]
    {
        scene.attempt(words).run();
    }
    assert_eq!(scene.runs(), 4);
}

#[test]
fn the_variable_gives_the_namespace() {
    let scene = Scene::new();
    let call = scene.attempt("k").env("DOUBLETAP_NAMESPACE", "mine");
    call.run();
    scene.attempt("k --namespace mine").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn forget_and_show_stay_within_their_namespace() {
    let scene = Scene::new();
    scene.attempt("k --namespace a").run();
    assert_eq!(scene.state("k"), "absent");
    scene.call("forget k").status(1).note(&["k"]).run();
    scene.call("forget k --namespace a").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn list_covers_all_namespaces_unless_one_is_named() {
    let scene = Scene::new();
    scene.attempt("k --namespace a").run();
    scene.attempt("k --namespace b").run();
    assert_eq!(scene.json("list --json").as_array().map(Vec::len), Some(2));
    let one = scene.json("list --namespace a --json");
    assert_eq!(one.as_array().map(Vec::len), Some(1));
    assert_eq!(one[0]["namespace"], "a");
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_command_whose_pid_namespace_is_not_the_callers_runs_all_the_same() {
    let scene = Scene::new();
    // Without --fork the caller stays outside, and its children are in.
    let inside = || ["unshare", "--pid"];
    scene.attempt("k").through(inside()).run();
    assert_eq!(scene.runs(), 1);
    scene.lease("name").through(inside()).sh("exit 3").status(3).run();
}
