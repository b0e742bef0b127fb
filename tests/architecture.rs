//! The architecture that `src/lib.rs` describes, held to the `use` lines and
//! the paths of the source: imports point downward, modules on one floor do
//! not import each other, and a file has one subject and says which.
//!
//! [`words`] reads a source text, [`paths`] finds what it names, and [`floors`]
//! says what it may name.

mod floors;
mod paths;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use floors::{FLOORS, complaint};
use paths::{Module, named};

/// The most lines of a file, and of `main.rs`.
const LINES: usize = 400;
const LINES_OF_MAIN: usize = 30;

/// One file of the source.
struct Source {
    /// Its path below the project's folder.
    path: String,
    /// What the file is in the tree of modules.
    module: Module,
    text: String,
}

fn source_files() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src")];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(root).unwrap();
                sources.push(Source {
                    path: path.display().to_string(),
                    module: module_of(path),
                    text,
                });
            }
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
}

/// `src/store/row.rs` is `store::row`; `lib.rs` is the root, and `main.rs` is
/// called `main`, which no path can reach.
fn module_of(path: &Path) -> Module {
    let below: PathBuf = path.with_extension("").components().skip(1).collect();
    let names = below.iter().map(|name| name.to_str().unwrap().to_owned());
    match names.collect::<Vec<_>>() {
        names if names == ["lib"] => Vec::new(),
        names => names,
    }
}

/// Everything that is wrong with the imports of these files.
fn complaints(sources: &[Source]) -> Vec<String> {
    let modules: BTreeSet<Module> = sources.iter().map(|source| source.module.clone()).collect();
    let mut complaints = Vec::new();
    for source in sources {
        for found in named(&source.text, &source.module, &modules) {
            if let Some(why) = complaint(&source.module, &found, &modules) {
                complaints.push(format!("{}:{} {why}", source.path, found.line));
            }
        }
    }
    complaints
}

/// Everything that is wrong with the files themselves.
fn misshapen(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let path = &source.path;
        let most = if path == "src/main.rs" { LINES_OF_MAIN } else { LINES };
        let lines = source.text.lines().count();
        if lines > most {
            complaints.push(format!("{path} has {lines} lines, and {most} is the most"));
        }
        let header = source.text.lines().next().unwrap_or_default();
        if header.strip_prefix("//! ").is_none_or(|text| text.trim().is_empty()) {
            complaints.push(format!("{path} does not begin with //! and what it is for"));
        }
    }
    complaints
}

