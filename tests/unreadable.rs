//! An attempt that no doubletap wrote as it is: whoever meets it names it and runs nothing,
//! and what is to be typed drops it.
//!
//! The sentences are here for every store; those on servers are played in
//! `servers/unreadable.rs`.

use rusqlite::Connection;

use crate::support::Scene;

/// Makes the newest attempt of a kind and a key unreadable.
pub(crate) type Spoil<'a> = dyn Fn(&str, &str) + 'a;

/// What everybody says who meets the attempt of `k`.
const NAMED: [&str; 4] =
    ["k: attempt 1 cannot be read", "once", "default", "doubletap forget --key=k --namespace"];

/// Types the command that a message ends with.
#[track_caller]
fn type_advice(scene: &Scene, said: &str) {
    let (_, words) = said.trim_end().rsplit_once("doubletap ").expect("it names a command");
    let line = format!(r#"cd /; PATH="${{BIN%/*}}:$PATH"; doubletap {words}"#);
    scene.call("-c").program("sh".as_ref()).arg(line).run();
}

pub(crate) fn is_named_by_whoever_meets_it(scene: &Scene, spoil: &Spoil<'_>) {
    scene.attempt("k").run();
    scene.attempt("other").run();
    spoil("once", "k");
    let calls = ["list", "stats", "show k", "logs k", "begin k --claim-ttl 1m", "forget k"];
    for call in calls.map(|words| scene.call(words)).into_iter().chain([scene.attempt("k")]) {
        call.status(125).note(&NAMED).run();
    }
    scene.call("list --namespace elsewhere").any_stdout().run();
    scene.attempt("other").run();
    assert_eq!(scene.runs(), 2, "neither ran again");
}

pub(crate) fn is_not_passed_over_for_an_older_one(scene: &Scene, spoil: &Spoil<'_>) {
    scene.behave("exit 3");
    scene.attempt("k").status(3).run();
    scene.behave(":");
    scene.attempt("k").run();
    spoil("once", "k");
    scene.attempt("k").status(125).note(&["k: attempt 2 cannot be read"]).run();
    assert_eq!(scene.runs(), 2);
}

pub(crate) fn is_dropped_by_what_is_to_be_typed(scene: &Scene, spoil: &Spoil<'_>) {
    scene.attempt("k").run();
    scene.attempt("k --rerun").run();
    scene.held("n").run();
    spoil("once", "k");
    spoil("lease", "n");
    let key = scene.attempt("k").status(125).note(&["k: attempt 2 cannot be read"]).run();
    let name = scene.held("n").status(125).note(&["n: attempt 1 cannot be read", "lease"]).run();
    assert_eq!(scene.runs(), 3);
    for said in [key, name] {
        type_advice(scene, &said.complaint());
    }
    assert_eq!(scene.state("k"), "forgotten");
    scene.attempt("k").run();
    scene.held("n").run();
    assert_eq!(scene.runs(), 5);
    scene.call("stats").any_stdout().run();
}

pub(crate) fn is_nobodys_any_more_once_it_is_dropped(scene: &Scene, spoil: &Spoil<'_>) {
    let begun = scene.call("begin k --claim-ttl 1m").any_stdout().run();
    let token = begun.text().trim().to_owned();
    spoil("once", "k");
    let complete = || scene.call(&format!("complete k --upsert-missing --token {token}"));
    let said = complete().status(125).note(&NAMED).run().complaint();
    type_advice(scene, &said);
    complete().status(69).note(&["k"]).run();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

/// Makes the newest attempt of a kind and a key unreadable in a store that is a file.
pub(crate) fn spoil(scene: &Scene, kind: &str, key: &str) {
    let store = Connection::open(scene.store()).unwrap();
    let newest = "UPDATE attempt SET state = 'unknown' WHERE fence =
        (SELECT max(fence) FROM attempt WHERE kind = ? AND key = ?)";
    assert_eq!(store.execute(newest, [kind, key]).unwrap(), 1);
}

/// Plays a sentence on a store that is a file.
fn played(sentence: fn(&Scene, &Spoil<'_>)) {
    let scene = Scene::new();
    sentence(&scene, &|kind, key| spoil(&scene, kind, key));
}

macro_rules! sentences {
    ($($name:ident: $sentence:ident;)*) => {
        $(
            #[test]
            fn $name() {
                played($sentence);
            }
        )*
    };
}

sentences! {
    an_attempt_that_cannot_be_read_is_named_by_whoever_meets_it: is_named_by_whoever_meets_it;
    an_attempt_that_cannot_be_read_is_not_passed_over_for_an_older_one:
        is_not_passed_over_for_an_older_one;
    an_attempt_that_cannot_be_read_is_dropped_by_what_is_to_be_typed:
        is_dropped_by_what_is_to_be_typed;
    an_attempt_that_cannot_be_read_is_nobodys_any_more_once_it_is_dropped:
        is_nobodys_any_more_once_it_is_dropped;
}
