//! What only the overview has, `doubletap.1`: the verbs, the variables, the states, the
//! report line and the files.

use std::collections::BTreeSet;
use std::fs;

use doubletap::claim::standing::Standing;
use doubletap::commands::VARIABLES;
use doubletap::report::form;
use doubletap::report::line::CallOutcome;
use serde_json::Value;

use super::compare::{bold_words, both_ways, mentioned_variables};
use super::page::{Entry, Page, plain};
use super::program::{global_options, tree};
use super::{MAIN, assert_nothing_in, entries, pages, root, set, tags, text_of};
use crate::support::Scene;

fn main_page() -> Page {
    pages().remove(MAIN).expect("it is there")
}

#[test]
fn every_verb_is_in_the_overview_and_none_that_does_not_exist() {
    let page = main_page();
    let first = |entry: &&Entry| plain(&entry.tag).split(' ').next().unwrap().to_owned();
    let documented = set(entries(&page, "VERBS").iter().map(first));
    let tree = tree();
    let shown = tree.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = set(shown.map(clap::Command::get_name));
    assert_nothing_in(&both_ways(MAIN, "verb", &documented, &verbs));
}

/// What stands in for an option of some verbs only, which `begin` and `acquire` print and
/// the command of a `once` finds.
const TOKEN: &str = "DOUBLETAP_TOKEN";

/// What is read for us: by the crates that know folders and time zones, by the search
/// for a program, and by the crate that makes files without a name.
const READ_FOR_US: [&str; 5] = ["HOME", "XDG_STATE_HOME", "TZ", "PATH", "TMPDIR"];

#[test]
fn every_variable_that_is_read_is_in_the_overview_and_no_other() {
    let options = global_options(&tree());
    let mut read: BTreeSet<String> = options.into_iter().filter_map(|opt| opt.variable).collect();
    read.extend(set(form::VARIABLES.into_iter().chain(READ_FOR_US).chain([TOKEN])));
    let documented = tags(&main_page(), "ENVIRONMENT");
    assert_nothing_in(&both_ways(MAIN, "variable", &documented, &read));
}

#[cfg(feature = "otel")]
#[test]
fn every_variable_that_is_about_traces_is_in_the_overview() {
    // The last two groups are read by the crates that speak HTTP and TLS.
    let for_us = ["SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "all_proxy"];
    let read =
        set(doubletap::commands::TRACE_VARIABLES.into_iter().chain(for_us).chain(["no_proxy"]));
    let page = main_page();
    let sections = page.sections.iter().filter(|section| section.under == "ENVIRONMENT");
    let traces = sections.filter(|section| section.title == "Traces");
    let tags = traces.flat_map(|section| &section.entries).map(|entry| plain(&entry.tag));
    let documented =
        set(tags.flat_map(|tag| tag.split(", ").map(str::to_owned).collect::<Vec<_>>()));
    assert_nothing_in(&both_ways(MAIN, "variable", &documented, &read));
}

#[test]
fn every_variable_that_a_command_finds_is_in_the_overview_and_no_other() {
    let documented = tags(&main_page(), "What the command finds");
    let file = MAIN;
    assert_nothing_in(&both_ways(file, "variable", &documented, &set(VARIABLES)));
    let scene = Scene::new();
    let mut found = BTreeSet::new();
    for call in [scene.once("k"), scene.lease("k")] {
        let text = call.command(["env"]).any_stdout().run().text();
        found.extend(text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())));
    }
    found.retain(|name| name.starts_with("DOUBLETAP_"));
    assert_nothing_in(&both_ways(file, "variable", &documented, &found));
}

#[test]
fn a_variable_that_is_mentioned_in_a_page_or_in_the_source_is_in_the_overview() {
    let options = global_options(&tree());
    let read = options.into_iter().filter_map(|opt| opt.variable);
    let known: BTreeSet<String> = set(VARIABLES).into_iter().chain(read).collect();
    let mut texts: Vec<(String, String)> =
        pages().iter().map(|(file, page)| (file.clone(), text_of(page))).collect();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                texts.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut mentioned = BTreeSet::new();
    for (file, text) in texts {
        let variables = mentioned_variables(&text);
        let unknown: Vec<_> = variables.difference(&known).collect();
        assert!(unknown.is_empty(), "{file} has {unknown:?}, which man/doubletap.1 has not");
        mentioned.extend(variables);
    }
    assert_eq!(mentioned, known, "the sources do not mention what they read and set");
}

#[test]
fn every_state_is_in_the_overview_and_none_that_does_not_exist() {
    let mut states = set(Standing::KNOWN.map(Standing::as_str));
    states.insert(Standing::Absent.as_str().to_owned());
    let documented = tags(&main_page(), "STATES");
    assert_nothing_in(&both_ways(MAIN, "state", &documented, &states));
}

#[test]
fn every_field_of_the_report_line_is_in_the_overview_and_no_other() {
    let scene = Scene::new();
    scene.once("k --report report").command(["true"]).run();
    let line: Value = serde_json::from_str(&scene.read("report")).unwrap();
    let fields = set(line.as_object().unwrap().keys());
    let documented = tags(&main_page(), "REPORT LINE");
    assert_nothing_in(&both_ways(MAIN, "report field", &documented, &fields));
}

/// The outcomes; one that is new does not compile until it is here.
fn outcomes() -> BTreeSet<String> {
    use CallOutcome::{
        Busy, Error, Failed, Lost, Mismatch, NotRecorded, Ran, Refused, Replayed, Timeout,
        Unresolved,
    };
    let all = [
        Ran,
        Replayed,
        Busy,
        Mismatch,
        Unresolved,
        Failed,
        Refused,
        Timeout,
        Lost,
        NotRecorded,
        Error,
    ];
    for outcome in all {
        match outcome {
            Ran | Replayed | Busy | Mismatch | Unresolved | Failed | Refused | Timeout | Lost
            | NotRecorded | Error => {}
        }
    }
    set(all.map(|outcome| serde_json::to_value(outcome).unwrap().as_str().unwrap().to_owned()))
}

#[test]
fn every_outcome_is_in_the_overview_and_none_that_does_not_exist() {
    let page = main_page();
    let fields = entries(&page, "REPORT LINE");
    let outcome = fields.iter().find(|entry| plain(&entry.tag) == "outcome").unwrap();
    let documented = bold_words(&outcome.body);
    assert_nothing_in(&both_ways(MAIN, "outcome", &documented, &outcomes()));
}

#[test]
fn the_files_beside_a_store_are_those_of_the_overview() {
    let scene = Scene::new();
    scene.once("k").sh("head -c 2000000 /dev/zero").any_stdout().run();
    let pattern = |name: String| {
        let name = name.replace("store.db", "STORE");
        match name.strip_prefix("STORE-").and_then(|rest| rest.strip_suffix(".out")) {
            Some(_) => "STORE-FENCE-TOKEN.out".to_owned(),
            None => name,
        }
    };
    let mut there: BTreeSet<String> = scene.state_files().into_iter().map(pattern).collect();
    assert!(there.remove("STORE"));
    let page = main_page();
    let tags = entries(&page, "FILES").into_iter().flat_map(|entry| &entry.tag);
    let documented = tags.filter(|span| span.text.starts_with("STORE"));
    let documented = set(documented.map(|span| &span.text));
    assert_nothing_in(&both_ways(MAIN, "file", &documented, &there));
}