#[track_caller]
fn assert_nothing_in(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn imports_point_downward_and_siblings_do_not_meet() {
    assert_nothing_in(&complaints(&source_files()));
}

#[test]
fn a_file_has_one_subject_and_says_which() {
    assert_nothing_in(&misshapen(&source_files()));
}

#[test]
fn every_module_has_its_floor_in_the_table_of_lib_rs() {
    let sources = source_files();
    let root = sources.iter().find(|source| source.path == "src/lib.rs").unwrap();
    let floor_of = |module: &str| {
        let row = root
            .text
            .lines()
            .find(|line| line.starts_with("//! | ") && line.contains(&format!("[`{module}`]")))?;
        row.trim_start_matches("//! | ").split(' ').next()?.parse::<u8>().ok()
    };
    for (module, floor) in FLOORS.iter().filter(|(module, _)| *module != "main") {
        assert_eq!(floor_of(module), Some(*floor), "the floor of {module} in src/lib.rs");
    }
}

/// What is said about a made-up file at `path` among the real ones.
fn said_of(path: &str, text: &str) -> Vec<String> {
    let mut sources = source_files();
    sources.retain(|source| source.path != path);
    let module = module_of(Path::new(path));
    sources.push(Source { path: path.to_owned(), module, text: text.to_owned() });
    let mut said = complaints(&sources);
    said.extend(misshapen(&sources));
    said.retain(|complaint| complaint.starts_with(path));
    said
}

#[track_caller]
fn assert_said(path: &str, text: &str, expected: &[&str]) {
    assert_eq!(said_of(path, text), expected, "of {path}:\n{text}");
}

#[test]
fn an_import_that_points_upward_is_found() {
    assert_said(
        "src/claim/key.rs",
        "//! Keys.\n\nuse std::fmt;\nuse crate::store::{self, error::StoreError};\n",
        &[
            "src/claim/key.rs:4 names crate::store: claim is on floor 0 and store on floor 1, and imports point downward only",
            "src/claim/key.rs:4 names crate::store::error::StoreError: claim is on floor 0 and store on floor 1, and imports point downward only",
        ],
    );
}

#[test]
fn an_import_between_siblings_is_found() {
    assert_said(
        "src/report/line.rs",
        "//! Lines.\nuse crate::{claim::key::Key, process::host as machine};\n",
        &[
            "src/report/line.rs:2 names crate::process::host: report and process are both on floor 2, and siblings do not import each other",
        ],
    );
    assert_said(
        "src/commands/list.rs",
        "//! List.\nuse super::{Context, show};\n",
        &["src/commands/list.rs:2 names crate::commands::show: one verb does not import another"],
    );
}

#[test]
fn a_path_in_the_code_counts_however_it_is_written() {
    let upward = "claim is on floor 0 and store on floor 1, and imports point downward only";
    for (text, name) in [
        ("fn f() -> crate::store::Owned { todo!() }", "store::Owned"),
        (
            "#[cfg(test)]\nmod tests { fn f(_: super::super::super::store::Owned) {} }",
            "store::Owned",
        ),
        ("macro_rules! m { () => { $crate::store::row::ended() } }", "store::row::ended"),
        ("fn f<'a>(_: &'a str) { let _ = ('\"', crate::store::Owned::Yes); }", "store::Owned::Yes"),
    ] {
        let line = 1 + text.lines().position(|line| line.contains("store")).unwrap() + 1;
        let path = "src/claim/key.rs";
        let expected = format!("{path}:{line} names crate::{name}: {upward}");
        assert_said(path, &format!("//! Keys.\n{text}\n"), &[&expected]);
    }
}

#[test]
fn a_module_reached_through_an_imported_one_is_found() {
    let text = "//! Live.\nuse crate::store as kept;\nfn f(_: kept::sqlite::SqliteStore) {}\n";
    assert_said(
        "src/process/live.rs",
        text,
        &[
            "src/process/live.rs:3 names crate::store::sqlite::SqliteStore: process and store::sqlite are both on floor 2, and siblings do not import each other",
        ],
    );
    let text = "//! Memory.\nuse super::*;\nfn f(_: sqlite::SqliteStore) {}\n";
    assert_said(
        "src/store/memory.rs",
        text,
        &[
            "src/store/memory.rs:3 names crate::store::sqlite::SqliteStore: store::memory and store::sqlite are both on floor 2, and siblings do not import each other",
        ],
    );
}

#[test]
fn a_contract_that_names_its_implementation_is_found() {
    assert_said(
        "src/store.rs",
        "//! Stores.\npub mod sqlite;\npub use sqlite::SqliteStore;\n",
        &[
            "src/store.rs:3 names crate::store::sqlite::SqliteStore: store is on floor 1 and store::sqlite on floor 2, and imports point downward only",
        ],
    );
}

#[test]
fn a_module_without_a_floor_and_a_busy_root_are_found() {
    assert_said(
        "src/extra.rs",
        "//! Extra.\nuse crate::exit;\n",
        &["src/extra.rs:2 names crate::exit: extra has no floor in tests/architecture/floors.rs"],
    );
    assert_said(
        "src/lib.rs",
        "//! All.\npub mod cli;\npub use cli::Cli;\n",
        &["src/lib.rs:3 names crate::cli::Cli: the root only lists the modules"],
    );
}

#[test]
fn a_crate_outside_its_home_is_found() {
    assert_said(
        "src/claim/key.rs",
        "//! Keys.\nuse std::{fmt, fs};\nfn f() { std::env::args(); }\n",
        &[
            "src/claim/key.rs:2 names std::fs, which is at home in store, store::sqlite, store::redis, process, report, commands",
            "src/claim/key.rs:3 names std::env::args, which is at home in commands, main",
        ],
    );
    assert_said(
        "src/commands/list.rs",
        "//! List.\nfn f(_: rusqlite::Connection) {}\n",
        &["src/commands/list.rs:2 names rusqlite::Connection, which is at home in store::sqlite"],
    );
}

#[test]
fn comments_texts_and_what_is_allowed_are_not_found() {
    let text = r##"//! Keys: see crate::store.
// use crate::store;
/* use crate::store; /* crate::process */ crate::report */
use std::fmt;
use super::fence::Fence;
use super::{id, time::{self, Now}};
/// [`store`](crate::store)
fn f<'a>(fence: &'a Fence) -> Option<crate::claim::time::WallMs> {
    let _ = ("use crate::store; \" crate::store", r#"crate::"store"#, b"crate::store", '"', '\'');
    let store = vec![fence];
    store.iter().map(|_| time::WallMs(0)).next()
}
#[cfg(test)]
mod tests {
    use super::*;
    use super::super::samples::now;
}
"##;
    assert_said("src/claim/key.rs", text, &[]);
}

#[test]
fn a_long_file_and_a_missing_header_are_found() {
    let long = format!("//! Long.\n{}", "fn f() {}\n".repeat(400));
    assert_said("src/text.rs", &long, &["src/text.rs has 401 lines, and 400 is the most"]);
    let long = format!("//! Long.\n{}", "fn f() {}\n".repeat(30));
    assert_said("src/main.rs", &long, &["src/main.rs has 31 lines, and 30 is the most"]);
    let headless = "src/text.rs does not begin with //! and what it is for";
    for text in ["fn f() {}\n", "", "//!\n", "// Text.\n"] {
        assert_said("src/text.rs", text, &[headless]);
    }
}
