//! A child that shares our memory: its start, and calls that leave `errno` alone.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;
use syscalls::{Sysno, syscall};

use super::{Cradle, fork_off, live};

/// Starts the child; an emulator that cannot share memory so makes a copy of us.
///
/// # Safety
/// The cradle must stay as it is until the child has become the command or has ended.
pub(super) unsafe fn begin(cradle: *mut Cradle) -> io::Result<Pid> {
    // SAFETY: there is no child yet that could use it.
    let top = unsafe { &mut *cradle }.stack.0.spare_capacity_mut().as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::SIGCHLD;
    // SAFETY: the stack is the child's alone and its end is aligned; the child gets a
    // table of descriptors and of signal handlers of its own.
    let pid = unsafe { libc::clone(enter, top.cast(), flags, cradle.cast()) };
    match Errno::result(pid) {
        Ok(pid) => Ok(Pid::from_raw(pid)),
        // SAFETY: the caller's.
        Err(Errno::EINVAL | Errno::ENOSYS) => unsafe { fork_off(cradle) },
        Err(why) => Err(why.into()),
    }
}

extern "C" fn enter(cradle: *mut c_void) -> c_int {
    // SAFETY: it is what `begin` was given, and nobody changes it meanwhile.
    live(unsafe { &*cradle.cast_const().cast::<Cradle>() })
}

/// Becomes a program; the answer is why not.
///
/// # Safety
/// Both arrays must end with a null, and the strings in them with a zero byte.
pub(super) unsafe fn execve(
    program: &CStr,
    arguments: &[*const c_char],
    variables: &[*const c_char],
) -> Errno {
    // SAFETY: the caller's.
    let answer = unsafe {
        syscall!(Sysno::execve, program.as_ptr(), arguments.as_ptr(), variables.as_ptr())
    };
    answer.map_or_else(errno, |_| Errno::UnknownErrno)
}

pub(super) fn read(from: RawFd, into: &[Cell<u8>]) -> Result<usize, Errno> {
    // SAFETY: there is that much room, and cells may be written to through a shared
    // reference.
    unsafe { syscall!(Sysno::read, from, into.as_ptr(), into.len()) }.map_err(errno)
}

pub(super) fn write(to: RawFd, bytes: &[u8]) {
    // SAFETY: there are that many bytes.
    let _ = unsafe { syscall!(Sysno::write, to, bytes.as_ptr(), bytes.len()) };
}

pub(super) fn exit(status: c_int) -> ! {
    loop {
        // SAFETY: the call ends the child, and nothing of the parent's is run.
        let _ = unsafe { syscall!(Sysno::exit_group, status) };
    }
}

fn errno(why: syscalls::Errno) -> Errno {
    Errno::from_raw(why.into_raw())
}
