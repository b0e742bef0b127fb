//! Runs the examples of the pages.
//!
//! An example is what a person sees at a terminal: what is typed after `$ ` and
//! `> `, and what is printed. `...` stands for anything within a line, and how
//! many blanks there are does not matter. Or it is a crontab, of which every line
//! is fired twice.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::support::{BIN, Call, Scene};

use super::page::Example;

/// The commands that examples name, in the folder of the home, and what they do.
/// `$n` says how often they have been run.
const STAND_INS: [(&str, &str); 14] = [
    ("work/deploy.sh", "echo deployment $n"),
    ("work/report.sh", "echo report $n"),
    ("work/fetch.sh", "echo fetched $n"),
    ("work/tag.sh", ":"),
    ("work/nightly.sh", "echo the disk is full >&2; exit 28"),
    ("work/mirror.sh", "echo the server does not answer; exit 1"),
    (
        "work/release.sh",
        "[ $n -gt 1 ] || { echo the server does not answer; exit 1; }; echo released in run $n",
    ),
    ("work/pay.sh", r#"printf 'Content-Type: text/plain\n\npaid in run %s\n' "$n""#),
    ("work/handle.sh", r#"echo "handled in run $n: $(cat)""#),
    ("work/rates.sh", r#"[ $n -gt 1 ] && echo "1 EUR = 1.16 USD" || echo try again later"#),
    // A machine that crashes takes doubletap and its command along.
    ("work/payout.sh", "[ $n -gt 1 ] || { kill -KILL $PPID; exit; }; echo paid in run $n"),
    ("home/bin/backup", ":"),
    ("home/bin/sync", ":"),
    (
        "bin/curl",
        r#"case "$*" in *"Key: ${DOUBLETAP_IDEMPOTENCY_KEY:?}"*) echo charged in run $n ;; esac"#,
    ),
];

/// An example that can be run.
#[derive(Debug, PartialEq, Eq)]
enum Play {
    /// A script, and what it prints.
    Transcript { script: String, printed: Vec<String> },
    /// The commands of a crontab.
    Crontab(Vec<String>),
}

/// Runs an example in a world of its own; complains if it does not do what it
/// shows.
pub(super) fn run(example: &Example) -> Result<(), String> {
    let scene = stage();
    if let Some(before) = &example.before {
        shell(&scene, "-c").arg(before.as_str()).unchecked().run();
    }
    match understood(&example.lines)? {
        Play::Transcript { script, printed } => {
            scene.write("script", &script);
            let done = shell(&scene, "-eu ./script").merged().unchecked().run();
            let text = done.text();
            let lines: Vec<&str> = text.lines().collect();
            let same = lines.len() == printed.len()
                && printed.iter().zip(&lines).all(|(shown, line)| matches(shown, line));
            if done.code() != 0 || !same {
                let (shown, code) = (printed.join("\n"), done.code());
                return Err(format!(
                    "{script}ends with {code}, shows\n{shown}\nand prints\n{text}"
                ));
            }
        }
        Play::Crontab(commands) => {
            for command in commands {
                fire_twice(&scene, &command)?;
            }
        }
    }
    Ok(())
}

/// What cron does. A command that is to run once is run once, and nothing mails.
fn fire_twice(scene: &Scene, command: &str) -> Result<(), String> {
    for _ in 0..2 {
        let done = shell(scene, "-c").arg(command).merged().unchecked().run();
        let (code, text) = (done.code(), done.text());
        if code != 0 || !text.is_empty() {
            return Err(format!("{command}: it ends with {code} and would mail {text:?}"));
        }
    }
    let Some((_, rest)) = command.split_once("\"$HOME/bin/") else { return Ok(()) };
    let name = rest.trim_end_matches('"');
    let wanted = if command.starts_with("doubletap once ") { 1 } else { 2 };
    let runs = fs::read_to_string(scene.home().join(format!(".runs.{name}"))).unwrap_or_default();
    if runs.lines().count() != wanted {
        return Err(format!("{command}: fired twice, it ran {} times", runs.lines().count()));
    }
    Ok(())
}

/// A scene in which everything is there that examples name.
fn stage() -> Scene {
    let scene = Scene::new();
    for folder in ["bin", "home/bin"] {
        fs::create_dir(scene.root().join(folder)).unwrap();
    }
    symlink(BIN, scene.root().join("bin/doubletap")).unwrap();
    for (path, does) in STAND_INS {
        let name = path.rsplit('/').next().unwrap();
        let file = scene.root().join(path);
        let counts =
            format!("echo run >>\"$HOME/.runs.{name}\"; n=$(wc -l <\"$HOME/.runs.{name}\")");
        fs::write(&file, format!("#!/bin/sh\n{counts}\n{does}\n")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(scene.path("invoice.json"), "{}\n").unwrap();
    scene
}

/// `/bin/sh` with these words, and the program first in its PATH.
fn shell<'a>(scene: &'a Scene, words: &str) -> Call<'a> {
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", scene.root().join("bin").display());
    scene.call(words).program("/bin/sh".as_ref()).env("PATH", path)
}

/// Whether a line is as shown.
fn matches(shown: &str, line: &str) -> bool {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (shown, line) = (squeezed(shown), squeezed(line));
    let mut parts = shown.split("...");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        let at = if parts.peek().is_none() {
            rest.ends_with(part).then(|| rest.len() - part.len())
        } else {
            rest.find(part)
        };
        let Some(at) = at else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// What an example is.
fn understood(lines: &[String]) -> Result<Play, String> {
    if let Some(wide) = lines.iter().find(|line| line.len() > 73) {
        return Err(format!("it is too wide for a page: {wide}"));
    }
    if !lines.first().is_some_and(|line| line.starts_with("$ ")) {
        return lines.iter().map(|line| fired(line)).collect::<Result<_, _>>().map(Play::Crontab);
    }
    let (mut script, mut printed) = (String::new(), Vec::new());
    let mut is_typed = false;
    for line in lines {
        let typed = match (line.strip_prefix("$ "), line.strip_prefix("> ")) {
            (Some(typed), _) => Some(typed),
            (None, Some(typed)) if is_typed => Some(typed),
            _ => None,
        };
        is_typed = typed.is_some();
        match typed {
            Some(typed) => script.extend([typed, "\n"]),
            None => printed.push(line.clone()),
        }
    }
    Ok(Play::Transcript { script, printed })
}

/// The command of a line of a crontab.
fn fired(line: &str) -> Result<String, String> {
    let no_crontab = || format!("it is neither typed nor a crontab: {line}");
    let mut rest = line;
    for _ in 0..5 {
        let (field, after) = rest.split_once(' ').ok_or_else(no_crontab)?;
        if field.is_empty() || !field.chars().all(|c| c.is_ascii_digit() || "*/,-".contains(c)) {
            return Err(no_crontab());
        }
        rest = after;
    }
    if rest.contains('%') {
        return Err(format!("cron makes a new line of %: {line}"));
    }
    Ok(rest.trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(text: &str) -> Example {
        Example { before: None, lines: text.lines().map(str::to_owned).collect() }
    }

    #[test]
    fn what_is_typed_is_told_from_what_is_printed() {
        let play = understood(&example("$ f() {\n>   true\n> }\nout\n> out\n$ f").lines);
        let script = "f() {\n  true\n}\nf\n".to_owned();
        let printed = vec!["out".to_owned(), "> out".to_owned()];
        assert_eq!(play, Ok(Play::Transcript { script, printed }));
        let play = understood(&example("*/5 1-2 * * 0  doubletap x").lines);
        assert_eq!(play, Ok(Play::Crontab(vec!["doubletap x".to_owned()])));
    }

    #[test]
    fn what_is_neither_or_too_wide_is_refused() {
        for (text, why) in [
            ("doubletap list", "neither"),
            ("", "neither"),
            ("0 0 * * * date +%F", "%"),
            (&format!("$ {}", "x".repeat(72)), "too wide"),
        ] {
            let said = understood(&[text.to_owned()]).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn dots_stand_for_anything_within_a_line() {
        assert!(matches("a", "a") && matches("a ... c", "a b b c") && matches("a  b", "a b"));
        assert!(matches("...", "") && matches("a ...", "a b") && matches("..., b", "a, b"));
        assert!(!matches("a", "ab") && !matches("a ... c", "a b") && !matches("b...", "ab"));
        assert!(!matches("a...a", "a"));
    }

    #[test]
    fn an_example_that_does_something_else_is_found() {
        for (text, why) in [
            ("$ echo b\na", "prints\nb"),
            ("$ echo a\na\na", "prints\na\n"),
            ("$ exit 3", "ends with 3"),
            ("$ false\n$ true", "ends with 1"),
            ("$ echo $unset", "ends with 2"),
            ("* * * * * doubletap lease a -q -- true \"$HOME/bin/sync\"", "ran 0 times"),
            ("* * * * * doubletap lease a -q -- echo a", "would mail \"a"),
            ("* * * * * false", "ends with 1"),
        ] {
            let said = run(&example(text)).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
