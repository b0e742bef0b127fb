//! Programs of the system that prepare servers and ask them: run to their end.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where programs are looked for. Nothing of the caller's environment gets through:
/// `PGHOST` or a locale of its own would change what is asked and answered.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command with only what it needs in its environment, and no input.
#[expect(clippy::disallowed_methods, reason = "the one place where the stage starts programs")]
pub(super) fn command(words: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null()).current_dir("/");
    command
}

/// What a program that succeeds writes to its stdout, without the last line's end.
#[track_caller]
pub(super) fn answer(words: &[impl AsRef<OsStr>]) -> String {
    let call = words.iter().map(|word| word.as_ref().to_string_lossy()).collect::<Vec<_>>();
    let done = command(words)
        .output()
        .unwrap_or_else(|error| panic!("`{}` cannot be started: {error}", call.join(" ")));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "`{}` ended with {}: {said}", call.join(" "), done.status);
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

/// The folder of PostgreSQL's programs. Debian keeps all but `psql` out of `PATH`; the
/// newest version wins.
#[track_caller]
pub(super) fn postgres_folder() -> PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<(u32, PathBuf)> = installed
        .filter_map(|version| {
            let path = version.ok()?.path();
            Some((path.file_name()?.to_str()?.parse().ok()?, path.join("bin")))
        })
        .filter(|(_, folder)| is_server(folder))
        .collect();
    versions.sort();
    let newest = versions.pop().map(|(_, folder)| folder);
    newest.or_else(|| folders().find(|folder| is_server(folder))).unwrap_or_else(|| {
        panic!("PostgreSQL's server is neither in /usr/lib/postgresql nor in PATH: apt install postgresql")
    })
}

/// A program in `PATH`, or a sentence that names its package.
#[track_caller]
pub(super) fn program(name: &str, package: &str) -> PathBuf {
    folders()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("there is no {name} in PATH: apt install {package}"))
}

fn folders() -> impl Iterator<Item = PathBuf> {
    PATH.split(':').map(PathBuf::from)
}

fn is_server(folder: &Path) -> bool {
    ["initdb", "postgres", "psql"].iter().all(|name| folder.join(name).is_file())
}
