//! What the program says of its own options, in the form in which pages are
//! compared with it.

use clap::{Arg, CommandFactory as _};
use doubletap::cli::Cli;

use super::page::{Font, Span};

/// An option.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opt {
    /// `-w` before `--wait`.
    pub(super) names: Vec<String>,
    /// The name of its value.
    pub(super) value: Option<String>,
    /// What its value can be, where that is a list.
    pub(super) words: Vec<String>,
    pub(super) default: Option<String>,
    /// The variable that stands in for it.
    pub(super) variable: Option<String>,
}

impl Opt {
    /// As it is written in a page and in the help.
    pub(super) fn shown(&self) -> String {
        let value = self.value.as_ref().map(|value| format!(" {value}"));
        self.names.join(", ") + &value.unwrap_or_default()
    }
}

/// The whole command line, with what clap adds to it.
pub(super) fn tree() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// The options that every verb takes, those that clap adds among them, and those of
/// builds that know a server or send traces: the pages are the same for all builds.
pub(super) fn global_options(tree: &clap::Command) -> Vec<Opt> {
    let mut options: Vec<_> =
        tree.get_arguments().filter(|arg| !arg.is_positional()).map(of).collect();
    let of_features = options_of_features();
    options.retain(|opt| !of_features.contains(opt));
    options.extend(of_features);
    options
}

/// What only builds take that know a server, or send traces.
fn options_of_features() -> [Opt; 3] {
    let named = |name: &str| Opt { names: vec![name.to_owned()], ..Opt::default() };
    [
        named("--auto-setup"),
        Opt {
            value: Some("N".to_owned()),
            default: Some("0".to_owned()),
            variable: Some("DOUBLETAP_REDIS_WAIT".to_owned()),
            ..named("--redis-wait")
        },
        Opt { variable: Some("DOUBLETAP_REDACT_KEYS".to_owned()), ..named("--redact-keys") },
    ]
}

#[test]
fn the_options_of_features_are_those_of_the_builds_that_have_them() {
    let has = |name: &str| {
        let found: Vec<_> = tree().get_arguments().map(of).collect();
        found.into_iter().find(|opt| opt.names.iter().any(|known| known == name))
    };
    let [auto_setup, redis_wait, redact_keys] = options_of_features();
    let any = cfg!(any(feature = "postgres", feature = "redis"));
    assert_eq!(has("--auto-setup"), any.then_some(auto_setup));
    assert_eq!(has("--redis-wait"), cfg!(feature = "redis").then_some(redis_wait));
    assert_eq!(has("--redact-keys"), cfg!(feature = "otel").then_some(redact_keys));
}

/// The options that only this verb takes.
pub(super) fn own_options(verb: &clap::Command) -> Vec<Opt> {
    let own = |arg: &&Arg| !arg.is_positional() && !arg.is_global_set() && arg.get_id() != "help";
    verb.get_arguments().filter(own).map(of).collect()
}

fn of(arg: &Arg) -> Opt {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names = short.into_iter().chain(long).collect();
    let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
    if !arg.get_action().takes_values() {
        return Opt { names, variable, ..Opt::default() };
    }
    let value = arg.get_value_names().and_then(|names| names.first());
    let words = arg.get_possible_values();
    Opt {
        names,
        value: value.map(ToString::to_string),
        words: words.iter().map(|word| word.get_name().to_owned()).collect(),
        default: default_of(arg),
        variable,
    }
}

/// What holds without the option: clap knows it, or the help says it.
fn default_of(arg: &Arg) -> Option<String> {
    if let Some(known) = arg.get_default_values().first() {
        return Some(known.to_string_lossy().into_owned());
    }
    let help = arg.get_help()?.to_string();
    let (_, rest) = help.split_once("[default: ")?;
    rest.split_once(']').map(|(default, _)| default.to_owned())
}

/// The option that a tag of a page is about: names in bold, the name of the
/// value in italics.
pub(super) fn of_tag(tag: &[Span]) -> Option<Opt> {
    let mut opt = Opt::default();
    let mut separator = "";
    for span in tag {
        match (span.font, span.text.as_str()) {
            (Font::Bold, name) if name.starts_with('-') && separator == expected(&opt) => {
                opt.names.push(name.to_owned());
            }
            (Font::Italic, value) if separator == " " && opt.value.is_none() => {
                opt.value = Some(value.to_owned());
            }
            (Font::Roman, between @ (", " | " ")) => {
                separator = between;
                continue;
            }
            _ => return None,
        }
        separator = "";
    }
    (!opt.names.is_empty() && separator.is_empty()).then_some(opt)
}

fn expected(so_far: &Opt) -> &'static str {
    if so_far.names.is_empty() { "" } else { ", " }
}

#[test]
fn a_tag_is_an_option_only_in_its_one_form() {
    let span = |font, text: &str| Span { font, text: text.to_owned() };
    let (bold, roman, italic) = (
        |text| span(Font::Bold, text),
        |text| span(Font::Roman, text),
        |text| span(Font::Italic, text),
    );
    let whole = [bold("-w"), roman(", "), bold("--wait"), roman(" "), italic("DUR")];
    assert_eq!(of_tag(&whole).map(|opt| opt.shown()).as_deref(), Some("-w, --wait DUR"));
    for wrong in [
        vec![bold("wait")],
        vec![roman("--wait")],
        vec![bold("--wait"), italic("DUR")],
        vec![bold("--wait"), roman("="), italic("DUR")],
        vec![bold("--wait"), roman(" ")],
        vec![bold("-w"), roman(" "), bold("--wait")],
        vec![bold("--wait"), roman(" "), bold("DUR")],
    ] {
        assert_eq!(of_tag(&wrong), None, "{wrong:?}");
    }
}
