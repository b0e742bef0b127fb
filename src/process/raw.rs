//! The only unsafe code: what must run between fork and exec, and three calls
//! that no crate at hand wraps safely.
#![expect(unsafe_code, reason = "the one documented home of unsafe code")]

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, sigprocmask};
use nix::unistd::{Pid, getppid};

/// Whether a signal is ignored by this process, as `nohup` has it.
pub(super) fn is_ignored(signal: Signal) -> bool {
    let mut current = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the current one, into
    // memory that is large enough and zeroed.
    unsafe {
        libc::sigaction(signal as libc::c_int, std::ptr::null(), current.as_mut_ptr()) == 0
            && current.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// A descriptor of our own for one that we inherited by number.
///
/// # Errors
/// When no such descriptor is open.
pub fn duplicate(number: i32) -> io::Result<OwnedFd> {
    if number < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: the borrow ends with this statement, and a number that is not
    // open is answered by the kernel with EBADF.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    borrowed.try_clone_to_owned()
}

/// What the child does before it becomes the command.
pub(super) struct BeforeExec {
    /// Our own pid: if it is not the child's parent any more, we are gone.
    pub(super) parent: Pid,
    /// Signals that we handle and the command must not find handled.
    pub(super) handled: Vec<Signal>,
    /// The signal mask that we inherited.
    pub(super) mask: SigSet,
}

/// Prepares a command: it is told when this thread ends, and starts with the
/// signals as we found them.
pub(super) fn prepare(command: &mut Command, before: BeforeExec) {
    let work = move || {
        for signal in &before.handled {
            // SAFETY: restoring the default action installs no handler.
            unsafe { nix::sys::signal::signal(*signal, SigHandler::SigDfl) }?;
        }
        #[cfg(target_os = "linux")]
        {
            nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
            if getppid() != before.parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before.mask), None)?;
        Ok(())
    };
    // SAFETY: the closure only makes system calls that are async-signal-safe;
    // it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(work);
    }
}
