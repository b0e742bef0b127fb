//! The manual pages are held to the program, both ways: what it has is in a page,
//! and what is in a page it has. Their examples are run.
//!
//! `page` reads the source of a page, `program` says what is to be in it, `compare`
//! complains, `overview` and `answers` are about what a page or two alone have, and
//! `examples` runs what a page shows.

mod answers;
mod compare;
mod examples;
mod overview;
mod page;
mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use doubletap::exit;

use crate::support::Scene;
use compare::{bold_words, both_ways, mentioned_options, mentioned_statuses, statuses};
use page::{Entry, Font, Page, Section, plain};
use program::{Opt, global_options, own_options, tree};

/// The page of the program itself.
const MAIN: &str = "man/doubletap.1";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages by the names of their files, `man/` before them.
fn pages() -> BTreeMap<String, Page> {
    let entries = fs::read_dir(root().join("man")).unwrap();
    let read = |path: PathBuf| {
        let name = format!("man/{}", path.file_name().unwrap().to_str().unwrap());
        let page = page::read(&fs::read_to_string(path).unwrap());
        let page = page.unwrap_or_else(|why| panic!("{name} cannot be read: {why}"));
        (name, page)
    };
    entries.map(|entry| read(entry.unwrap().path())).collect()
}

/// The page of a verb.
fn page_of(verb: &str) -> String {
    format!("man/doubletap-{verb}.1")
}

/// The sections below a heading, with its subsections.
fn under<'a>(page: &'a Page, heading: &str) -> impl Iterator<Item = &'a Section> {
    page.sections.iter().filter(move |section| section.under == heading)
}

fn entries<'a>(page: &'a Page, heading: &str) -> Vec<&'a Entry> {
    under(page, heading).flat_map(|section| &section.entries).collect()
}

/// The words of the tags in one section or subsection.
fn tags(page: &Page, title: &str) -> BTreeSet<String> {
    let section = page.sections.iter().find(|section| section.title == title);
    let section = section.unwrap_or_else(|| panic!("a page lacks the section {title}"));
    section.entries.iter().flat_map(|entry| bold_words(&entry.tag)).collect()
}

/// All of a page but its examples.
fn text_of(page: &Page) -> String {
    let sections = page.sections.iter().filter(|section| section.under != "EXAMPLES");
    let pieces = sections.flat_map(|section| {
        let entries = section.entries.iter().flat_map(|entry| [&entry.tag, &entry.body]);
        entries.chain([&section.prose]).map(plain)
    });
    pieces.collect::<Vec<_>>().join(" ")
}

fn bold_words_of(page: &Page) -> BTreeSet<String> {
    let sections = page.sections.iter().filter(|section| section.under != "EXAMPLES");
    bold_words(sections.flat_map(Section::spans))
}

fn set<T: ToString>(names: impl IntoIterator<Item = T>) -> BTreeSet<String> {
    names.into_iter().map(|name| name.to_string()).collect()
}

