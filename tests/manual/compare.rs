//! Compares what a page says with what the program says, and complains in
//! sentences that name the page.

use std::collections::BTreeSet;

use super::page::{Entry, Font, Span, plain};
use super::program::{Opt, of_tag};

/// What one of the two has and the other has not.
pub(super) fn both_ways(
    file: &str,
    what: &str,
    page: &BTreeSet<String>,
    program: &BTreeSet<String>,
) -> Vec<String> {
    let missing = program.difference(page).map(|name| format!("{file} lacks the {what} {name}"));
    let surplus = page
        .difference(program)
        .map(|name| format!("{file} has the {what} {name}, which the program has not"));
    missing.chain(surplus).collect()
}

/// What is wrong with the options of a page.
pub(super) fn options(file: &str, entries: &[&Entry], program: &[Opt]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut documented = Vec::new();
    for entry in entries {
        match of_tag(&entry.tag) {
            Some(opt) => documented.push((opt.shown(), *entry)),
            None => complaints
                .push(format!("{file}: {} is no option as we write them", plain(&entry.tag))),
        }
    }
    let shown = |opts: &mut dyn Iterator<Item = String>| opts.collect::<BTreeSet<_>>();
    let in_page = shown(&mut documented.iter().map(|(shown, _)| shown.clone()));
    let in_program = shown(&mut program.iter().map(Opt::shown));
    complaints.extend(both_ways(file, "option", &in_page, &in_program));
    if in_page.len() < documented.len() {
        complaints.push(format!("{file} has an option twice"));
    }
    for (shown, entry) in documented {
        if let Some(opt) = program.iter().find(|opt| opt.shown() == shown) {
            complaints.extend(
                body(opt, entry)
                    .into_iter()
                    .map(|why| format!("{file}: what is said of {shown} {why}")),
            );
        }
    }
    complaints
}

/// What is wrong with what is said of an option.
fn body(opt: &Opt, entry: &Entry) -> Vec<String> {
    let text = plain(&entry.body);
    let mut complaints = Vec::new();
    match &opt.default {
        Some(default) if !text.contains(&format!("Default: {default}.")) => {
            complaints.push(format!("does not end with \"Default: {default}.\""));
        }
        None if text.contains("Default:") => {
            complaints.push("has a default that the program does not say".to_owned());
        }
        _ => {}
    }
    let bold = bold_words(&entry.body);
    let named = opt.words.iter().chain(&opt.variable);
    let missing = named.filter(|word| !bold.contains(*word));
    complaints.extend(missing.map(|word| format!("does not have {word} in bold")));
    complaints
}

/// The words that are printed in bold.
pub(super) fn bold_words<'a>(spans: impl IntoIterator<Item = &'a Span>) -> BTreeSet<String> {
    let bold = spans.into_iter().filter(|span| span.font == Font::Bold);
    bold.flat_map(|span| span.text.split_whitespace()).map(str::to_owned).collect()
}

/// The numbers of the entries of a page that are numbers.
pub(super) fn statuses(entries: &[&Entry]) -> BTreeSet<String> {
    let tags = entries.iter().map(|entry| plain(&entry.tag));
    tags.filter(|tag| tag.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

/// The statuses that a text mentions in the form (75).
pub(super) fn mentioned_statuses(text: &str) -> BTreeSet<String> {
    let inside = text.split(" (").skip(1).filter_map(|rest| rest.split_once(')'));
    let numbers = inside
        .map(|(inside, _)| inside)
        .filter(|inside| !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit()));
    numbers.map(str::to_owned).collect()
}

/// The options, `--like` this, that are printed in bold.
pub(super) fn mentioned_options(words: &BTreeSet<String>) -> BTreeSet<String> {
    words.iter().filter(|word| word.starts_with("--") && word.len() > 2).cloned().collect()
}

/// The variables of ours that a text mentions.
pub(super) fn mentioned_variables(text: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_uppercase() || c == '_';
    let found = text.match_indices("DOUBLETAP_").map(|(at, _)| &text[at..]);
    let names = found.map(|rest| rest.split(|c| !is_of_name(c)).next().unwrap_or_default());
    names.filter(|name| *name != "DOUBLETAP_").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::page::read;
    use super::*;

    fn said_of(lines: &str, program: &[Opt]) -> Vec<String> {
        let page = read(&format!(".TH A 1 d v m\n.SH OPTIONS\n{lines}\n")).unwrap();
        let entries: Vec<&Entry> = page.sections[0].entries.iter().collect();
        options("a.1", &entries, program)
    }

    fn wait() -> Opt {
        Opt {
            names: vec!["-w".to_owned(), "--wait".to_owned()],
            value: Some("DUR".to_owned()),
            words: vec!["long".to_owned()],
            default: Some("5s".to_owned()),
            variable: Some("DOUBLETAP_WAIT".to_owned()),
        }
    }

    const GOOD: &str = ".TP\n\\fB\\-w\\fR, \\fB\\-\\-wait\\fR \\fIDUR\\fR\nWait \\fBlong\\fR, or as \
        \\fBDOUBLETAP_WAIT\\fR says.\nDefault: 5s.";

    #[test]
    fn a_page_that_says_what_the_program_says_is_not_complained_of() {
        assert_eq!(said_of(GOOD, &[wait()]), [""; 0]);
    }

    #[test]
    fn an_option_that_only_one_of_them_has_is_named() {
        assert_eq!(
            said_of(GOOD, &[]),
            ["a.1 has the option -w, --wait DUR, which the program has not"]
        );
        let missing = Opt { names: vec!["--json".to_owned()], ..Opt::default() };
        assert_eq!(said_of(GOOD, &[wait(), missing]), ["a.1 lacks the option --json"]);
        let renamed = Opt { value: Some("TIME".to_owned()), ..wait() };
        assert_eq!(said_of(GOOD, &[renamed]).len(), 2);
    }

    #[test]
    fn what_is_said_of_an_option_is_compared_too() {
        let of = |opt| said_of(GOOD, &[opt]);
        let said = "a.1: what is said of -w, --wait DUR";
        let default = Some("6s".to_owned());
        assert_eq!(
            of(Opt { default, ..wait() }),
            [format!("{said} does not end with \"Default: 6s.\"")]
        );
        assert_eq!(
            of(Opt { default: None, ..wait() }),
            [format!("{said} has a default that the program does not say")]
        );
        let words = vec!["short".to_owned()];
        assert_eq!(of(Opt { words, ..wait() }), [format!("{said} does not have short in bold")]);
        let variable = Some("DOUBLETAP_W".to_owned());
        assert_eq!(of(Opt { variable, ..wait() }).len(), 1);
    }

    #[test]
    fn what_is_no_option_and_what_comes_twice_is_found() {
        assert_eq!(
            said_of(".TP\n\\fBwait\\fR\nWait.", &[]),
            ["a.1: wait is no option as we write them"]
        );
        assert_eq!(said_of(&format!("{GOOD}\n{GOOD}"), &[wait()]), ["a.1 has an option twice"]);
    }

    #[test]
    fn mentions_are_found_in_a_text() {
        let of = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let text =
            "busy (75), see flock(1) and (a) or (70). $DOUBLETAP_KEY, \"DOUBLETAP_X\" DOUBLETAP_*";
        assert_eq!(mentioned_statuses(text), of(&["70", "75"]));
        assert_eq!(mentioned_variables(text), of(&["DOUBLETAP_KEY", "DOUBLETAP_X"]));
        assert_eq!(mentioned_options(&of(&["--", "--ttl", "forever"])), of(&["--ttl"]));
    }
}
