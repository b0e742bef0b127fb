//! Keeps reading for a daemon that a command has left behind.
//!
//! Such a daemon still has our pipe as its standard output. We do not stay for
//! it; but if nobody read the pipe, its next write would end it, as it would
//! not have without us. So a process of our own stays: in a session of its own,
//! with nothing open but the pipes, until their other ends are gone.
#![expect(unsafe_code, reason = "what runs between fork and the end must be written by hand")]

use std::os::fd::{AsRawFd as _, BorrowedFd};

use nix::libc::{self, c_int};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, sigprocmask};
use nix::unistd::{ForkResult, fork, setsid};

/// The number of the first descriptor after the standard ones.
const FIRST: c_int = 3;

/// How many descriptors are looked at; more than that are hardly open.
const MOST: libc::rlim_t = 65_536;

/// Leaves a process behind that reads these pipes and throws away what comes.
/// Where none can be made, the daemon is left to its fate.
pub(super) fn leave_behind(pipes: &[BorrowedFd<'_>]) {
    // SAFETY: the child only makes system calls that are async-signal-safe and
    // never returns.
    if let Ok(ForkResult::Child) = unsafe { fork() } {
        drain(pipes);
    }
}

fn drain(pipes: &[BorrowedFd<'_>]) -> ! {
    let _ = setsid();
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
        // SAFETY: the default action is no handler.
        let _ = unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) };
    }
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    // SAFETY: plain system calls on numbers, in a process that has no other
    // thread and ends here; nothing in it owns what is closed.
    unsafe {
        libc::chdir(c"/".as_ptr());
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..FIRST {
            libc::dup2(null, standard);
        }
        let mut kept = [-1; 2];
        for (place, pipe) in kept.iter_mut().zip(pipes) {
            *place = pipe.as_raw_fd();
        }
        close_all_but(kept);
        let mut fds = kept.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        let mut buffer = [0_u8; 4096];
        while fds.iter().any(|polled| polled.fd >= 0) {
            if libc::poll(fds.as_mut_ptr(), 2, -1) < 0 {
                continue;
            }
            for polled in &mut fds {
                let ready = polled.fd >= 0 && polled.revents != 0;
                if ready && libc::read(polled.fd, buffer.as_mut_ptr().cast(), buffer.len()) <= 0 {
                    polled.fd = -1;
                }
            }
        }
        libc::_exit(0)
    }
}

/// Closes what may be open but the standard streams.
#[cfg(feature = "otel")]
pub(super) fn close_all() {
    close_all_but([-1; 2]);
}

/// Closes what may be open, the store and its lock file above all.
fn close_all_but(kept: [c_int; 2]) {
    #[cfg(target_os = "linux")]
    {
        let mut bounds = kept;
        bounds.sort_unstable();
        let mut from = FIRST;
        let mut all = true;
        for bound in bounds.into_iter().filter(|bound| *bound >= FIRST).chain([c_int::MAX]) {
            if bound > from {
                // SAFETY: see the caller.
                all &= unsafe { libc::syscall(libc::SYS_close_range, from, bound - 1, 0) } == 0;
            }
            from = bound.saturating_add(1);
        }
        if all {
            return;
        }
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: see the caller; the call writes the limit.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        let end = c_int::try_from(limit.rlim_cur.min(MOST)).unwrap_or(FIRST);
        for fd in (FIRST..end).filter(|fd| !kept.contains(fd)) {
            libc::close(fd);
        }
    }
}
