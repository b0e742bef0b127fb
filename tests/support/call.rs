//! One call of the program: built word by word, checked by default.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::Signal;

use super::expect::{Done, End, Expected, Text};
use super::running::Running;
use super::scene::{BIN, Scene};
use super::terminal::Terminal;

/// A call to be made. Unless told otherwise it must be silent and end with 0.
#[must_use = "a call does nothing until it is run or spawned"]
pub(crate) struct Call<'scene> {
    scene: &'scene Scene,
    through: Vec<OsString>,
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    stdin: Option<File>,
    stdout: Option<File>,
    merged: bool,
    terminal: Option<&'scene Terminal>,
    expected: Expected,
}

impl<'scene> Call<'scene> {
    /// A call whose arguments are the words of a line.
    pub(crate) fn new(scene: &'scene Scene, words: &str) -> Self {
        Self {
            scene,
            through: Vec::new(),
            program: BIN.into(),
            arguments: words.split_whitespace().map(OsString::from).collect(),
            environment: Vec::new(),
            stdin: None,
            stdout: None,
            merged: false,
            terminal: None,
            expected: Expected::default(),
        }
    }

    /// One more argument, exactly as given.
    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// `--` and the command.
    pub(crate) fn command<A: Into<OsString>>(self, words: impl IntoIterator<Item = A>) -> Self {
        words.into_iter().fold(self.arg("--"), Call::arg)
    }

    /// `--` and a command for the shell.
    pub(crate) fn sh(self, script: &str) -> Self {
        self.command(["sh", "-c", script])
    }

    /// Starts the program through other words, as `unshare` or `sh -c` would.
    pub(crate) fn through<A: Into<OsString>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        self.through.extend(words.into_iter().map(Into::into));
        self
    }

    /// Starts the program from a shell script as `"$@"`.
    pub(crate) fn through_sh(self, script: &str) -> Self {
        self.through(["sh", "-c", script, "sh"])
    }

    /// Another copy of the program.
    pub(crate) fn program(mut self, path: &Path) -> Self {
        self.program = path.into();
        self
    }

    /// Sets a variable of its environment.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    /// Removes a variable from its environment.
    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// Standard input from an open file. Otherwise it is `/dev/null`.
    pub(crate) fn stdin(mut self, file: File) -> Self {
        self.stdin = Some(file);
        self
    }

    /// Standard output to an open file of the test's own, which it looks at itself.
    pub(crate) fn stdout_into(mut self, file: File) -> Self {
        self.stdout = Some(file);
        self
    }

    /// Both streams into one, as `2>&1` does; expected as stdout.
    pub(crate) fn merged(mut self) -> Self {
        self.merged = true;
        self
    }

    /// Starts it at a terminal, as the leader of the terminal's session. What it
    /// writes is on the screen.
    pub(crate) fn at(mut self, terminal: &'scene Terminal) -> Self {
        self.terminal = Some(terminal);
        self
    }

    /// Expects this exit status.
    pub(crate) fn status(mut self, status: i32) -> Self {
        self.expected.end = End::Status(status);
        self
    }

    /// Expects the wrapper to die of this signal.
    pub(crate) fn dies_of(mut self, signal: Signal) -> Self {
        self.expected.end = End::Signal(signal);
        self
    }

    /// Expects exactly these bytes on stdout.
    pub(crate) fn stdout(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.expected.stdout = Text::Exactly(bytes.as_ref().to_vec());
        self
    }

    /// Expects exactly these bytes on stderr.
    pub(crate) fn stderr(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.expected.stderr = Text::Exactly(bytes.as_ref().to_vec());
        self
    }

    /// Leaves stdout to the test.
    pub(crate) fn any_stdout(mut self) -> Self {
        self.expected.stdout = Text::Unchecked;
        self
    }

    /// Leaves stderr to the test.
    pub(crate) fn any_stderr(mut self) -> Self {
        self.expected.stderr = Text::Unchecked;
        self
    }

    /// Expects one line of doubletap's own on stderr, with each of these words.
    pub(crate) fn note(mut self, words: &[&str]) -> Self {
        self.expected.stderr = Text::Note(words.iter().map(ToString::to_string).collect());
        self
    }

    /// Expects a few lines of doubletap's own on stderr, with each of these words.
    pub(crate) fn notes(mut self, words: &[&str]) -> Self {
        self.expected.stderr = Text::Notes(words.iter().map(ToString::to_string).collect());
        self
    }

    /// Leaves stdout, stderr and the status to the test.
    pub(crate) fn unchecked(mut self) -> Self {
        self.expected =
            Expected { end: End::Unchecked, stdout: Text::Unchecked, stderr: Text::Unchecked };
        self
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn run(self) -> Done {
        self.spawn().finish()
    }

    /// Starts it.
    ///
    /// Streams are files, so that a process left behind holds nobody up. `setsid`
    /// takes the terminal away: with one, `doubletap` shares its process group with
    /// the command, and these sentences would depend on who starts the tests. Those
    /// that are about a terminal have one of their own.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "the one place where tests start processes")]
    pub(crate) fn spawn(self) -> Running {
        let (stdout, stderr) = self.scene.next_outputs();
        let out = File::create(&stdout).expect("a file for stdout can be made");
        let err = File::create(&stderr).expect("a file for stderr can be made");
        let mut words = self.through;
        words.push(self.program);
        words.extend(self.arguments);
        let call = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");

        let mut command = Command::new("setsid");
        command.args(self.terminal.map(|_| "--ctty")).args(&words).current_dir(self.scene.work());
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            if name_text.starts_with("DOUBLETAP_") || name_text.starts_with("XDG_") {
                command.env_remove(&name);
            }
        }
        command
            .env("HOME", self.scene.home())
            .env("DOUBLETAP_STORE", self.scene.place())
            .env("BIN", BIN)
            .env("OUT", &stdout)
            .env("STATE", self.scene.state_folder());
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(self.stdin.map_or_else(Stdio::null, Stdio::from));
        command.stderr(if self.merged {
            out.try_clone().expect("a file can be duplicated")
        } else {
            err
        });
        command.stdout(self.stdout.unwrap_or(out));
        if let Some(terminal) = self.terminal {
            command.stdin(terminal.stream()).stdout(terminal.stream()).stderr(terminal.stream());
        }
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("`setsid {call}` cannot be started: {error}"));
        Running { child, call, expected: self.expected, stdout, stderr }
    }
}

/// A pipe that takes a page at the most, and its reader.
pub(crate) fn narrow_pipe() -> (PipeReader, File) {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    fcntl(&writer, FcntlArg::F_SETPIPE_SZ(1)).expect("a pipe can be made narrow");
    (reader, File::from(OwnedFd::from(writer)))
}

/// A file with this content, open at its beginning.
pub(crate) fn input(scene: &Scene, content: &[u8]) -> File {
    let (path, _) = scene.next_outputs();
    fs::write(&path, content).expect("an input file can be written");
    File::open(&path).expect("an input file can be opened")
}
