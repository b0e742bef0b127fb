//! What is written for people is held to what the program says of itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use doubletap::cli::Cli;
use doubletap::exit;

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{name} cannot be read: {why}"))
}

/// Whether a text has this word, with none of `joined` right before or after.
fn mentions(text: &str, word: &str, joined: impl Fn(char) -> bool) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(&joined) && !after.is_some_and(&joined)
    })
}

pub(crate) fn mentions_number(text: &str, number: u8) -> bool {
    mentions(text, &number.to_string(), char::is_alphanumeric)
}

fn mentions_option(text: &str, option: &str) -> bool {
    mentions(text, option, |c| c.is_alphanumeric() || c == '-')
}

/// Every long option of a command and of its verbs.
pub(crate) fn long_options(command: &clap::Command) -> BTreeSet<String> {
    let own = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")));
    own.chain(command.get_subcommands().flat_map(long_options)).collect()
}

/// The whole command line, with what clap adds to it.
fn built() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

#[test]
fn the_readme_mentions_every_exit_status() {
    let readme = document("README.md");
    for (number, meaning) in exit::ALL {
        assert!(
            mentions_number(&readme, number),
            "README.md does not mention the exit status {number} ({meaning})"
        );
    }
}

#[test]
fn the_readme_mentions_every_long_option() {
    let readme = document("README.md");
    let missing: Vec<String> = long_options(&built())
        .into_iter()
        .filter(|option| !mentions_option(&readme, option))
        .collect();
    assert!(missing.is_empty(), "README.md does not mention {}", missing.join(", "));
}

#[test]
fn a_mention_is_a_whole_word() {
    assert!(mentions_number("ends with 75.", 75));
    assert!(mentions_number("`75`", 75));
    assert!(!mentions_number("175 and 750 and 75s", 75));
    assert!(mentions_option("`--wait DUR`, --key=K", "--wait"));
    assert!(mentions_option("`--wait DUR`, --key=K", "--key"));
    assert!(!mentions_option("--waiting and --wait-long and ---wait", "--wait"));
}

#[test]
fn the_options_of_verbs_are_among_those_that_are_asked_for() {
    let options = long_options(&built());
    for option in ["--store", "--rerun", "--older-than", "--help", "--version"] {
        assert!(options.contains(option), "{option}");
    }
}
