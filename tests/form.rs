//! What a person at a terminal is shown, and what files and programs get instead.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Scene, Terminal};

/// The verbs that say something to people on standard output.
const VERBS: [&str; 4] = ["list", "show done", "stats", "doctor"];

/// The last line of a screen.
const END: &str = "(that was all)";

/// What a call leaves on the screen of a terminal that knows colours, with variables
/// set or taken away.
fn screen(scene: &Scene, words: &str, variables: &[(&str, Option<&str>)]) -> String {
    let mut terminal = Terminal::new();
    let call = scene.call(words).through_sh(&format!(r#""$@"; echo "{END}""#)).at(&terminal);
    let mut call = call.env("TERM", "xterm").without_env("NO_COLOR");
    for (name, value) in variables {
        call = match value {
            Some(value) => call.env(name, value),
            None => call.without_env(name),
        };
    }
    call.run();
    terminal.await_text(END);
    terminal.screen().replace("\r\n", "\n").replace(&format!("{END}\n"), "")
}

/// What a call puts into a pipe, whatever the terminal knows.
fn piped(scene: &Scene, words: &str) -> String {
    let call = scene.call(words).through_sh(r#""$@" | cat"#);
    call.env("TERM", "xterm").without_env("NO_COLOR").any_stdout().run().text()
}

/// A text without the attributes that we set, which are a number each.
fn stripped(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |so_far, piece| {
        let (attribute, rest) = piece.split_once('m').expect("an attribute ends");
        assert!(attribute.parse::<u8>().is_ok(), "{attribute:?} is none of ours: {text:?}");
        so_far + rest
    })
}

fn coloured(attribute: u8, word: &str) -> String {
    format!("\x1b[{attribute}m{word}\x1b[0m")
}

fn change(scene: &Scene, sql: &str) {
    Connection::open(scene.store()).unwrap().execute_batch(sql).unwrap();
}

/// A scene with keys and names in several states, all of them made days ago.
fn varied() -> Scene {
    let scene = Scene::new();
    scene.once("done").sh("true").run();
    scene.once("expired --ttl 1ms").sh("true").run();
    scene.once("failed --namespace other").sh("exit 3").status(3).run();
    scene.interrupted("interrupted");
    scene.lease("released").sh("true").run();
    scene.once("dropped").sh("true").run();
    scene.call("forget dropped").run();
    // Some hours more than days, so that a slow test says the same; no lease is left.
    change(
        &scene,
        "UPDATE attempt SET started_ms = started_ms - 270000000, ended_ms = ended_ms - 183600000,
            until_boot_ms = 0",
    );
    scene
}

#[test]
fn a_state_has_the_colour_of_what_it_means() {
    let scene = varied();
    let mut gate = scene.gate();
    let holder = scene.holder("running");
    let list = screen(&scene, "list", &[]);
    for (attribute, state) in [
        (32, "done"),
        (32, "released"),
        (33, "expired"),
        (33, "failed"),
        (31, "interrupted"),
        (36, "running"),
    ] {
        let word = coloured(attribute, state);
        assert!(list.lines().any(|line| line.starts_with(&word)), "{state}: {list:?}");
    }
    assert!(list.lines().any(|line| line.starts_with("forgotten ")), "{list:?}");
    assert!(list.starts_with(&coloured(1, "STATE")), "{list:?}");
    let show = screen(&scene, "show interrupted", &[]);
    assert_eq!(show.matches(&coloured(31, "interrupted")).count(), 2, "{show:?}");
    assert!(screen(&scene, "stats", &[]).contains(&coloured(33, "failed")));
    let doctor = screen(&scene, "doctor", &[]);
    assert!(doctor.contains(&coloured(32, "ok")), "{doctor:?}");
    assert!(doctor.contains(&coloured(33, "note")), "{doctor:?}");
    gate.open();
    holder.finish();
}

#[test]
fn what_is_bad_is_red() {
    let scene = Scene::new();
    fs::write(scene.store(), "this is no database".repeat(300)).unwrap();
    let doctor = screen(&scene, "doctor", &[]);
    assert!(doctor.contains(&coloured(31, "bad")), "{doctor:?}");
}

#[test]
fn colours_are_for_terminals_that_know_them_and_people_who_want_them() {
    let scene = varied();
    let without: [&[(&str, Option<&str>)]; 4] = [
        &[("NO_COLOR", Some("1"))],
        &[("NO_COLOR", Some("0"))],
        &[("TERM", Some("dumb"))],
        &[("TERM", None)],
    ];
    for verb in VERBS {
        for variables in without {
            let shown = screen(&scene, verb, variables);
            assert!(!shown.contains('\x1b'), "{verb} with {variables:?}: {shown:?}");
        }
        let shown = screen(&scene, verb, &[("NO_COLOR", Some(""))]);
        assert!(shown.contains('\x1b'), "{verb} has no colours: {shown:?}");
        let shown = piped(&scene, verb);
        assert!(!shown.is_empty() && !shown.contains('\x1b'), "{verb} in a pipe: {shown:?}");
    }
}

#[test]
fn a_document_is_the_same_on_a_terminal() {
    let scene = varied();
    for words in ["list --json", "show done --json", "stats --prometheus"] {
        assert_eq!(screen(&scene, words, &[]), piped(&scene, words), "{words}");
    }
    for words in ["stats --json", "doctor --json", "prune --older-than 90d --json"] {
        let shown = screen(&scene, words, &[]);
        assert!(serde_json::from_str::<Value>(&shown).is_ok(), "{words}: {shown:?}");
    }
}

#[test]
fn colours_leave_every_column_where_it_is() {
    let scene = varied();
    let plain = piped(&scene, "list");
    let shown = screen(&scene, "list", &[]);
    assert_eq!(stripped(&shown), plain);
    let head = plain.lines().next().unwrap();
    for column in head.split_whitespace() {
        let (at, _) = head.match_indices(column).last().unwrap();
        for line in plain.lines() {
            let begins = line[..at].trim_end().len() + 2 <= at || at == 0;
            assert!(
                begins && !line[at..].starts_with(' '),
                "{column} is not below itself: {plain}"
            );
        }
    }
    for verb in ["show done", "stats"] {
        let variables = [("NO_COLOR", Some("1"))];
        assert_eq!(stripped(&screen(&scene, verb, &[])), screen(&scene, verb, &variables));
    }
}

#[test]
fn a_person_reads_how_long_ago_and_a_program_reads_when() {
    let scene = varied();
    let hours = |hours: i64| hours * 3_600_000;
    change(
        &scene,
        &format!(
            "UPDATE attempt SET expires_ms = started_ms + {} WHERE key = 'done'",
            hours(75 + 50)
        ),
    );
    for terminal in ["xterm", "dumb"] {
        let shown = |words| stripped(&screen(&scene, words, &[("TERM", Some(terminal))]));
        let done = shown("show done");
        assert!(done.contains(", started 3days 3h ago, ended 2days 3h ago, "), "{done}");
        assert!(done.contains(", expires in 2days 1h"), "{done}");
        assert!(shown("show expired").contains(", expired "), "{}", shown("show expired"));
        let dropped = shown("show dropped");
        assert!(dropped.contains("forgotten  2days 3h ago\n"), "{dropped}");
        assert!(!shown("show interrupted").contains("ended"), "nobody knows when it ended");
    }
    for (key, words) in [("done", ["started", "ended", "expires"].as_slice()), ("expired", &[])] {
        let shown = piped(&scene, &format!("show {key}"));
        let attempt = &scene.json(&format!("show {key} --json"))["attempts"][0];
        for word in words {
            let exact = format!(", {word} {}", attempt[*word].as_str().unwrap());
            assert!(shown.contains(&exact), "{exact}: {shown}");
        }
        assert!(!shown.contains(" ago") && !shown.contains("expires in"), "{shown}");
    }
    let forgotten = scene.json("show dropped --json")["attempts"][0]["ended"].clone();
    let exact = format!("forgotten  {}\n", forgotten.as_str().unwrap());
    assert!(piped(&scene, "show dropped").contains(&exact));
}

#[test]
fn what_comes_from_outside_cannot_colour_or_clear_a_screen() {
    let scene = Scene::new();
    let hostile = "./no\x1b[31m\x1b[2J\x07\n\u{9b}1m";
    scene.once("done").command([hostile]).status(127).any_stderr().run();
    change(
        &scene,
        "UPDATE attempt SET reason = char(27) || ']0;title' || char(7), host = 'h' || char(155) || '2J'",
    );
    scene.interrupted("stale");
    change(&scene, "UPDATE attempt SET host = 'h' || char(27) || '[2J' WHERE key = 'stale'");
    for verb in VERBS.into_iter().chain(["show stale"]) {
        let shown = stripped(&screen(&scene, verb, &[]));
        let control = shown.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{verb}: {shown:?}");
    }
    let shown = stripped(&screen(&scene, "show done", &[]));
    for visible in ["./no\\u{1b}[31m\\u{1b}[2J\\u{7}\\n\\u{9b}1m", "\\u{1b}]0;title", "h\\u{9b}2J"]
    {
        assert!(shown.contains(visible), "{visible}: {shown}");
    }
}

#[test]
fn the_head_of_a_long_list_is_no_error() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    let copies = (1..=3000).map(|number| {
        format!(
            "UPDATE copy SET fence = fence + 1, key = 'copy-{number}';
             INSERT INTO attempt SELECT * FROM copy;"
        )
    });
    let copies: String = copies.collect();
    change(
        &scene,
        &format!("CREATE TEMP TABLE copy AS SELECT * FROM attempt; BEGIN; {copies} COMMIT"),
    );
    for (words, first) in [("list", "STATE "), ("list --json", "[")] {
        let script = r#"{ "$@"; echo "ended with $?" >&2; } | head -n 1"#;
        let done = scene.call(words).through_sh(script).any_stdout().stderr("ended with 0\n").run();
        assert!(done.text().starts_with(first), "{}", done.text());
    }
}

#[test]
fn a_listed_key_is_the_document_that_show_prints() {
    let scene = varied();
    let shown = ["dropped", "released --kind lease", "interrupted", "failed --namespace other"];
    let shown = shown.into_iter().chain(["expired", "done"]);
    let documents: Vec<Value> =
        shown.map(|key| scene.json(&format!("show {key} --json"))).collect();
    assert_eq!(scene.json("list --json"), json!(documents));
}
