//! `prune` removes what ended long ago, and nothing that is still needed.

use std::fs;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::processes::has_open;
use crate::support::{Call, Scene, Terminal, until};

/// Prunes everything that ended more than a second ago, once `keys` of them have.
#[track_caller]
fn prune_all(scene: &Scene, keys: u64) {
    until("the records are a second old", || {
        scene.json("prune --older-than 1s --force --dry-run --json")["keys"] == keys
    });
    let pruned = scene.json("prune --older-than 1s --force --json");
    assert_eq!(pruned["keys"], keys, "{pruned}");
}

#[test]
fn an_age_is_required() {
    let scene = Scene::new();
    scene.call("prune").status(64).note(&["--older-than"]).run();
    scene.call("prune --force").status(64).note(&["--older-than"]).run();
}

#[test]
fn finished_keys_go_and_the_next_call_runs_again() {
    let scene = Scene::new();
    scene.attempt("done").run();
    scene.behave("exit 1");
    scene.attempt("failed").status(1).run();
    prune_all(&scene, 2);
    assert_eq!(scene.json("list --json"), serde_json::json!([]));
    assert_eq!(scene.state("done"), "absent");
    scene.behave(":");
    scene.attempt("done").run();
    assert_eq!(scene.runs(), 3);
}

#[test]
fn a_dry_run_counts_and_removes_nothing() {
    let scene = Scene::new();
    scene.attempt("a").run();
    scene.attempt("b").run();
    until("the records are a second old", || {
        scene.json("prune --older-than 1s --force --dry-run --json")["keys"] == 2
    });
    let again = scene.json("prune --older-than 1s --force --dry-run --json");
    assert_eq!(again["keys"], 2, "{again}");
    assert_eq!(again["attempts"], 2, "{again}");
    scene.attempt("a").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn young_records_stay() {
    let scene = Scene::new();
    scene.attempt("k").run();
    let pruned = scene.json("prune --older-than 30d --json");
    assert_eq!(pruned["keys"], 0, "{pruned}");
    assert_eq!(pruned["attempts"], 0, "{pruned}");
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn running_orphaned_and_interrupted_keys_are_spared() {
    let scene = Scene::new();
    scene.interrupted("interrupted");
    let mut gate = scene.gate();
    let running = scene.holder("running");
    scene.behave("trap '' TERM; echo ready >ready; read x <gate");
    let orphaned = scene.begun(scene.attempt("orphaned"));
    until("the command is ready", || scene.path("ready").exists());
    orphaned.kill();
    scene.behave(":");
    scene.attempt("done").run();
    prune_all(&scene, 1);
    assert_eq!(scene.state("running"), "running");
    assert_eq!(scene.state("interrupted"), "interrupted");
    assert_eq!(scene.state("orphaned"), "orphaned");
    assert_eq!(scene.state("done"), "absent");
    gate.open();
    gate.open();
    running.finish();
}

#[test]
fn old_attempts_of_a_living_key_go_and_its_record_stays() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    for _ in 0..3 {
        scene.attempt("k --rerun").run();
    }
    let running = scene.holder("k --rerun");
    until("the older attempts are old enough", || {
        let counted = scene.json("prune --older-than 1s --force --dry-run --json");
        assert_eq!(counted["keys"], 0, "{counted}");
        counted["attempts"].as_u64() >= Some(2)
    });
    scene.call("prune --older-than 1s --force").any_stdout().run();
    gate.open();
    running.finish();
    assert_eq!(scene.state("k"), "done");
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 4, "the last call was a replay");
}

