//! What may name what: the table of `src/lib.rs`, and where crates are at home.

use std::collections::BTreeSet;

use super::paths::{Module, Named, Target};

/// Every unit that is imported as a whole, and its floor.
pub(super) const FLOORS: [(&str, u8); 14] = [
    ("claim", 0),
    ("exit", 0),
    ("place", 0),
    ("text", 0),
    ("store", 1),
    ("cli", 1),
    ("store::sqlite", 2),
    ("store::memory", 2),
    ("store::postgres", 2),
    ("store::redis", 2),
    ("process", 2),
    ("report", 2),
    ("commands", 3),
    ("main", 4),
];

/// What is to be had from outside, and the units that may have it. The rules
/// are free of input and output, SQL has one home, and so has the command line.
const HOMES: [(&str, &[&str]); 18] = [
    (
        "std::fs",
        &[
            "store",
            "store::sqlite",
            "store::postgres",
            "store::redis",
            "process",
            "report",
            "commands",
        ],
    ),
    (
        "std::io",
        &[
            "store",
            "store::sqlite",
            "store::postgres",
            "store::redis",
            "process",
            "report",
            "commands",
        ],
    ),
    ("std::env", &["commands", "main"]),
    ("std::process", &["process", "main"]),
    ("std::net", &["store::redis", "report"]),
    ("nix", &["store::sqlite", "store::postgres", "process"]),
    ("signal_hook", &["process"]),
    ("rusqlite", &["store::sqlite"]),
    ("redis", &["store::redis"]),
    ("rustls", &["store::postgres", "store::redis", "report"]),
    ("rustls_native_certs", &["store::postgres", "report"]),
    ("tokio", &["store::postgres"]),
    ("tokio_postgres", &["store::postgres"]),
    ("tokio_postgres_rustls", &["store::postgres"]),
    ("ureq", &["report"]),
    ("clap", &["cli"]),
    ("directories", &["commands"]),
    ("anyhow", &["commands"]),
];

/// Verbs do not import each other; this is what they share.
const SHARED: [&str; 7] = ["asking", "call", "context", "judging", "keeping", "playing", "script"];

/// The unit that a module belongs to.
fn unit_of(module: &[String]) -> Option<(&'static str, u8)> {
    let longest_first = [2, 1].into_iter().filter(|length| *length <= module.len());
    let mut names = longest_first.map(|length| module[..length].join("::"));
    names.find_map(|name| FLOORS.into_iter().find(|(unit, _)| *unit == name))
}

/// What is wrong with a module's naming something, in a sentence's second half.
pub(super) fn complaint(
    module: &[String],
    found: &Named,
    modules: &BTreeSet<Module>,
) -> Option<String> {
    let why = match &found.target {
        Target::Crate(path) => inside(module, path, modules).map(|why| format!(": {why}")),
        Target::Outside(path) => outside(module, path).map(|why| format!(", {why}")),
    };
    why.map(|why| format!("names {}{why}", found.target))
}

fn inside(module: &[String], path: &[String], modules: &BTreeSet<Module>) -> Option<String> {
    if module.is_empty() {
        return Some("the root only lists the modules".to_owned());
    }
    let Some((unit, floor)) = unit_of(module) else {
        return Some(format!("{} has no floor in tests/architecture/floors.rs", module[0]));
    };
    let Some((named, below)) = unit_of(path) else {
        return Some("that has no floor in tests/architecture/floors.rs".to_owned());
    };
    if unit == named {
        return between_verbs(module, path, modules);
    }
    match below.cmp(&floor) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => Some(format!(
            "{unit} and {named} are both on floor {floor}, and siblings do not import each other"
        )),
        std::cmp::Ordering::Greater => Some(format!(
            "{unit} is on floor {floor} and {named} on floor {below}, and imports point downward only"
        )),
    }
}

/// `commands` itself knows all its verbs; a verb knows only itself.
fn between_verbs(module: &[String], path: &[String], modules: &BTreeSet<Module>) -> Option<String> {
    let is_module = path.len() > 1 && modules.contains(&path[..2]);
    let (Some(verb), Some(other)) = (module.get(1), path.get(1).filter(|_| is_module)) else {
        return None;
    };
    let meet = module[0] == "commands" && verb != other && !SHARED.contains(&other.as_str());
    meet.then(|| "one verb does not import another".to_owned())
}

fn outside(module: &[String], path: &[String]) -> Option<String> {
    let (unit, _) = unit_of(module)?;
    let name = path.join("::");
    let (_, homes) = HOMES.into_iter().find(|(home, _)| {
        name.strip_prefix(home).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })?;
    (!homes.contains(&unit)).then(|| match homes {
        [] => "which is at home nowhere".to_owned(),
        _ => format!("which is at home in {}", homes.join(", ")),
    })
}
