//! What `doctor` says of a store: one thing is broken, and its check says so, names
//! the remedy, and decides about the status.

use std::fs;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::Scene;
use crate::support::damage::{mode, settled};

/// What is looked at in a store that is there.
const CHECKS: [&str; 18] = [
    "store",
    "journal",
    "log file",
    "index file",
    "lock file",
    "folder",
    "file system",
    "free space",
    "schema",
    "integrity",
    "auto-vacuum",
    "log length",
    "rows",
    "outputs",
    "wall clock",
    "holder",
    "locks",
    "boot clock",
];

fn store_of(scene: &Scene) -> Connection {
    Connection::open(scene.store()).unwrap()
}

#[test]
fn nothing_is_wrong_with_a_store_that_was_just_made() {
    let scene = Scene::new();
    scene.once("k").sh("echo out").stdout("out\n").run();
    scene.lease("n").sh("true").run();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    assert_eq!(checkup.names("bad"), Vec::<String>::new());
    for name in CHECKS {
        let check = checkup.check(name);
        // The tests' folder may be in memory.
        assert!(check["verdict"] == "ok" || name == "file system", "{check}");
        assert_eq!(check["verdict"] == "ok", check["remedy"].is_null(), "{check}");
    }
    assert_eq!(checkup.found("rows", "ok"), "once: 1 done; lease: 1 released");
    assert!(checkup.document["race"].is_null());
}

#[test]
fn people_get_one_line_for_each_check() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    let done = scene.call("doctor").any_stdout().run();
    let text = done.text();
    for name in CHECKS {
        let of = |line: &&str| line.split("  ").any(|cell| cell.trim() == name);
        assert_eq!(text.lines().filter(of).count(), 1, "{name} in {text}");
    }
    let is_verdict = |line: &str| ["ok", "note", "bad"].iter().any(|word| line.starts_with(word));
    assert!(text.lines().all(is_verdict), "{text}");
}

#[test]
fn a_store_that_is_not_there_yet_is_no_failure_and_is_not_made() {
    let scene = Scene::new();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    assert!(checkup.remedy("store", "note").starts_with("doubletap once KEY --store "));
    assert_eq!(scene.state_files(), Vec::<String>::new());

    let deep = scene.root().join("new/deep/store.db");
    let checkup = scene.examined_with(&format!("--store {}", deep.display()));
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    let found = checkup.found("folder", "ok");
    assert!(found.ends_with(&scene.root().display().to_string()), "{found}");
    assert!(!scene.root().join("new").exists());
}

#[test]
fn nothing_is_changed_and_nothing_is_made() {
    let scene = Scene::new();
    let content = |scene: &Scene| {
        let files = scene.state_files().into_iter().filter(|name| !name.ends_with("-shm"));
        files.map(|name| fs::read(scene.state_folder().join(name)).unwrap()).collect::<Vec<_>>()
    };
    scene.once("k").sh("true").run();
    let (names, before) = (scene.state_files(), content(&scene));
    assert_eq!(scene.examined().status, 0);
    assert_eq!((scene.state_files(), content(&scene)), (names, before));

    settled(&scene);
    let (names, before) = (scene.state_files(), content(&scene));
    assert_eq!(names, ["store.db", "store.db.live"]);
    let checkup = scene.examined();
    assert_eq!((checkup.status, checkup.names("bad")), (0, Vec::new()));
    checkup.found("journal", "ok");
    assert_eq!((scene.state_files(), content(&scene)), (names, before));
}

/// Overwrites the page that a table or an index begins with.
fn damage(scene: &Scene, name: &str) {
    settled(scene);
    let (page, size): (u32, u32) = store_of(scene)
        .query_row(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema
             WHERE name = ?",
            [name],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let mut bytes = fs::read(scene.store()).unwrap();
    let (page, size) = (page as usize, size as usize);
    bytes[(page - 1) * size..page * size].fill(0xA5);
    fs::write(scene.store(), bytes).unwrap();
}

#[test]
fn a_damaged_page_is_found_and_the_other_checks_are_made_all_the_same() {
    let scene = Scene::new();
    damage(&scene, "attempt_chain");
    let checkup = scene.examined();
    assert_eq!(checkup.status, 1);
    assert_eq!(checkup.document["verdict"], "bad");
    let remedy = checkup.remedy("integrity", "bad");
    assert!(remedy.contains(".dump | "), "{remedy}");
    for name in ["schema", "free space", "locks"] {
        checkup.found(name, "ok");
    }
}

#[test]
fn what_makes_a_store_of_an_empty_file_names_it() {
    let scene = Scene::new();
    fs::write(scene.store(), "").unwrap();
    let checkup = scene.examined();
    let remedy = checkup.remedy("schema", "note");
    let named = format!("doubletap once KEY --store {} -- COMMAND", scene.store().display());
    assert_eq!(remedy, named);
}

/// Types a remedy that begins after this.
#[track_caller]
fn typed(scene: &Scene, remedy: &str, after: &str) {
    let at = remedy.find(after).unwrap_or_else(|| panic!("no {after} in {remedy}"));
    let line = &remedy[at + after.len()..];
    scene.call("-c").program("sh".as_ref()).arg(line).stdout("wal\n").run();
}

#[test]
#[ignore = "needs sqlite3: cargo test -- --ignored"]
fn what_is_left_of_a_damaged_store_is_saved_by_what_is_to_be_typed() {
    for (name, lost) in [("attempt_chain", None), ("output", Some("outputs".to_owned()))] {
        let scene = Scene::new();
        damage(&scene, name);
        typed(&scene, &scene.examined().remedy("integrity", "bad"), "what is left: ");
        let saved = format!("{}.saved", scene.store().display());
        let checkup = scene.examined_with(&format!("--store {saved}"));
        assert!(checkup.names("bad").iter().eq(&lost), "{}", checkup.document);
        assert_eq!(checkup.found("rows", "ok"), "once: 1 done");
        checkup.found("auto-vacuum", "ok");
        if lost.is_none() {
            scene.once("earlier --store").arg(&saved).sh("true").run();
        }
        scene.once("later --store").arg(&saved).sh("true").run();
    }
}

#[test]
#[ignore = "needs sqlite3: cargo test -- --ignored"]
fn another_journal_is_mended_by_what_is_to_be_typed() {
    let scene = Scene::new();
    settled(&scene);
    store_of(&scene).query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).unwrap();
    typed(&scene, &scene.examined().remedy("journal", "bad"), "");
    scene.examined().found("journal", "ok");
}

