//! The unsafe code: what must run between fork and exec, and a few calls that no
//! crate at hand wraps safely. (What reads on for a daemon is in `drain`.)
#![expect(unsafe_code, reason = "the documented home of unsafe code")]

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, raise, sigaction, sigprocmask,
};
use nix::unistd::{ForkResult, Pid, fork};

/// The size of a variable whose value comes late, its name and a zero byte
/// included.
pub(super) const SLOT: usize = 64;

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

/// Everything that a child needs, made before it is forked: it must not
/// allocate.
pub(super) struct Blueprint<'a> {
    /// The paths to try, in order.
    pub(super) programs: &'a [CString],
    /// The arguments, the program's name first.
    pub(super) arguments: &'a [CString],
    /// The environment.
    pub(super) variables: &'a [CString],
    /// Its standard input, output and error, where they are not ours.
    pub(super) streams: [Option<BorrowedFd<'a>>; 3],
    /// Whether it leads a process group of its own.
    pub(super) leads_group: bool,
    /// Signals that we handle and the command must not find handled.
    pub(super) handled: &'a [Signal],
    /// Those among them that we found ignored.
    pub(super) ignored: &'a [Signal],
    /// The signal mask that we inherited.
    pub(super) mask: SigSet,
    /// Variables whose values come through the gate: slots of [`SLOT`] bytes,
    /// each to be filled with `NAME=value` and a zero byte.
    pub(super) late: &'a [Cell<u8>],
    /// Read until `late` is full; the end of the file ends the child.
    pub(super) gate: BorrowedFd<'a>,
    /// Our end of the gate, which the child must not hold.
    pub(super) gate_keeper: BorrowedFd<'a>,
    /// Where it writes the error number if it cannot become the command.
    pub(super) complaint: BorrowedFd<'a>,
}

/// Forks a child that waits at its gate and then becomes the command.
///
/// # Errors
/// When no process can be made.
pub(super) fn fork_child(blueprint: &Blueprint<'_>) -> io::Result<Pid> {
    let pointers = |words: &[CString]| -> Vec<*const c_char> {
        words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect()
    };
    let arguments = pointers(blueprint.arguments);
    let mut variables = pointers(blueprint.variables);
    let late = blueprint.late.chunks(SLOT).map(|slot| slot.as_ptr().cast::<c_char>());
    variables.splice(blueprint.variables.len()..blueprint.variables.len(), late);
    let parent = nix::unistd::getpid();
    // SAFETY: the child only makes system calls that are async-signal-safe,
    // on memory that was prepared before; it never returns from here.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let why = become_command(blueprint, parent, &arguments, &variables);
            // SAFETY: the descriptor is ours, and the number is four bytes.
            unsafe {
                let number = (why as i32).to_ne_bytes();
                libc::write(blueprint.complaint.as_raw_fd(), number.as_ptr().cast(), number.len());
                libc::_exit(127);
            }
        }
    }
}

/// Runs in the child. Returns only if it could not become the command.
fn become_command(
    blueprint: &Blueprint<'_>,
    parent: Pid,
    arguments: &[*const c_char],
    variables: &[*const c_char],
) -> Errno {
    match prepare_child(blueprint, parent) {
        Ok(()) => {}
        Err(why) => return why,
    }
    let mut answer = Errno::ENOENT;
    for program in blueprint.programs {
        // SAFETY: all strings end with a zero byte, both arrays with a null.
        unsafe {
            libc::execve(program.as_ptr(), arguments.as_ptr(), variables.as_ptr());
        }
        match Errno::last() {
            Errno::ENOENT | Errno::ENOTDIR => {}
            // Found but not allowed: another folder may have a better one.
            Errno::EACCES => answer = Errno::EACCES,
            other => return other,
        }
    }
    answer
}

fn prepare_child(blueprint: &Blueprint<'_>, parent: Pid) -> nix::Result<()> {
    if blueprint.leads_group {
        nix::unistd::setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    }
    act_by_default(blueprint.handled, blueprint.ignored);
    act_by_default(&[Signal::SIGPIPE], &[]);
    #[cfg(target_os = "linux")]
    {
        nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
        if nix::unistd::getppid() != parent {
            exit_quietly();
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    for (stream, onto) in blueprint.streams.iter().zip(libc::STDIN_FILENO..) {
        if let Some(stream) = stream {
            duplicate_onto(stream.as_raw_fd(), onto)?;
        }
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&blueprint.mask), None)?;
    wait_at_gate(blueprint);
    Ok(())
}

fn duplicate_onto(from: RawFd, onto: RawFd) -> nix::Result<()> {
    // SAFETY: both numbers are open, and replacing the second is the purpose.
    Errno::result(unsafe { libc::dup2(from, onto) }).map(drop)
}

/// Waits to be let through; the end of the file says that there is nothing to
/// do.
fn wait_at_gate(blueprint: &Blueprint<'_>) {
    let gate = blueprint.gate.as_raw_fd();
    // SAFETY: our own copy of the writing end must go, or the end of the file
    // would never come.
    unsafe {
        libc::close(blueprint.gate_keeper.as_raw_fd());
    }
    let mut rest = blueprint.late;
    loop {
        let mut byte = 0_u8;
        // The last byte opens the gate; those before it fill the slots.
        let (target, room) = match rest {
            [] => ((&raw mut byte).cast(), 1),
            slots => (slots.as_ptr().cast_mut().cast(), slots.len()),
        };
        // SAFETY: the target has that much room, and cells may be written to
        // through a shared reference.
        let count = unsafe { libc::read(gate, target, room) };
        match (usize::try_from(count), rest) {
            (Ok(0), _) => exit_quietly(),
            (Ok(_), []) => return,
            (Ok(count), slots) => rest = &slots[count.min(slots.len())..],
            (Err(_), _) if Errno::last() == Errno::EINTR => {}
            (Err(_), _) => exit_quietly(),
        }
    }
}

fn exit_quietly() -> ! {
    // SAFETY: ends the child without running anything of the parent's.
    unsafe { libc::_exit(0) }
}