#[track_caller]
fn assert_nothing_in(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn every_verb_with_options_of_its_own_has_a_page_and_every_page_a_verb() {
    let tree = tree();
    let with_options = tree.get_subcommands().filter(|verb| !own_options(verb).is_empty());
    let mut wanted = set(with_options.map(|verb| page_of(verb.get_name())));
    wanted.insert(MAIN.to_owned());
    let there = set(pages().keys());
    assert_nothing_in(&both_ways("man/", "page", &there, &wanted));
}

#[test]
fn every_option_is_in_the_page_of_its_verb_and_none_that_does_not_exist() {
    let (pages, tree) = (pages(), tree());
    let mut complaints = Vec::new();
    for (file, page) in &pages {
        let name = file.trim_start_matches("man/doubletap-").trim_end_matches(".1");
        let (heading, options) = match tree.find_subcommand(name) {
            Some(verb) => ("OPTIONS", own_options(verb)),
            None => ("GLOBAL OPTIONS", global_options(&tree)),
        };
        assert!(!options.is_empty(), "the program has no options of {name}");
        complaints.extend(compare::options(file, &entries(page, heading), &options));
    }
    assert_nothing_in(&complaints);
}

#[test]
fn an_option_that_is_mentioned_exists() {
    let tree = tree();
    let verbs = tree.get_subcommands().flat_map(own_options);
    let all: Vec<Opt> = verbs.chain(global_options(&tree)).collect();
    let names: BTreeSet<String> = all.into_iter().flat_map(|opt| opt.names).collect();
    for (file, page) in pages() {
        let mentioned = mentioned_options(&bold_words_of(&page));
        assert!(!mentioned.is_empty(), "{file} mentions no option");
        let unknown: Vec<_> = mentioned.difference(&names).collect();
        assert!(unknown.is_empty(), "{file} mentions options that do not exist: {unknown:?}");
    }
}

#[test]
fn every_argument_is_in_the_synopsis() {
    let (pages, tree) = (pages(), tree());
    for verb in tree.get_subcommands() {
        let Some(page) = pages.get(&page_of(verb.get_name())) else { continue };
        let synopsis: Vec<_> = under(page, "SYNOPSIS").flat_map(Section::spans).collect();
        let line = plain(synopsis.iter().copied());
        let name = page_of(verb.get_name());
        assert!(line.starts_with(&format!("doubletap {} ", verb.get_name())), "{name}: {line}");
        for arg in verb.get_positionals() {
            let value = arg.get_value_names().unwrap()[0].as_str();
            let is_there =
                synopsis.iter().any(|span| span.font == Font::Italic && span.text == value);
            assert!(is_there, "the synopsis of {name} lacks {value}: {line}");
        }
    }
}

#[test]
fn every_exit_status_is_in_the_overview_and_none_that_does_not_exist() {
    let mut with_success = set(exit::ALL.map(|(number, _)| number));
    with_success.insert("0".to_owned());
    let mut complaints = Vec::new();
    for (file, page) in pages() {
        let documented = statuses(&entries(&page, "EXIT STATUS"));
        if file == MAIN {
            complaints.extend(both_ways(&file, "exit status", &documented, &with_success));
        }
        let mentioned = mentioned_statuses(&text_of(&page));
        let unknown = documented.union(&mentioned).filter(|number| !with_success.contains(*number));
        complaints.extend(
            unknown.map(|number| {
                format!("{file} has the exit status {number}, which exit.rs has not")
            }),
        );
        if !documented.contains(&exit::USAGE.to_string()) {
            complaints.push(format!("{file} lacks the exit status {}", exit::USAGE));
        }
    }
    assert_nothing_in(&complaints);
}

#[test]
fn every_field_of_a_document_is_in_the_page_of_its_verb_and_no_other() {
    let scene = Scene::new();
    scene.once("k").sh(r#""$BIN" step s -- true"#).run();
    let (pages, document) = (pages(), scene.json("show k --json"));
    let page = &pages["man/doubletap-show.1"];
    let fields = set(document["attempts"][0].as_object().unwrap().keys());
    assert_nothing_in(&both_ways("man/doubletap-show.1", "field", &tags(page, "JSON"), &fields));
    let mut of_steps = set(document["steps"][0].as_object().unwrap().keys());
    of_steps.retain(|field| !fields.contains(field));
    assert_eq!(of_steps, set(["name"]), "a step has the fields of an attempt, and its name");
    let bold = bold_words_of(page);
    for field in document.as_object().unwrap().keys().chain(&of_steps) {
        assert!(bold.contains(field), "man/doubletap-show.1 lacks {field}");
    }
    let bold = bold_words_of(&pages["man/doubletap-prune.1"]);
    for field in scene.json("prune --older-than 1d --json").as_object().unwrap().keys() {
        assert!(bold.contains(field), "man/doubletap-prune.1 lacks {field}");
    }
}

#[test]
fn a_page_has_the_title_and_the_sections_that_readers_look_for() {
    for (file, page) in pages() {
        let name = file.trim_start_matches("man/").trim_end_matches(".1");
        let version = concat!("doubletap ", env!("CARGO_PKG_VERSION"));
        let [title, section, date, of, manual] = page.title.as_slice() else {
            panic!("{file}: the title is {:?}", page.title)
        };
        assert_eq!((title, section.as_str()), (&name.to_uppercase(), "1"), "{file}");
        assert_eq!((of.as_str(), manual.as_str()), (version, "User Commands"), "{file}");
        assert_eq!(date.split('-').map(str::len).collect::<Vec<_>>(), [4, 2, 2], "{file}: {date}");
        let about = plain(under(&page, "NAME").flat_map(Section::spans));
        assert!(about.starts_with(&format!("{name} - ")), "{file}: {about}");
        let source = fs::read_to_string(root().join(&file)).unwrap();
        let as_it_is = "\n.ad l\n.nh\n.nr HY 0\n.SH NAME\n";
        assert!(source.contains(as_it_is), "{file} has words spread or hyphenated");
        for title in ["SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"] {
            assert!(under(&page, title).next().is_some(), "{file} lacks {title}");
        }
    }
}

#[test]
fn pages_refer_to_pages_that_exist_and_the_overview_to_all() {
    let pages = pages();
    let names = set(pages.keys().map(|file| &file["man/".len()..file.len() - ".1".len()]));
    for (file, page) in &pages {
        let words = bold_words_of(page);
        let referred: BTreeSet<String> =
            words.into_iter().filter(|word| word.starts_with("doubletap-")).collect();
        let unknown: Vec<_> = referred.difference(&names).collect();
        assert!(unknown.is_empty(), "{file} refers to {unknown:?}, which are no pages");
    }
    let see_also = under(&pages[MAIN], "SEE ALSO").flat_map(Section::spans);
    let mut listed = bold_words(see_also);
    listed.retain(|word| word.starts_with("doubletap"));
    listed.insert("doubletap".to_owned());
    assert_nothing_in(&both_ways(MAIN, "reference", &listed, &names));
}

#[test]
fn the_examples_of_every_page_do_what_they_show() {
    let mut complaints = Vec::new();
    for (file, page) in pages() {
        let examples: Vec<_> = page.sections.iter().flat_map(|section| &section.examples).collect();
        assert!(!examples.is_empty(), "{file} has no examples");
        for example in examples {
            complaints.extend(examples::run(example).err().map(|why| format!("{file}: {why}")));
        }
    }
    assert_nothing_in(&complaints);
}

#[test]
#[ignore = "needs groff: cargo test -- --ignored"]
fn groff_has_nothing_to_say_of_the_pages() {
    let scene = Scene::new();
    for file in pages().keys() {
        let path = root().join(file);
        let call = scene.call("-man -ww -z -Tutf8").program("groff".as_ref()).arg(path);
        call.run();
    }
    scene.write("wrong.1", ".TH A 1 d v m\n.SH NAME\n.Nonsense\n");
    let call = scene.call("-man -ww -z -Tutf8 wrong.1").program("groff".as_ref());
    let done = call.unchecked().run();
    assert!(done.complaint().contains("Nonsense"), "groff does not warn: {}", done.complaint());
}
