//! Commands that stand in for those that a document names, and the shell that calls
//! them as a person's would.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::call::{Call, input};
use super::scene::{BIN, Scene};

impl Scene {
    /// A folder of commands, the program under test among them.
    pub(crate) fn bin(&self) -> PathBuf {
        let folder = self.root().join("bin");
        if !folder.exists() {
            fs::create_dir(&folder).expect("a folder can be made");
            symlink(BIN, folder.join("doubletap")).expect("a link can be made");
        }
        folder
    }

    /// A shell script as a command that is found by its name.
    pub(crate) fn stand_in(&self, name: &str, script: &str) {
        self.executable(&self.bin().join(name), script);
    }

    /// A shell script as a file that can be executed.
    ///
    /// Another process writes it: one that we start at the same moment would inherit
    /// the open file, and what is open for writing cannot be executed.
    pub(crate) fn executable(&self, path: &Path, script: &str) {
        let text = if script.starts_with("#!") {
            script.to_owned()
        } else {
            format!("#!/bin/sh\n{script}\n")
        };
        let write = self.call("").program("sh".as_ref());
        write
            .arg("-c")
            .arg(r#"cat >"$1" && chmod 755 "$1""#)
            .arg("sh")
            .arg(path)
            .stdin(input(self, text.as_bytes()))
            .run();
    }

    /// A script for the shell, which finds the stand-ins before anything else.
    pub(crate) fn shell(&self, script: &str) -> Call<'_> {
        let call = self.call("").program("sh".as_ref()).arg("-c").arg(script);
        call.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.bin().display()))
    }
}
