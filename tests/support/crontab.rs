//! A crontab, read and run as cron does: five fields and a command, in which an
//! unescaped `%` ends the command and begins its input.

use super::call::{Call, input};
use super::scene::Scene;

/// What a line of a crontab runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Firing {
    /// For `/bin/sh -c`.
    pub(crate) command: String,
    /// What the command finds on standard input.
    pub(crate) input: String,
    /// The variables that stood above it.
    pub(crate) environment: Vec<(String, String)>,
}

/// What the lines of a crontab run, in their order.
pub(crate) fn firings(crontab: &str) -> Vec<Firing> {
    let mut environment = Vec::new();
    let mut firings = Vec::new();
    for line in crontab.lines().map(str::trim_start) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once('=') {
            Some((name, value)) if name.trim_end().chars().all(is_of_name) => {
                environment.push((name.trim_end().to_owned(), value.trim().to_owned()));
            }
            _ => firings.push(firing(line, &environment)),
        }
    }
    firings
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn firing(line: &str, environment: &[(String, String)]) -> Firing {
    let mut rest = line;
    for _ in 0..5 {
        let (field, after) = rest
            .split_once([' ', '\t'])
            .unwrap_or_else(|| panic!("a line of a crontab has five fields and a command: {line}"));
        let known = field.chars().all(|c| c.is_ascii_alphanumeric() || "*/,-".contains(c));
        assert!(known, "cron does not know the field {field} in: {line}");
        rest = after.trim_start();
    }
    let (command, input) = halves(rest);
    Firing { command, input, environment: environment.to_vec() }
}

/// What comes before the first `%`, and what comes after it with a new line for every
/// other one. `\%` is a `%`.
fn halves(text: &str) -> (String, String) {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '%' => parts.push(String::new()),
            '\\' if characters.peek() == Some(&'%') => {
                parts.last_mut().expect("one is there").extend(characters.next());
            }
            _ => parts.last_mut().expect("one is there").push(c),
        }
    }
    let command = parts.remove(0);
    (command, parts.iter().flat_map(|line| [line, "\n"]).collect())
}

impl Firing {
    /// Runs it with what cron sets and nothing else. Like cron, whoever runs it may
    /// look at each byte that comes out.
    pub(crate) fn call<'a>(&self, scene: &'a Scene) -> Call<'a> {
        let own = [
            ("HOME".to_owned(), scene.home().display().to_string()),
            ("LOGNAME".to_owned(), "somebody".to_owned()),
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("SHELL".to_owned(), "/bin/sh".to_owned()),
        ];
        let variables = own.iter().chain(&self.environment);
        let variables = variables.map(|(name, value)| format!("{name}={value}"));
        scene
            .call("")
            .through(["env", "-i"])
            .through(variables)
            .program("/bin/sh".as_ref())
            .arg("-c")
            .arg(&self.command)
            .stdin(input(scene, self.input.as_bytes()))
    }
}

#[test]
fn a_crontab_is_read_as_cron_reads_it() {
    let crontab = "PATH=/a:/b\n# a comment\n*/5 1-3 * jan 0,7 \t a=1 b\\%c \\n%one%two\n";
    let expected = Firing {
        command: "a=1 b%c \\n".to_owned(),
        input: "one\ntwo\n".to_owned(),
        environment: vec![("PATH".to_owned(), "/a:/b".to_owned())],
    };
    assert_eq!(firings(crontab), [expected]);
}