#[test]
fn a_newer_schema_is_told_of_with_what_to_do() {
    let scene = Scene::new();
    settled(&scene);
    store_of(&scene).pragma_update(None, "user_version", 9999).unwrap();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 1);
    assert!(checkup.found("opening", "bad").contains("9999"));
    assert!(checkup.remedy("opening", "bad").starts_with("update doubletap"));
    assert!(checkup.all("integrity").is_empty(), "it was not opened");
}

#[test]
fn a_file_of_another_program_is_told_of_even_if_it_has_our_version() {
    for (version, check) in [(0, "opening"), (1, "schema")] {
        let scene = Scene::new();
        let foreign = store_of(&scene);
        foreign.execute_batch("CREATE TABLE theirs (x); PRAGMA journal_mode = WAL").unwrap();
        foreign.pragma_update(None, "user_version", version).unwrap();
        drop(foreign);
        mode(&scene.store(), 0o600);
        let checkup = scene.examined();
        assert_eq!(checkup.status, 1, "{}", checkup.document);
        assert!(checkup.found(check, "bad").contains("another program"), "{}", checkup.document);
        assert!(checkup.remedy(check, "bad").contains("--store"));
    }
}

#[test]
fn another_journal_is_told_of_and_its_remedy_is_one() {
    let scene = Scene::new();
    settled(&scene);
    let journal = |mode: &str| {
        let store = store_of(&scene);
        let set = format!("PRAGMA journal_mode = {mode}");
        store.query_row(&set, [], |row| row.get::<_, String>(0)).unwrap();
    };
    journal("DELETE");
    let checkup = scene.examined();
    assert_eq!(checkup.status, 1);
    assert!(checkup.remedy("journal", "bad").ends_with("'PRAGMA journal_mode = WAL'"));
    journal("WAL");
    scene.examined().found("journal", "ok");
}

#[test]
fn a_store_that_gives_no_space_back_is_worth_a_note() {
    let scene = Scene::new();
    settled(&scene);
    store_of(&scene).execute_batch("PRAGMA auto_vacuum = NONE; VACUUM").unwrap();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    let remedy = checkup.remedy("auto-vacuum", "note");
    let (_, words) = remedy.split_once(" '").unwrap();
    store_of(&scene).execute_batch(words.trim_end_matches('\'')).unwrap();
    scene.examined().found("auto-vacuum", "ok");
}

#[test]
fn a_long_log_is_worth_a_note() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    scene.examined().found("log length", "ok");
    let somebody = store_of(&scene);
    somebody
        .execute_batch(
            "PRAGMA wal_autocheckpoint = 0;
             BEGIN; CREATE TABLE large (x); INSERT INTO large VALUES (zeroblob(9000000));
             DROP TABLE large; COMMIT",
        )
        .unwrap();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    assert!(checkup.remedy("log length", "note").starts_with("fuser -v "));
}

#[test]
fn a_log_that_nobody_has_indexed_is_left_alone_until_its_owner_looks() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    fs::remove_file(scene.state_folder().join("store.db-shm")).unwrap();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    assert!(checkup.remedy("index file", "note").starts_with("doubletap list --store "));
    assert!(!scene.state_files().contains(&"store.db-shm".to_owned()));
    scene.call("list").any_stdout().run();
    scene.examined().found("rows", "ok");
}

#[test]
fn a_clock_that_went_back_is_worth_a_note() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    scene.examined().found("wall clock", "ok");
    store_of(&scene).execute("UPDATE store SET fence = fence + 7200000", []).unwrap();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    let found = checkup.found("wall clock", "note");
    assert!(found.starts_with("1h 59m") || found.starts_with("2h"), "{found}");
    assert_eq!(checkup.remedy("wall clock", "note"), "timedatectl");
}

#[test]
fn a_store_that_stays_locked_is_not_waited_for() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    let foreign = store_of(&scene);
    foreign.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE").unwrap();
    foreign.execute_batch("UPDATE store SET fence = fence + 1").unwrap();
    let began = Instant::now();
    let checkup = scene.examined_with("--store-timeout 60s");
    assert!(began.elapsed() < Duration::from_secs(30), "it waited for {:?}", began.elapsed());
    assert_eq!(checkup.status, 1);
    assert!(checkup.found("opening", "bad").contains("locked"), "{}", checkup.document);
    checkup.found("store", "ok");
}

#[test]
fn a_race_of_one_or_of_too_many_is_refused() {
    let scene = Scene::new();
    for number in ["1", "501", "0", "-3", "many"] {
        let call = scene.call(&format!("doctor --race={number}"));
        call.status(64).note(&["--race", number]).run();
    }
}
