//! Leaves a process of our own behind for a last thing that nobody is to wait for.
//!
//! It is the same program again, started anew: what threads of ours were at when we
//! end is nothing to it. It learns what to do from its standard input.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{alarm, dup2_stdin, setsid};

use super::{drain, raw};

/// Starts it without these variables of ours, and does not look after it: whoever reaps
/// orphans reaps it.
///
/// # Errors
/// When it cannot be started.
#[expect(clippy::disallowed_methods, reason = "no command, but we ourselves")]
pub fn leave_behind(
    program: &Path,
    verb: &str,
    without: impl Iterator<Item = OsString>,
    what: &[u8],
) -> io::Result<()> {
    let mut command = Command::new(program);
    for name in without {
        command.env_remove(name);
    }
    let mut child = command
        .arg0("doubletap")
        .arg(verb)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(what))
}

/// Becomes a process that nobody waits for, and reads what it is to do. It holds nothing
/// open that others may wait for, and the kernel ends it after `limit`, whatever it hangs in.
/// Until then it goes on: who ends a service ends its processes, this one too.
///
/// # Errors
/// When nothing can be read.
pub fn detach(limit: Duration) -> io::Result<Vec<u8>> {
    // It leads a group only where somebody has started it by hand.
    let _ = setsid();
    let told = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];
    raw::act_by_default(&told, &told);
    raw::act_by_default(&[Signal::SIGALRM], &[]);
    SigSet::empty().thread_set_mask()?;
    end_after(limit);
    drain::close_all();
    let mut what = Vec::new();
    io::stdin().lock().read_to_end(&mut what)?;
    dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok(what)
}

/// Has the kernel end this process after `limit`, and not when it had been told before.
pub fn end_after(limit: Duration) {
    alarm::set(u32::try_from(limit.as_secs()).unwrap_or(u32::MAX));
}
