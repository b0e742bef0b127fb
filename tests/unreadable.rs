//! An attempt that no doubletap wrote as it is: whoever meets it names it and runs nothing,
//! `doctor` finds all of them, and what is to be typed drops it.
//!
//! The sentences are here for every store; those on servers are played in
//! `servers/unreadable.rs`.

use rusqlite::Connection;

use crate::support::{Scene, until};

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

pub(crate) fn is_found_by_doctor_however_many_there_are(scene: &Scene, spoil: &Spoil<'_>) {
    scene.attempt("sound").run();
    scene.held("n").run();
    spoil("lease", "n");
    for number in 0..11 {
        scene.attempt(&format!("k{number}")).run();
        spoil("once", &format!("k{number}"));
    }
    let checkup = scene.examined();
    assert_eq!(checkup.status, 1);
    let rows = checkup.all("row");
    let found = |place: usize| rows[place]["found"].as_str().unwrap();
    assert_eq!(rows.len(), 11, "ten by name: {}", checkup.document);
    assert!(rows.iter().all(|row| row["verdict"] == "bad"), "{}", checkup.document);
    for place in 0..10 {
        assert!(found(place).contains(": attempt 1 cannot be read ("), "{}", found(place));
    }
    assert_eq!(found(10), "and 2 more that cannot be read");
    checkup.found("rows", "ok");
    checkup.found("holder", "ok");
    type_advice(scene, rows[0]["remedy"].as_str().unwrap());
    assert_eq!(scene.examined().all("row")[10]["found"], "and 1 more that cannot be read");
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
    assert!(scene.examined().all("row").is_empty());
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

pub(crate) fn is_spared_by_prune_and_in_nobodys_way(scene: &Scene, spoil: &Spoil<'_>) {
    let script = r#""$BIN" step part -- true"#;
    scene.once("k").sh("true").run();
    scene.once("other").sh(script).run();
    spoil("once", "k");
    spoil("step", "part");
    let found = scene.examined();
    let steps = found.all("row").into_iter().filter(|row| {
        let text = |name: &str| row[name].as_str().unwrap();
        text("found").contains("a step of the operation") && text("remedy").contains("list --json")
    });
    assert_eq!(steps.count(), 1, "{}", found.document);
    until("the other is old enough and goes with its steps", || {
        scene.call("prune --older-than 2s --force").run();
        scene.examined().all("row").len() == 1
    });
    assert_eq!(scene.state("other"), "absent");
    scene.once("k").sh("true").status(125).note(&NAMED).run();
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
    an_attempt_that_cannot_be_read_is_found_by_doctor_however_many_there_are:
        is_found_by_doctor_however_many_there_are;
    an_attempt_that_cannot_be_read_is_dropped_by_what_is_to_be_typed:
        is_dropped_by_what_is_to_be_typed;
    an_attempt_that_cannot_be_read_is_nobodys_any_more_once_it_is_dropped:
        is_nobodys_any_more_once_it_is_dropped;
    an_attempt_that_cannot_be_read_is_spared_by_prune_and_in_nobodys_way:
        is_spared_by_prune_and_in_nobodys_way;
}
