//! Becomes a command, where there is nothing left for us to do.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::execve;

use super::launch::{Environment, NotStarted, Plan, candidates, classify, strings};
use super::{raw, signals};

/// Becomes the command, with all that we have inherited.
///
/// # Errors
/// [`NotStarted`], told apart as a shell does.
pub fn become_command(
    plan: Plan<'_>,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Infallible, NotStarted> {
    let refused = |_| classify(io::ErrorKind::InvalidInput.into());
    let program = plan.argv.first().map_or(OsStr::new(""), |word| word);
    let arguments =
        strings(plan.argv.iter().map(|word| word.as_bytes().to_vec())).map_err(refused)?;
    let environment = Environment::new(environment, &plan).map_err(refused)?;
    let programs = candidates(program, environment.path.as_deref()).map_err(refused)?;
    // As a child of ours would find them.
    raw::act_by_default(&[Signal::SIGPIPE], &[]);
    signals::give_back_file_size_limit();
    let mut why = Errno::ENOENT;
    for program in programs {
        let Err(error) = execve(&program, &arguments, &environment.variables);
        match error {
            Errno::ENOENT | Errno::ENOTDIR => {}
            Errno::EACCES => why = error,
            other => return Err(classify(other.into())),
        }
    }
    Err(classify(why.into()))
}
