//! The recipes of the README: each block is taken from there and run, with the real
//! program and with stand-ins for the commands that it names. Only paths that a
//! test may not touch are replaced.

mod answers;
mod cron;
mod releases;
mod scripts;
mod systemd;

use std::collections::BTreeSet;

use crate::support::Scene;

const README: &str = include_str!("../README.md");

/// The sources of the tests below, in which each recipe is asked for by its name.
const TESTS: [&str; 6] = [
    include_str!("cgi/servers/recipes.rs"),
    include_str!("recipes/answers.rs"),
    include_str!("recipes/cron.rs"),
    include_str!("recipes/releases.rs"),
    include_str!("recipes/scripts.rs"),
    include_str!("recipes/systemd.rs"),
];

/// What a command does that leaves a trace of every run.
const TRACE: &str = r#"echo "$*" >>runs"#;

/// The sections that have recipes.
const SECTIONS: [&str; 2] = ["Recipes", "Scripts that cannot be wrapped"];

fn section(title: &str) -> &'static str {
    let (_, rest) = README.split_once(&format!("\n## {title}\n")).expect(title);
    rest.split("\n## ").next().unwrap_or_default()
}

/// The recipes of all sections.
fn recipes() -> Vec<(&'static str, &'static str)> {
    SECTIONS.into_iter().flat_map(|title| named(section(title))).collect()
}

/// A recipe begins with its name in bold letters, and a full stop.
fn named(text: &str) -> Vec<(&str, &str)> {
    let texts = text.split("\n**").skip(1);
    texts.filter_map(|recipe| recipe.split_once(".**")).collect()
}

/// Lines that are indented by four spaces, without them, and the empty lines among them.
pub(crate) fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block = String::new();
    let mut empty = 0;
    for line in text.lines().chain(["."]) {
        match line.strip_prefix("    ") {
            Some(line) => {
                block.push_str(&"\n".repeat(std::mem::take(&mut empty)));
                block.extend([line, "\n"]);
            }
            None if block.is_empty() => {}
            None if line.is_empty() => empty += 1,
            None => {
                blocks.push(std::mem::take(&mut block));
                empty = 0;
            }
        }
    }
    blocks
}

/// The blocks of a recipe, all of them.
#[track_caller]
pub(crate) fn recipe<const N: usize>(name: &str) -> [String; N] {
    let all = recipes();
    let found = all.iter().find(|(known, _)| *known == name);
    let (_, text) = found.unwrap_or_else(|| panic!("README.md has no recipe **{name}.**"));
    blocks(text).try_into().unwrap_or_else(|blocks: Vec<String>| {
        panic!("the recipe **{name}.** has {} blocks, and {N} of them a test", blocks.len())
    })
}

/// A recipe of one block.
#[track_caller]
pub(crate) fn only(name: &str) -> String {
    let [block] = recipe(name);
    block
}

/// Replaces a path that is not ours, which the recipe must name.
#[track_caller]
pub(crate) fn elsewhere(text: &str, from: &str, to: &std::path::Path) -> String {
    assert!(text.contains(from), "the recipe does not name {from}: {text}");
    text.replace(from, to.to_str().unwrap())
}

/// Writes the recipe's own script, or one that it calls.
fn script(scene: &Scene, name: &str, text: &str) {
    scene.executable(&scene.path(name), text);
}

#[test]
fn every_recipe_of_the_readme_has_a_test() {
    for title in SECTIONS {
        assert!(named(section(title)).len() >= 3, "the recipes of {title} are not found");
    }
    for (name, _) in recipes().into_iter().filter(|(_, text)| !blocks(text).is_empty()) {
        let asked = [format!("recipe(\"{name}\")"), format!("only(\"{name}\")")];
        let is_asked_for = |test: &str| asked.iter().any(|asked| test.contains(asked));
        assert!(TESTS.iter().any(|test| is_asked_for(test)), "no test runs the recipe **{name}.**");
    }
}

#[test]
fn no_recipe_has_the_name_of_another() {
    let names: Vec<&str> = recipes().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
}

#[test]
fn a_recipe_is_a_name_and_its_blocks() {
    let text =
        "\n**a.** Text:\n\n    one\n        two\n\ntext\n\n    three\n\n    four\n\n**b.** None.\n";
    let recipes = named(text);
    assert_eq!(recipes.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(blocks(recipes[0].1), ["one\n    two\n", "three\n\nfour\n"]);
    assert_eq!(blocks(recipes[1].1), Vec::<String>::new());
}
