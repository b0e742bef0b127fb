//! Becomes a command, where there is nothing left for us to do.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::execv;

use super::launch::{NotStarted, candidates, classify, strings};
use super::{raw, signals};

/// Becomes the command, with all that we have inherited; `path` is where programs are
/// looked for.
///
/// # Errors
/// [`NotStarted`], told apart as a shell does.
pub fn become_command(argv: &[OsString], path: Option<&OsStr>) -> Result<Infallible, NotStarted> {
    let program = argv.first().map_or(OsStr::new(""), |word| word);
    let arguments = strings(argv.iter().map(|word| word.as_bytes().to_vec()));
    let (Ok(arguments), Ok(programs)) = (arguments, candidates(program, path)) else {
        return Err(classify(io::ErrorKind::InvalidInput.into()));
    };
    // As a child of ours would find them.
    raw::act_by_default(&[Signal::SIGPIPE], &[]);
    signals::give_back_file_size_limit();
    let mut why = Errno::ENOENT;
    for program in programs {
        let Err(error) = execv(&program, &arguments);
        match error {
            Errno::ENOENT | Errno::ENOTDIR => {}
            Errno::EACCES => why = error,
            other => return Err(classify(other.into())),
        }
    }
    Err(classify(why.into()))
}
