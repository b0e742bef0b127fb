//! What a package is made of: every file that Cargo.toml names is there, and the units
//! start what the command line knows.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use doubletap::cli::{self, Verb};
use serde_json::Value;

use crate::recipes::blocks;
use crate::support::{BIN, Call, Scene};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const UNITS: &str = ".packaging/systemd";
const INSTALLED: &str = "/usr/bin/doubletap";

/// The table `[package.metadata]` of Cargo.toml.
#[expect(clippy::disallowed_methods, reason = "cargo needs the home that the tests have")]
fn metadata(scene: &Scene) -> Value {
    let call = scene.call("metadata --no-deps --offline --format-version 1 --manifest-path");
    let call = call.arg(format!("{ROOT}/Cargo.toml")).program(env!("CARGO").as_ref());
    let call = match std::env::var_os("HOME") {
        Some(home) => call.env("HOME", home),
        None => call.without_env("HOME"),
    };
    let printed = call.any_stdout().any_stderr().run();
    let all: Value = serde_json::from_slice(&printed.stdout).unwrap();
    all["packages"][0]["metadata"].clone()
}

/// An asset: where it comes from, where it goes, and its mode.
fn assets(scene: &Scene) -> Vec<[String; 3]> {
    let metadata = metadata(scene);
    let assets = metadata["deb"]["assets"].as_array().expect("Cargo.toml names assets").clone();
    let asset = |value: &Value| -> [String; 3] { serde_json::from_value(value.clone()).unwrap() };
    assets.iter().map(asset).collect()
}

