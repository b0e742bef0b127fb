//! The unsafe code: a few calls that no crate at hand wraps safely, and in `child`
//! what must run between a child's start and its exec. (What reads on for a daemon
//! is in `drain`.)
#![expect(unsafe_code, reason = "the documented home of unsafe code")]

pub(super) mod child;

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, IntoRawFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};
use nix::unistd::Pid;

/// Whether a signal is ignored by this process, as `nohup` has it.
pub(super) fn is_ignored(signal: Signal) -> bool {
    let mut current = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the current one, into
    // memory that is large enough and zeroed.
    unsafe {
        libc::sigaction(signal as c_int, ptr::null(), current.as_mut_ptr()) == 0
            && current.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Gives signals their default action back, or ignores them again.
pub(super) fn act_by_default(signals: &[Signal], ignored: &[Signal]) {
    for signal in signals {
        let action = if ignored.contains(signal) { SigHandler::SigIgn } else { SigHandler::SigDfl };
        // SAFETY: neither action is a handler.
        let _ = unsafe { nix::sys::signal::signal(*signal, action) };
    }
}

/// Does to this process what a signal does by default, and returns where that
/// does not end it.
pub(super) fn act_once(signal: Signal) {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default action is no handler, and the one that is put back
    // was there before.
    unsafe {
        if let Ok(ours) = sigaction(signal, &default) {
            let _ = raise(signal);
            let _ = sigaction(signal, &ours);
        }
    }
}

/// Lets a write beyond the file size limit fail instead of ending us, so that
/// it can be told. Says whether it was so already.
pub(super) fn survive_file_size_limit() -> bool {
    let already = is_ignored(Signal::SIGXFSZ);
    // SAFETY: ignoring installs no handler.
    let _ = unsafe { nix::sys::signal::signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
    already
}

/// Lets writing to a pipe that nobody reads fail instead of ending us.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn survive_broken_pipes() {
    // SAFETY: ignoring installs no handler.
    let _ = unsafe { nix::sys::signal::signal(Signal::SIGPIPE, SigHandler::SigIgn) };
}

/// Opens `/dev/null` in place of every standard stream that is closed.
///
/// # Errors
/// When that cannot be opened.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn open_standard_streams() -> io::Result<()> {
    for stream in libc::STDIN_FILENO..=libc::STDERR_FILENO {
        // SAFETY: asking for the flags of any number is harmless.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } < 0 {
            let file = File::options().read(true).write(true).open("/dev/null")?;
            // The lowest number that is free is this one, and the next program gets it.
            // SAFETY: the file is open, and the number is to stay so.
            Errno::result(unsafe { libc::fcntl(file.into_raw_fd(), libc::F_SETFD, 0) })?;
        }
    }
    Ok(())
}

/// Has all threads share one heap: ours are few and short-lived, and setting a
/// heap up for each takes longer than they do.
pub(super) fn share_one_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call sets a number.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// A descriptor of our own for one that we inherited by number.
///
/// # Errors
/// When no such descriptor is open.
pub fn duplicate(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes any number and answers one that is not open with
    // an error; what it returns is a new descriptor that nobody else owns.
    unsafe {
        let own = libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3);
        if own < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(own)) }
    }
}

/// Begins to write a part of a file to its disk, or waits until it is there.
/// Nothing is promised against power loss; where there is no such call, nothing
/// happens.
///
/// # Errors
/// What became of the writing. The kernel tells it once: no later sync will.
pub(super) fn write_back(file: &File, part: Range<u64>, wait: Wait) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let flags = match wait {
            Wait::No => libc::SYNC_FILE_RANGE_WRITE,
            Wait::Yes => {
                libc::SYNC_FILE_RANGE_WAIT_BEFORE
                    | libc::SYNC_FILE_RANGE_WRITE
                    | libc::SYNC_FILE_RANGE_WAIT_AFTER
            }
        };
        let offset = |at: u64| libc::off64_t::try_from(at).unwrap_or(libc::off64_t::MAX);
        let (start, length) = (offset(part.start), offset(part.end - part.start));
        // A length of zero would mean the whole rest of the file.
        if length == 0 {
            return Ok(());
        }
        // SAFETY: the descriptor is borrowed, and the rest are numbers.
        let answer = unsafe { libc::sync_file_range(file.as_raw_fd(), start, length, flags) };
        match Errno::result(answer) {
            Ok(_) | Err(Errno::ENOSYS | Errno::EINVAL | Errno::ESPIPE) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, part, wait);
        Ok(())
    }
}

/// How many bytes a pipe holds for its reader.
pub(super) fn waiting_bytes(pipe: impl AsFd) -> usize {
    let mut count: c_int = 0;
    // SAFETY: the request writes one int, and the descriptor is borrowed.
    let answer = unsafe { libc::ioctl(pipe.as_fd().as_raw_fd(), libc::FIONREAD, &raw mut count) };
    if answer < 0 { 0 } else { usize::try_from(count).unwrap_or(0) }
}

/// Reaps a child if it has ended. Unlike the safe wrappers it knows every
/// signal number, real-time ones too.
///
/// # Errors
/// When it is no child of ours.
pub(super) fn reap(pid: Pid, wait: Wait) -> io::Result<Option<ExitStatus>> {
    let options = match wait {
        Wait::No => libc::WNOHANG,
        Wait::Yes => 0,
    };
    loop {
        let mut status: c_int = 0;
        // SAFETY: the call writes one int.
        match unsafe { libc::waitpid(pid.as_raw(), &raw mut status, options) } {
            0 => return Ok(None),
            -1 if Errno::last() == Errno::EINTR => {}
            -1 => return Err(io::Error::last_os_error()),
            _ => return Ok(Some(ExitStatus::from_raw(status))),
        }
    }
}

/// Whether to wait for what is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Look only.
    No,
    /// Wait.
    Yes,
}
