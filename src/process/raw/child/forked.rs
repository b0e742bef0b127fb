//! A child that is a copy of us: its start, and its calls by way of libc.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::libc;

pub(super) use super::fork_off as begin;

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
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
    Errno::last()
}

pub(super) fn read(from: RawFd, into: &[Cell<u8>]) -> Result<usize, Errno> {
    // SAFETY: there is that much room, and cells may be written to through a shared
    // reference.
    let count = unsafe { libc::read(from, into.as_ptr().cast_mut().cast(), into.len()) };
    usize::try_from(count).map_err(|_| Errno::last())
}

pub(super) fn write(to: RawFd, bytes: &[u8]) {
    // SAFETY: there are that many bytes.
    unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) };
}

pub(super) fn exit(status: c_int) -> ! {
    // SAFETY: ends the child without running anything of the parent's.
    unsafe { libc::_exit(status) }
}
