//! The skill in `skills/doubletap`: its form, its options, and its examples, each of
//! which is run. A bad one is shown to do what the skill warns of.

mod mistakes;
mod rewrites;

use clap::CommandFactory as _;
use doubletap::cli::Cli;
use doubletap::exit;

use crate::documents::{long_options, mentions_number};

const FOLDER: &str = "doubletap";
const SKILL: &str = include_str!("../skills/doubletap/SKILL.md");

/// The sources of the tests below, in which each example is asked for by its heading.
const TESTS: [&str; 2] = [include_str!("skill/mistakes.rs"), include_str!("skill/rewrites.rs")];

/// The lines between the first two `---`, and what follows them.
fn front_matter() -> (Vec<(&'static str, &'static str)>, &'static str) {
    let rest = SKILL.strip_prefix("---\n").expect("SKILL.md begins with its front matter");
    let (front, body) = rest.split_once("\n---\n").expect("the front matter ends");
    let fields = front.lines().map(|line| {
        line.split_once(": ").unwrap_or_else(|| panic!("no field of the front matter: {line}"))
    });
    (fields.collect(), body)
}

/// A fenced example and what stands behind its fence.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    kind: &'static str,
    text: String,
}

/// The headings of the third rank, each with the examples below it.
fn examples() -> Vec<(&'static str, Vec<Example>)> {
    let mut all: Vec<(&str, Vec<Example>)> = Vec::new();
    let mut open: Option<Example> = None;
    for line in front_matter().1.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(""), Some(example)) => {
                all.last_mut().expect("an example has a heading").1.push(example);
            }
            (Some(kind), None) => open = Some(Example { kind, text: String::new() }),
            (None, Some(Example { kind, text })) => {
                open = Some(Example { kind, text: text + line + "\n" });
            }
            (None, None) => all.extend(line.strip_prefix("### ").map(|name| (name, Vec::new()))),
            (Some(kind), Some(_)) => panic!("a fence in a fence: {kind}"),
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    all
}

/// The examples of a heading, of these kinds and no others.
#[track_caller]
fn example<const N: usize>(name: &str, kinds: [&str; N]) -> [String; N] {
    let found = examples().into_iter().find(|(heading, _)| *heading == name);
    let (_, found) = found.unwrap_or_else(|| panic!("SKILL.md has no example `{name}`"));
    let of: Vec<&str> = found.iter().map(|example| example.kind).collect();
    assert_eq!(of, kinds, "the kinds of the examples of `{name}`");
    let texts: Vec<String> = found.into_iter().map(|example| example.text).collect();
    texts.try_into().unwrap_or_else(|_| unreachable!("their number was compared"))
}

/// A bad example and what to write instead.
#[track_caller]
fn pair(name: &str) -> [String; 2] {
    example(name, ["sh bad", "sh"])
}

#[test]
fn the_skill_has_the_front_matter_of_its_open_format() {
    let (fields, body) = front_matter();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["name", "description", "license", "compatibility"]);
    assert_eq!(fields[0].1, FOLDER, "the name is the folder's");
    let known = |c: char| c.is_ascii_lowercase() || c == '-';
    assert!(FOLDER.len() <= 64 && FOLDER.chars().all(known));
    for ((name, value), most) in fields.iter().zip([64, 1024, 100, 500]) {
        assert!(!value.is_empty() && value.len() <= most, "{name} has {} bytes", value.len());
        let plain = !value.contains(": ") && !value.contains(" #") && !value.ends_with(':');
        assert!(plain && value.starts_with(char::is_alphanumeric), "YAML quotes {name}: {value}");
    }
    assert!(fields[1].1.contains("Use it when"), "the description says when to use it");
    assert!(body.lines().count() < 500, "the body has {} lines", body.lines().count());
}

#[test]
fn every_example_of_the_skill_has_a_test() {
    let all = examples();
    assert!(all.len() >= 10, "the examples of SKILL.md are not found");
    for (name, found) in all {
        assert!(!found.is_empty(), "`{name}` has no example");
        let asked = format!("(\"{name}\"");
        assert!(TESTS.iter().any(|test| test.contains(&asked)), "no test runs `{name}`");
    }
    let fences = SKILL.lines().filter(|line| line.starts_with("```")).count();
    let found: usize = examples().iter().map(|(_, found)| found.len()).sum();
    assert_eq!(fences, 2 * found, "an example stands outside of the headings");
}

#[test]
fn every_option_that_the_skill_mentions_exists() {
    let mut command = Cli::command();
    command.build();
    let known = long_options(&command);
    let words = SKILL.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let options: Vec<&str> =
        words.filter(|word| word.starts_with("--") && word.len() > 3).collect();
    assert!(options.len() > 20, "the options of SKILL.md are not found");
    for option in options {
        assert!(known.contains(option), "SKILL.md mentions {option}, which does not exist");
    }
    let verbs = SKILL.split("`doubletap ").skip(1).map(|rest| rest.split([' ', '`']).next());
    for verb in verbs.flatten() {
        let exists = command.find_subcommand(verb).is_some();
        assert!(exists, "SKILL.md mentions doubletap {verb}, which does not exist");
    }
}

#[test]
fn the_skill_tells_what_to_do_at_every_status_that_a_command_can_meet() {
    for (number, meaning) in exit::ALL.iter().filter(|(number, _)| *number != exit::ABSENT) {
        assert!(mentions_number(SKILL, *number), "SKILL.md does not mention {number} ({meaning})");
    }
}
