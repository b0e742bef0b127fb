//! Two users never share a key.

use super::{KEY, Request, says};
use crate::support::Scene;

#[test]
fn two_users_with_one_key_both_have_their_effect() {
    let scene = Scene::new();
    scene.behave(r#"printf 'A: b\r\n\r\n%s' "$REMOTE_USER""#);
    let users = ["alice", "bob", "", "ali\u{1}ce", "REMOTE_USER=alice", "guest", "alice:guest"];
    let long = "u".repeat(2000);
    for user in users.into_iter().chain([long.as_str()]) {
        for again in [false, true] {
            let answer = Request::post(&scene, KEY, "").with("REMOTE_USER", user).answer("");
            assert_eq!((answer.is_replayed(), answer.text()), (again, user.to_owned()));
        }
    }
    assert_eq!(scene.runs(), 8);
}

#[test]
fn callers_without_a_user_share_the_guests_keys() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    Request::post(&scene, KEY, "").answer("");
    assert!(Request::post(&scene, KEY, "").with("REMOTE_USER", "").answer("").is_replayed());
}

#[test]
fn another_variable_can_say_whose_a_key_is() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    let of = |tenant: &str, user: &str| {
        let request = Request::post(&scene, KEY, "").with("HTTP_X_TENANT", tenant);
        request.with("REMOTE_USER", user).answer("--scope-env HTTP_X_TENANT").is_replayed()
    };
    assert!(!of("a", "alice"));
    assert!(of("a", "bob"));
    assert!(!of("b", "alice"));
    // It is no user of that name.
    let alice = Request::post(&scene, KEY, "").with("REMOTE_USER", "a").answer("");
    assert!(!alice.is_replayed());
}

#[test]
fn a_header_that_says_whose_a_key_is_may_be_a_secret_and_is_nowhere_in_clear() {
    let secret = "Bearer s3cret";
    for variable in ["HTTP_AUTHORIZATION", "HTTP_COOKIE", "HTTP_X_TENANT"] {
        let scene = Scene::new();
        scene.behave(&says("once"));
        let options = format!("--scope-env {variable} --log log -v");
        let of = |value: &str| {
            let request = Request::post(&scene, KEY, "").with(variable, value);
            request.call(&options).any_stdout().any_stderr().run()
        };
        for done in [of(secret), of(secret), of("Bearer other")] {
            assert!(!done.complaint().contains("s3cret"), "{}", done.complaint());
        }
        assert_eq!(scene.runs(), 2);
        assert!(!scene.read("log").contains("s3cret"));
        assert!(!scene.call("list").any_stdout().run().text().contains("s3cret"));
        for name in scene.state_files() {
            let bytes = std::fs::read(scene.state_folder().join(&name)).unwrap();
            assert!(!bytes.windows(6).any(|window| window == b"s3cret"), "{name}");
        }
        // As the manual says that an operator finds it.
        let digest = scene.shell(&format!("printf %s '{secret}' | sha256sum")).any_stdout().run();
        let digest = digest.text().split(' ').next().unwrap().to_owned();
        let scope = format!("cgi:default:{variable}:sha256={digest}");
        assert_eq!(scene.state(&format!("{KEY} --namespace {scope}")), "done");
    }
}

#[test]
fn a_scope_is_a_namespace_that_operators_name_and_nobody_else_claims_in() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    let request = || Request::post(&scene, KEY, "").with("REMOTE_USER", "alice");
    request().answer("");
    let scope = "cgi:default:REMOTE_USER=alice";
    assert_eq!(scene.state(&format!("{KEY} --namespace {scope}")), "done");
    assert_eq!(scene.state(KEY), "absent");
    for verb in ["once k", "begin k --pid 1"] {
        let call = scene.call(&format!("{verb} --namespace {scope}"));
        let call = if verb.starts_with("once") { call.command(["true"]) } else { call };
        call.status(64).note(&["--namespace", "belongs to cgi"]).run();
    }
    scene.call(&format!("forget {KEY} --namespace {scope}")).run();
    assert!(!request().answer("").is_replayed());
    assert!(!request().answer("--namespace other").is_replayed());
    assert_eq!(scene.state(&format!("{KEY} --namespace cgi:other:REMOTE_USER=alice")), "done");
}

#[test]
fn what_an_operator_is_told_to_type_names_the_scope() {
    let scene = Scene::new();
    scene.behave(&says("once"));
    Request::post(&scene, KEY, "a").answer("");
    let told = Request::post(&scene, KEY, "b").call("").any_stdout().note(&["body differs"]).run();
    let complaint = told.complaint();
    let (_, forget) = complaint.rsplit_once("doubletap forget ").unwrap();
    scene.call(&format!("forget {}", forget.trim())).run();
    Request::post(&scene, KEY, "b").answer("");
    assert_eq!(scene.runs(), 2);
}