#[test]
fn an_age_shorter_than_the_longest_lease_is_refused() {
    let scene = Scene::new();
    scene.attempt("k --claim-ttl 10m").run();
    scene.call("prune --older-than 5m").status(64).note(&["--force"]).run();
    scene.call("prune --older-than 11m").any_stdout().run();
    scene.call("prune --older-than 5m --force").any_stdout().run();
    scene.attempt("k --claim-ttl 10m").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn force_takes_records_whose_ttl_still_runs() {
    let scene = Scene::new();
    scene.attempt("k --ttl 1h").run();
    prune_all(&scene, 1);
    assert_eq!(scene.state("k"), "absent");
}

#[test]
fn a_named_namespace_limits_the_prune() {
    let scene = Scene::new();
    scene.attempt("k --namespace a").run();
    scene.attempt("k --namespace b").run();
    until("the records are a second old", || {
        scene.json("prune --older-than 1s --force --dry-run --json")["keys"] == 2
    });
    let pruned = scene.json("prune --namespace a --older-than 1s --force --json");
    assert_eq!(pruned["keys"], 1, "{pruned}");
    let left = scene.json("list --json");
    assert_eq!(left[0]["namespace"], "b", "{left}");
}

#[test]
fn more_than_a_batch_is_pruned_whole() {
    let scene = Scene::new();
    let script =
        r#"i=0; while test $i -lt 150; do "$BIN" once k$i -- true || exit; i=$((i+1)); done"#;
    scene.once("maker").sh(script).run();
    prune_all(&scene, 151);
}

#[test]
fn a_record_that_goes_while_it_is_replayed_is_replayed_whole_or_runs_again() {
    let scene = Scene::new();
    let big = "a line of a record that comes and goes\n".repeat(3000);
    scene.write("big", &big);
    let script = r#"until test -e enough; do
            "$BIN" prune --older-than 0s --force
            "$BIN" once k -q --wait forever -- cat big >/dev/null
        done"#;
    let sweep = || scene.call("-c").program("sh".as_ref()).arg(script).spawn();
    let sweepers = [sweep(), sweep()];
    for _ in 0..200 {
        let call = scene.once("k -q --wait forever --log log").command(["cat", "big"]);
        call.stdout(&big).run();
    }
    scene.write("enough", "");
    crate::support::finished(sweepers);
    let log = scene.read("log");
    let came_to = |outcome: &str| log.lines().filter(|line| line.contains(outcome)).count();
    let (ran, replayed) = (came_to(r#""outcome":"ran""#), came_to(r#""outcome":"replayed""#));
    assert_eq!(ran + replayed, 200);
    assert!(ran > 0 && replayed > 0, "{ran} ran and {replayed} were replayed: that shows nothing");
}

/// Records this many keys with an output of 40 kB each.
fn fill(scene: &Scene, keys: &str) {
    let script = format!(
        r#"for i in $(seq {keys}); do "$BIN" once k$i -- head -c 40000 /dev/zero >/dev/null || exit; done"#
    );
    scene.call("-c").program("sh".as_ref()).arg(script).run();
}

/// What the store says of itself.
fn number(scene: &Scene, pragma: &str) -> i64 {
    let store = Connection::open(scene.store()).unwrap();
    store.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap()
}

/// The size of the file once nothing is left in the log.
fn size(scene: &Scene) -> u64 {
    let store = Connection::open(scene.store()).unwrap();
    store.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    fs::metadata(scene.store()).unwrap().len()
}

/// How the file gives pages back.
const INCREMENTAL: i64 = 2;

#[test]
fn where_everything_goes_the_file_is_given_back() {
    let scene = Scene::new();
    fill(&scene, "40");
    let before = size(&scene);
    prune_all(&scene, 40);
    assert_eq!(number(&scene, "freelist_count"), 0);
    assert_eq!(number(&scene, "auto_vacuum"), INCREMENTAL);
    let after = size(&scene);
    assert!(after < 40_000 && before > 40 * 40_000, "{before} bytes before, {after} after");
}

#[test]
fn where_a_part_goes_its_part_of_the_file_is_given_back() {
    let scene = Scene::new();
    fill(&scene, "40");
    scene.behave("head -c 40000 /dev/zero");
    scene.attempt("newer --namespace other").any_stdout().run();
    until("the records are a second old", || {
        let counted =
            scene.json("prune --older-than 1s --force --dry-run --json --namespace default");
        counted["keys"] == 40
    });
    scene.call("prune --older-than 1s --force --namespace default").run();
    assert_eq!(number(&scene, "freelist_count"), 0);
    assert_eq!(number(&scene, "auto_vacuum"), INCREMENTAL);
    let after = size(&scene);
    assert!((40_000..100_000).contains(&after), "{after} bytes after");
}

#[test]
fn a_key_that_rests_after_a_failure_is_spared_without_force() {
    let scene = Scene::new();
    scene.behave("exit 1");
    scene.attempt("k --retry-after 1h --claim-ttl 2s").status(1).run();
    scene.attempt("other --claim-ttl 2s").status(1).run();
    until("the failures are old enough", || {
        scene.json("prune --older-than 2s --json")["keys"] == 1
    });
    assert_eq!(scene.state("other"), "absent");
    scene.attempt("k --retry-after 1h").status(75).note(&["rests"]).run();
    scene.call("prune --older-than 2s --force").run();
    scene.attempt("k").status(1).run();
}

/// A prune that another program's lock keeps waiting for more than a second.
#[track_caller]
fn kept_waiting<'a>(scene: &'a Scene, prepare: impl FnOnce(Call<'a>) -> Call<'a>) {
    scene.attempt("k").run();
    until("the record is a second old", || {
        scene.json("prune --older-than 1s --force --dry-run --json")["keys"] == 1
    });
    let foreign = Connection::open(scene.store()).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    let prune = prepare(scene.call("prune --older-than 1s --force").arg("--store-timeout=30s"));
    let prune = prune.spawn();
    until("it has opened the store", || has_open(prune.pid(), &scene.store()));
    until("it has waited for long", || began.elapsed() > Duration::from_secs(2));
    foreign.execute_batch("ROLLBACK").unwrap();
    prune.finish();
}

#[test]
fn a_prune_that_takes_long_says_on_a_terminal_how_far_it_is_and_clears_the_line() {
    let scene = Scene::new();
    let mut terminal = Terminal::new();
    kept_waiting(&scene, |call| call.at(&terminal));
    let screen = terminal.screen();
    assert!(screen.starts_with("\rdoubletap: 1 keys removed so far"), "{screen:?}");
    // Blanks over the line: not every terminal knows how to erase one.
    let blanks = screen.strip_suffix("\r").and_then(|screen| screen.rsplit('\r').next());
    let line = "doubletap: 1 keys removed so far";
    assert!(blanks.is_some_and(|blanks| blanks.trim().is_empty() && blanks.len() >= line.len()));
    assert!(!screen.contains('\x1b'), "{screen:?}");
}

#[test]
fn a_prune_that_takes_long_says_nothing_into_a_pipe_or_to_those_who_want_quiet() {
    let scene = Scene::new();
    kept_waiting(&scene, |call| call);
    let scene = Scene::new();
    let mut terminal = Terminal::new();
    kept_waiting(&scene, |call| call.arg("-q").at(&terminal));
    assert_eq!(terminal.screen(), "");
}