/// The files that a pattern with at most one `*`, in its last part, stands for.
fn expanded(pattern: &str) -> Vec<PathBuf> {
    let (folder, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let Some((start, end)) = name.split_once('*') else {
        let path = Path::new(ROOT).join(pattern);
        return if path.is_file() { vec![path] } else { Vec::new() };
    };
    let fits = |name: &str| {
        let long_enough = name.len() >= start.len() + end.len();
        long_enough && name.starts_with(start) && name.ends_with(end)
    };
    let entries = fs::read_dir(Path::new(ROOT).join(folder)).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths.filter(|path| fits(path.file_name().unwrap().to_str().unwrap())).collect()
}

fn names(folder: &str) -> Vec<String> {
    let paths = expanded(&format!("{folder}/*"));
    paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

fn unit(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(UNITS).join(name)).unwrap()
}

/// The words that a service starts.
fn started(service: &str) -> Vec<OsString> {
    let unit = unit(service);
    let lines: Vec<&str> =
        unit.lines().filter_map(|line| line.strip_prefix("ExecStart=")).collect();
    let [line] = lines[..] else { panic!("{service} starts {} commands", lines.len()) };
    line.split_whitespace().map(OsString::from).collect()
}

fn services() -> Vec<String> {
    let mut services = names(UNITS);
    services.retain(|name| Path::new(name).extension().is_some_and(|kind| kind == "service"));
    assert_eq!(services.len(), 2, "the services in {UNITS}");
    services
}

#[test]
fn every_file_that_the_package_names_is_there() {
    let scene = Scene::new();
    for [source, place, mode] in assets(&scene) {
        if source == "target/release/doubletap" {
            assert_eq!((format!("/{place}doubletap"), &*mode), (INSTALLED.to_owned(), "755"));
            continue;
        }
        assert!(!expanded(&source).is_empty(), "Cargo.toml packs {source}, and there is none");
        assert_eq!(mode, "644", "the mode of {source}");
    }
}

#[test]
fn the_package_has_all_pages_completions_and_units_and_the_skill() {
    let scene = Scene::new();
    let assets = assets(&scene);
    let packed: Vec<PathBuf> = assets.iter().flat_map(|[source, ..]| expanded(source)).collect();
    let wanted =
        ["completions/*", "man/*", ".packaging/systemd/*", "skills/doubletap/*", "README.md"];
    for path in wanted.iter().flat_map(|pattern| expanded(pattern)) {
        assert!(packed.contains(&path), "no asset of Cargo.toml packs {}", path.display());
    }
    let places = |file: &str| {
        let path = Path::new(ROOT).join(file);
        let here = assets.iter().filter(|[source, ..]| expanded(source).contains(&path));
        here.map(|[_, place, _]| place.as_str()).collect::<Vec<_>>()
    };
    let expected = ["usr/share/bash-completion/completions/doubletap"];
    assert_eq!(places("completions/doubletap.bash"), expected, "bash looks for the command's name");
    assert_eq!(places(&format!("{UNITS}/doubletap-prune.timer")), ["usr/lib/systemd/user/"]);
    assert_eq!(places(&format!("{UNITS}/doubletap-prune@.timer")), ["usr/lib/systemd/system/"]);
}

#[test]
fn the_timers_are_installed_and_neither_enabled_nor_started() {
    let scene = Scene::new();
    let deb = &metadata(&scene)["deb"];
    let units = &deb["systemd-units"];
    assert_eq!(units["unit-name"], "doubletap-prune", "the unit of root's own store");
    assert_eq!((&units["enable"], &units["start"]), (&Value::Bool(false), &Value::Bool(false)));
    assert_eq!(deb["maintainer-scripts"], UNITS, "cargo-deb looks for the units there");
    for service in services() {
        let timer = unit(&service.replace(".service", ".timer"));
        assert!(timer.contains("\n[Install]\nWantedBy=timers.target\n"), "{timer}");
        assert!(timer.contains("OnCalendar=daily\n") && timer.contains("Persistent=true\n"));
    }
}

#[test]
fn the_services_start_what_the_command_line_knows() {
    let scene = Scene::new();
    for service in services() {
        let words = started(&service);
        assert_eq!(words[0], INSTALLED, "{service}");
        let parsed = cli::parse(&words).unwrap_or_else(|stop| panic!("{service}: {stop:?}"));
        let Verb::Prune(prune) = parsed.verb else { panic!("{service} does not prune") };
        assert!(!prune.force && !prune.dry_run, "{service}");
        scene.call("once k").command(["true"]).run();
        words[1..].iter().fold(scene.call(""), Call::arg).run();
    }
    assert_eq!(scene.state("k"), "done", "what is not old was pruned");
}

#[test]
#[ignore = "needs systemd-analyze: cargo test -- --ignored"]
fn systemd_has_nothing_to_say_against_the_units() {
    let scene = Scene::new();
    for name in names(UNITS) {
        scene.write(&name, unit(&name).replace(INSTALLED, BIN));
    }
    let verify = |words: &str, names: [&str; 2]| {
        let call = scene.call(words).program("systemd-analyze".as_ref());
        let call = names.iter().fold(call, |call, name| call.arg(scene.path(name)));
        call.env("XDG_RUNTIME_DIR", scene.root()).env("SYSTEMD_LOG_TARGET", "console").run();
    };
    let own = ["doubletap-prune.timer", "doubletap-prune.service"];
    verify("verify --man=no", own);
    verify("verify --man=no --user", own);
    for name in names(UNITS).iter().filter(|name| name.contains('@')) {
        fs::copy(scene.path(name), scene.path(&name.replace('@', "@daemon"))).unwrap();
    }
    verify("verify --man=no", ["doubletap-prune@daemon.timer", "doubletap-prune@daemon.service"]);
}

/// A template of `cargo binstall` for a target.
fn filled(template: &Value, target: &str) -> String {
    let values = [
        ("{ repo }", "https://example.org/doubletap"),
        ("{ name }", "doubletap"),
        ("{ version }", env!("CARGO_PKG_VERSION")),
        ("{ target }", target),
        ("{ bin }", "doubletap"),
        ("{ binary-ext }", ""),
    ];
    let template = template.as_str().unwrap().to_owned();
    let filled = values.iter().fold(template, |text, (name, value)| text.replace(name, value));
    assert!(!filled.contains('{'), "binstall fills in no more than that: {filled}");
    filled
}

#[test]
fn the_readme_makes_the_package_and_the_archive_that_binstall_looks_for() {
    let readme = include_str!("../README.md");
    let (_, section) = readme.split_once("\n## Working on it\n").unwrap();
    let [script] = &blocks(section)[..] else { panic!("one block says how it is packed") };
    let scene = Scene::new();
    scene.stand_in("rustc", r#"test "$*" = "--print host-tuple" && echo cpu-os"#);
    let pkgid = format!("echo path+file:///here#doubletap@{}", env!("CARGO_PKG_VERSION"));
    scene.stand_in("cargo", &format!("test \"$1\" = pkgid && {pkgid} || echo \"$*\" >>runs"));
    fs::create_dir_all(scene.path("target/cpu-os/release")).unwrap();
    fs::write(scene.path("target/cpu-os/release/doubletap"), "").unwrap();
    scene.shell(script).run();
    assert_eq!(scene.read("runs"), "deb --locked --target cpu-os\n");
    let binstall = &metadata(&scene)["binstall"];
    let url = filled(&binstall["pkg-url"], "cpu-os");
    let archive = scene.path("target").join(url.rsplit('/').next().unwrap());
    let listed = scene.call("-tzf").arg(&archive).program("tar".as_ref()).any_stdout().run();
    assert_eq!(listed.text().trim_end(), filled(&binstall["bin-dir"], "cpu-os"));
    assert_eq!(binstall["pkg-fmt"], "tgz");
}
