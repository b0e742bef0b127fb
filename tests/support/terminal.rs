//! A terminal of a test's own, with a person before it: keys, a screen, a window.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use nix::fcntl::OFlag;
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};

use super::poll::until;

/// The person's end of a pseudo-terminal, and its file. Dropping it hangs up.
pub(crate) struct Terminal {
    person: PtyMaster,
    name: String,
    file: File,
    seen: Vec<u8>,
}

impl Terminal {
    /// A terminal that nobody works at yet, with 24 rows of 80 columns.
    ///
    /// No other test's child inherits an end of it: it would not hang up then.
    pub(crate) fn new() -> Self {
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let person = posix_openpt(flags).expect("a pseudo-terminal can be made");
        grantpt(&person).expect("its other end can be ours");
        unlockpt(&person).expect("its other end can be unlocked");
        let name = ptsname_r(&person).expect("its other end has a name");
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(OFlag::O_NOCTTY.bits());
        let file = options.open(&name).expect("its other end can be opened");
        let terminal = Self { person, name, file, seen: Vec::new() };
        terminal.stty(&["rows", "24", "columns", "80"]);
        terminal
    }

    /// The terminal as a stream of a process.
    pub(super) fn stream(&self) -> Stdio {
        self.file.try_clone().expect("a file can be duplicated").into()
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.person.write_all(keys.as_bytes()).expect("a terminal takes keys");
    }

    /// Gives the window another height.
    pub(crate) fn resize(&self, rows: u16) {
        self.stty(&["rows", &rows.to_string()]);
    }

    /// Each number that is set is a change of its own.
    #[expect(clippy::disallowed_methods, reason = "no safe call sets the size of a terminal")]
    fn stty(&self, words: &[&str]) {
        let status = Command::new("stty").args(["-F", &self.name]).args(words).status();
        assert!(status.expect("stty can be started").success(), "the size can be set");
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn await_text(&mut self, text: &str) {
        until(&format!("{text:?} is on the screen"), || self.screen().contains(text));
    }

    /// All that was ever on the screen.
    pub(crate) fn screen(&mut self) -> String {
        let mut bytes = [0; 4096];
        // Nothing there is an error as well, and so is nobody there any more.
        while let Ok(count @ 1..) = self.person.read(&mut bytes) {
            self.seen.extend_from_slice(&bytes[..count]);
        }
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Goes away, as a closed window or a lost connection does.
    pub(crate) fn hang_up(self) {
        drop(self);
    }
}
