//! Standard streams that are closed, or whose other end has gone: every verb does what it
//! does, ends with a status and never of SIGPIPE, and says so where something got lost.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use crate::support::{Call, Scene};

/// One call of a verb: what it is, how it ends, and how if nobody reads what it prints.
struct Row {
    words: &'static str,
    make: for<'scene> fn(&'scene Scene) -> Call<'scene>,
    status: i32,
    unread: i32,
}

/// One that prints for people, or for programs that may read as much as they like.
const fn row(
    words: &'static str,
    status: i32,
    make: for<'scene> fn(&'scene Scene) -> Call<'scene>,
) -> Row {
    Row { words, make, status, unread: status }
}

/// One whose output must not get lost.
const fn vital(
    words: &'static str,
    status: i32,
    make: for<'scene> fn(&'scene Scene) -> Call<'scene>,
) -> Row {
    Row { words, make, status, unread: 125 }
}

/// A record of the key `k`.
fn recorded(scene: &Scene) {
    scene.once("k").sh("echo out; echo err >&2").any_stdout().any_stderr().run();
}

/// A call of a verb about a record of the key `k`.
fn about<'scene>(scene: &'scene Scene, words: &str) -> Call<'scene> {
    recorded(scene);
    scene.call(words)
}

const ROWS: &[Row] = &[
    row("once k", 0, |scene| scene.once("k").sh("echo out; echo err >&2")),
    row("once k, a failure", 3, |scene| scene.once("k").sh("echo out; exit 3")),
    row("once k, a replay", 0, |scene| about(scene, "once k").sh("echo out; echo err >&2")),
    row("once k, a replay that is told", 0, |scene| {
        about(scene, "once k -v").sh("echo out; echo err >&2")
    }),
    row("once k, another command", 65, |scene| about(scene, "once k").command(["true"])),
    row("once k, busy", 75, |scene| {
        scene.token("k");
        scene.once("k --fingerprint none").sh("true")
    }),
    row("once, no key", 64, |scene| scene.once("")),
    row("lease n", 0, |scene| scene.lease("n").sh("true")),
    row("lease n, busy", 75, |scene| {
        scene.acquired("n");
        scene.lease("n").sh("true")
    }),
    vital("begin k", 0, |scene| scene.begin("k --claim-ttl 1h")),
    vital("begin k --format json", 0, |scene| scene.begin("k --claim-ttl 1h --format json")),
    row("begin k, done", 10, |scene| {
        let token = scene.token("k");
        scene.write("result", "output");
        scene.with_token("complete k --result result", &token).run();
        scene.begin("k --claim-ttl 1h")
    }),
    row("begin k, busy", 75, |scene| {
        scene.token("k");
        scene.begin("k --claim-ttl 1h")
    }),
    row("complete k", 0, |scene| {
        let token = scene.token("k");
        scene.with_token("complete k --json", &token)
    }),
    row("complete k, another token", 69, |scene| {
        scene.token("k");
        scene.with_token("complete k --json", &"0".repeat(32))
    }),
    row("fail k", 0, |scene| {
        let token = scene.token("k");
        scene.with_token("fail k --json", &token)
    }),
    vital("acquire n", 0, |scene| scene.acquire("n --ttl 1h")),
    row("release n", 0, |scene| {
        let token = scene.acquired("n");
        scene.with_token("release n --json", &token)
    }),
    row("renew", 0, |scene| {
        let token = scene.token("k");
        scene.with_token("renew --json", &token)
    }),
    row("assert", 0, |scene| {
        let token = scene.token("k");
        scene.with_token("assert --json", &token)
    }),
    row("step s", 0, |scene| {
        let token = scene.token("k");
        scene.with_token("step s", &token).sh("echo out; echo err >&2")
    }),
    row("show k", 0, |scene| about(scene, "show k")),
    row("show k --json", 0, |scene| about(scene, "show k --json")),
    row("show, an unknown key", 1, |scene| about(scene, "show unknown")),
    row("logs k", 0, |scene| about(scene, "logs k")),
    row("logs k --stderr", 0, |scene| about(scene, "logs k --stderr")),
    row("list", 0, |scene| about(scene, "list")),
    row("list --json", 0, |scene| about(scene, "list --json")),
    row("forget k", 0, |scene| about(scene, "forget k")),
    row("prune --older-than 1s", 0, |scene| about(scene, "prune --older-than 1s --force")),
    row("prune --older-than 1s --json", 0, |scene| {
        about(scene, "prune --older-than 1s --force --json")
    }),
    row("stats", 0, |scene| about(scene, "stats")),
    row("stats --json", 0, |scene| about(scene, "stats --json")),
    row("doctor", 0, |scene| about(scene, "doctor")),
    row("doctor --json", 0, |scene| about(scene, "doctor --json")),
    row("setup", 0, |scene| scene.call("setup -v")),
    row("cgi", 0, |scene| {
        let call = scene.call("cgi").sh("echo Status: 200; echo; echo out");
        call.env("REQUEST_METHOD", "POST").env("HTTP_IDEMPOTENCY_KEY", "k")
    }),
    row("completions bash", 0, |scene| scene.call("completions bash")),
    row("keygen", 0, |scene| scene.call("keygen")),
    row("--help", 0, |scene| scene.call("--help")),
    row("--version", 0, |scene| scene.call("--version")),
    row("--nonsense", 64, |scene| scene.call("--nonsense")),
];

/// Asserts that all rows end as they are to, between those words and these.
#[track_caller]
fn all_end(streams: &str, script: &str, wanted: impl Fn(&Row) -> i32) {
    for row in ROWS {
        let scene = Scene::new();
        let (reader, gone) = std::io::pipe().unwrap();
        drop(reader);
        let call = (row.make)(&scene).through_sh(script).unchecked();
        let done = call.stdout_into(OwnedFd::from(gone).into()).run();
        let (said, words) = (done.complaint(), row.words);
        assert_eq!(done.status.code(), Some(wanted(row)), "`{words}` {streams} said: {said}");
        assert!(!said.contains("panicked"), "`{words}` {streams} said: {said}");
    }
}

#[test]
fn every_verb_is_tried() {
    let help = Scene::new().call("--help").any_stdout().run().text();
    let listed = help.split("\nCommands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs: BTreeSet<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let tried: BTreeSet<&str> = ROWS
        .iter()
        .map(|row| row.words.split([' ', ',']).next().unwrap())
        .filter(|word| !word.starts_with('-'))
        .collect();
    assert_eq!(tried, verbs);
}

#[test]
fn a_reader_who_has_gone_kills_nobody_and_costs_what_was_to_be_had_once_only() {
    all_end("to nobody", r#"exec "$@""#, |row| row.unread);
}

#[test]
fn a_reader_of_errors_who_has_gone_changes_no_status() {
    all_end("with its errors to nobody", r#"exec "$@" 2>&1 >kept"#, |row| row.status);
}

#[test]
fn streams_that_are_closed_change_no_status() {
    for closed in ["<&- >kept", ">&-", "2>&- >kept", "<&- >&- 2>&-"] {
        all_end(closed, &format!(r#"exec "$@" {closed}"#), |row| row.status);
    }
}
