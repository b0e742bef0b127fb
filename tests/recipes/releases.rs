//! What must not happen twice when something is released: CI, make, a git hook and a
//! deploy script.

use super::{TRACE, elsewhere, only, script};
use crate::support::{Call, Scene};

#[test]
fn a_retried_pipeline_does_not_repeat_its_step() {
    let scene = Scene::new();
    let step = elsewhere(&only("CI"), "/var/lib/ci", &scene.state_folder());
    script(&scene, "release.sh", &format!("{TRACE}; echo released"));
    for _ in 0..2 {
        scene.shell(&step).env("CI_COMMIT_SHA", "1f2e").stdout("released\n").run();
    }
    assert_eq!(scene.runs(), 1);
    scene.shell(&step).env("CI_COMMIT_SHA", "3d4c").stdout("released\n").run();
    assert_eq!(scene.runs(), 2, "another commit is another release");
    let unset = scene.shell(&step).without_env("CI_COMMIT_SHA").unchecked().run();
    assert_ne!(unset.code(), 0);
    assert!(unset.complaint().contains("CI_COMMIT_SHA"), "{}", unset.complaint());
    assert_eq!(scene.runs(), 2, "a release without a commit");
}

/// The makefile of the recipe, with the target that it makes.
fn makefile(scene: &Scene) {
    let recipe = only("make").replace("\n        ", "\n\t");
    scene.write("Makefile", format!("{recipe}\npublish: ; @echo published >>runs\n"));
}

fn make<'a>(scene: &'a Scene, words: &str) -> Call<'a> {
    let call = scene.shell(&format!("make -s {words}"));
    ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "VERSION"].into_iter().fold(call, Call::without_env)
}

#[test]
#[ignore = "needs make: cargo test -- --ignored"]
fn make_publishes_a_version_once() {
    let scene = Scene::new();
    makefile(&scene);
    make(&scene, "release VERSION=1.2").any_stdout().run();
    make(&scene, "release VERSION=1.2 -j4").any_stdout().run();
    assert_eq!(scene.runs(), 1);
    make(&scene, "release VERSION=1.3").any_stdout().run();
    assert_eq!(scene.runs(), 2);
    let unset = make(&scene, "release").unchecked().run();
    assert_eq!((unset.code(), scene.runs()), (2, 2));
    assert!(unset.complaint().contains("no VERSION"), "{}", unset.complaint());
}

#[test]
#[ignore = "needs make: cargo test -- --ignored"]
fn make_that_only_shows_what_it_would_do_records_it_as_the_recipe_warns() {
    let scene = Scene::new();
    makefile(&scene);
    make(&scene, "-n release VERSION=1.2").any_stdout().run();
    assert_eq!((scene.runs(), &*scene.state("release-1.2")), (0, "done"));
}

/// A repository with the hook, one to push from, and a way to do so.
fn repositories(scene: &Scene) {
    let set_up = "
        git init -q --bare served.git
        git init -q mine && cd mine
        git config user.name somebody && git config user.email somebody@example.org
        git commit -q --allow-empty -m one && git tag v1
        git remote add origin ../served.git
    ";
    scene.shell(set_up).any_stderr().run();
    scene.executable(&scene.path("served.git/hooks/post-receive"), &only("git hook"));
    script(scene, "served.git/publish.sh", r#"echo "$*" >>../runs; cat; exec cat ../answer"#);
    scene.write("answer", "published\n");
}

fn git<'a>(scene: &'a Scene, words: &str) -> Call<'a> {
    scene.shell(&format!("cd mine && git {words}")).any_stdout().any_stderr()
}

#[test]
#[ignore = "needs git: cargo test -- --ignored"]
fn a_tag_that_is_deleted_and_pushed_again_is_not_published_again() {
    let scene = Scene::new();
    repositories(&scene);
    let said = git(&scene, "push origin HEAD:main v1").run().complaint();
    assert!(said.contains("remote: published"), "{said}");
    assert_eq!(scene.runs(), 1, "the branch is no tag");
    git(&scene, "push origin :v1").run();
    assert_eq!(scene.runs(), 1, "a deletion was published");
    let said = git(&scene, "push origin v1").run().complaint();
    assert!(said.contains("remote: published"), "{said}");
    assert_eq!(scene.runs(), 1);
    git(&scene, "commit -q --allow-empty -m two").run();
    git(&scene, "tag v2").run();
    git(&scene, "push origin v2").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
#[ignore = "needs git: cargo test -- --ignored"]
fn a_tag_that_has_moved_is_refused_and_one_that_failed_is_tried_again() {
    let scene = Scene::new();
    repositories(&scene);
    std::fs::remove_file(scene.path("answer")).unwrap();
    git(&scene, "push origin v1").run();
    assert_eq!((scene.runs(), &*scene.state("publish-v1")), (1, "failed"));
    scene.write("answer", "published\n");
    git(&scene, "push origin :v1").run();
    git(&scene, "push origin v1").run();
    assert_eq!((scene.runs(), &*scene.state("publish-v1")), (2, "done"));
    git(&scene, "commit -q --allow-empty -m two").run();
    git(&scene, "tag -f v1").run();
    let said = git(&scene, "push -f origin v1").run().complaint();
    assert!(said.contains("publish-v1: already used for something else"), "{said}");
    assert_eq!(scene.runs(), 2);
}

/// The deploy script, and one of each kind that it calls.
fn deployment(scene: &Scene) {
    script(scene, "deploy", &only("Deploy script"));
    for step in ["migrate", "upload", "switch"] {
        script(scene, &format!("{step}.sh"), &format!("echo {step} $1 >>runs; . ./{step}.does"));
        scene.write(&format!("{step}.does"), ":");
    }
}

#[test]
fn a_deployment_that_failed_goes_on_where_it_was() {
    let scene = Scene::new();
    deployment(&scene);
    scene.write("upload.does", "exit 4");
    scene.shell("./deploy 7").status(4).run();
    scene.write("upload.does", ":");
    scene.shell("./deploy 7").run();
    assert_eq!(scene.read("runs"), "migrate 7\nupload 7\nupload 7\nswitch 7\n");
    scene.write("runs", "");
    scene.shell("./deploy 8").run();
    scene.shell("./deploy 7").run();
    assert_eq!(scene.read("runs"), "migrate 8\nupload 8\nswitch 8\nswitch 7\n", "and back again");
    let unset = scene.shell("./deploy").unchecked().run();
    assert!(unset.complaint().contains("which version?"), "{}", unset.complaint());
}

#[test]
fn two_deployments_never_run_at_once() {
    let scene = Scene::new();
    deployment(&scene);
    scene.write("migrate.does", "read x <gate");
    let first = scene.begun(scene.shell("./deploy 7"));
    let second = scene.shell("./deploy 8").spawn();
    scene.await_waiters(1);
    assert_eq!(scene.read("runs"), "migrate 7\n");
    let mut gate = scene.gate();
    gate.open();
    first.finish();
    gate.open();
    second.finish();
    let expected = "migrate 7\nupload 7\nswitch 7\nmigrate 8\nupload 8\nswitch 8\n";
    assert_eq!(scene.read("runs"), expected);
}
