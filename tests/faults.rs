//! What goes wrong around us that has no file of its own here: a lock file that is
//! removed in mid-run, bytes of the store that change by themselves, processes that cannot
//! be made, foreign languages, and very many keys.

use std::fs;
use std::os::unix::fs::FileExt as _;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rusqlite::Connection;

use crate::support::Scene;
use crate::support::damage::settled;

#[test]
fn a_holder_whose_lock_file_is_removed_is_not_taken_for_gone() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    fs::remove_file(scene.live()).unwrap();
    scene.attempt("k").status(75).note(&["k", "busy"]).run();
    // Whoever comes meanwhile makes another, which says nothing of the holder.
    scene.once("other").sh("true").run();
    scene.attempt("k").status(75).note(&["k", "busy"]).run();
    gate.open();
    holder.finish();
    scene.attempt("k").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_store_with_changed_bytes_never_makes_us_crash_or_run_without_a_word() {
    let scene = Scene::new();
    settled(&scene);
    scene.attempt("k").run();
    let connection = Connection::open(scene.store()).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    let whole = fs::read(scene.store()).unwrap();
    let change = (0..whole.len() as u64, prop::collection::vec(any::<u8>(), 1..40));
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() };
    let changes = prop::collection::vec(change, 1..4);
    TestRunner::new(config)
        .run(&changes, |changes| {
            for side in ["store.db-wal", "store.db-shm"] {
                let _ = fs::remove_file(scene.state_folder().join(side));
            }
            fs::write(scene.store(), &whole).unwrap();
            let file = fs::OpenOptions::new().write(true).open(scene.store()).unwrap();
            for (at, bytes) in &changes {
                file.write_all_at(bytes, *at).unwrap();
            }
            let before = scene.runs();
            let first = scene.attempt("k").unchecked().run();
            let said = first.complaint();
            prop_assert!(!said.contains("panicked"), "{}", said);
            prop_assert!(first.code() >= 0, "it died of {}", first.status);
            prop_assert!(first.code() == 0 || said.starts_with("doubletap: "), "{}", said);
            // The record may be out of sight; then the run is on record again, or it is said
            // that it is not.
            if scene.runs() > before && first.code() == 0 {
                let second = scene.attempt("k").unchecked().run();
                let recorded = scene.runs() == before + 1;
                prop_assert!(recorded || second.code() != 0, "it ran again in silence");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn foreign_languages_and_zones_change_nothing() {
    let scene = Scene::new();
    let expected = scene.once("k").sh("echo 'i İ ı'; exit 0").stdout("i İ ı\n").run();
    for (locale, zone) in [("tr_TR.UTF-8", "Asia/Kathmandu"), ("C", ""), ("xx", "No/Where")] {
        let replay = scene
            .once("k")
            .sh("echo 'i İ ı'; exit 0")
            .env("LC_ALL", locale)
            .env("LANG", locale)
            .env("TZ", zone);
        assert_eq!(replay.stdout("i İ ı\n").run().stdout, expected.stdout);
        let refused = scene.once("k --ttl 1M").env("LC_ALL", locale).env("TZ", zone);
        refused.command(["true"]).status(64).note(&["--ttl", "1M"]).run();
        let shown = scene.call("show k --json").env("LC_ALL", locale).env("TZ", zone);
        assert!(shown.any_stdout().run().text().contains("\"state\": \"done\""));
    }
}

#[test]
fn a_hundred_thousand_keys_leave_as_many_files_as_one() {
    let scene = Scene::new();
    scene.attempt("k").run();
    let files = scene.state_files();
    let store = Connection::open(scene.store()).unwrap();
    store
        .execute_batch(
            "CREATE TEMP TABLE copy AS SELECT * FROM attempt;
             CREATE TEMP TABLE numbers AS
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
             SELECT i FROM n;",
        )
        .unwrap();
    let columns: Vec<String> = {
        let mut statement = store.prepare("SELECT name FROM pragma_table_info('attempt')").unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.collect::<Result<_, _>>().unwrap()
    };
    let values = columns.iter().map(|column| match column.as_str() {
        "fence" => "fence - i".to_owned(),
        "key" => "'key-' || i".to_owned(),
        // Theirs is not copied.
        "output_bytes" | "truncated" => "NULL".to_owned(),
        other => other.to_owned(),
    });
    let values = values.collect::<Vec<_>>().join(", ");
    store
        .execute_batch(&format!("INSERT INTO attempt SELECT {values} FROM copy, numbers;"))
        .unwrap();
    drop(store);
    scene.attempt("key-77777").run();
    scene.attempt("new").run();
    assert_eq!(scene.runs(), 2, "a key among many is replayed");
    assert_eq!(scene.state_files(), files);
}

#[test]
#[ignore = "needs root, setpriv and prlimit (util-linux): cargo test -- --ignored"]
fn where_no_process_can_be_made_nothing_runs_and_the_key_stays_free() {
    let scene = Scene::new();
    let program = scene.root().join("doubletap");
    fs::copy(crate::support::BIN, &program).unwrap();
    crate::support::damage::mode(&scene.root(), 0o755);
    for folder in [scene.state_folder(), scene.work(), scene.home()] {
        std::os::unix::fs::chown(folder, Some(65_432), Some(65_432)).unwrap();
    }
    let user = ["setpriv", "--reuid", "65432", "--regid", "65432", "--clear-groups"];
    let none = ["prlimit", "--nproc=0"];
    let call = || scene.once("k").command(["true"]).program(&program);
    let refused = call().through(user.iter().chain(&none).copied());
    refused.status(125).note(&["k", "no process could be started"]).run();
    call().through(user).run();
}
