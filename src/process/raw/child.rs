//! What runs in a child from its start to its exec.
//!
//! The child shares our memory until its exec, as that of `posix_spawn(3)` does,
//! but we go on meanwhile [measured: a fork takes 0.33 ms, and every page that is
//! written to afterwards is copied; this takes 0.05]. So the child allocates
//! nothing, has a stack of its own, and makes the calls that may fail without
//! libc, whose `errno` is ours too. Where such calls cannot be made it is forked.

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
#[path = "child/forked.rs"]
mod calls;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#[path = "child/sharing.rs"]
mod calls;

use std::cell::Cell;
use std::ffi::{CString, c_char};
use std::os::fd::RawFd;
use std::{io, ptr};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::unistd::{ForkResult, Pid, fork};

use super::{Wait, act_by_default, reap};
use calls::begin;

/// The size of a variable whose value comes late, its name and a zero byte
/// included.
pub(in crate::process) const SLOT: usize = 64;

/// Everything that a child needs. Descriptors are numbers: the child has a table of
/// its own, in which they stay open.
pub(in crate::process) struct Blueprint {
    /// The paths to try, in order.
    pub(in crate::process) programs: Vec<CString>,
    /// The arguments, the program's name first.
    pub(in crate::process) arguments: Vec<CString>,
    /// The environment.
    pub(in crate::process) variables: Vec<CString>,
    /// Its standard input, output and error, where they are not ours.
    pub(in crate::process) streams: [Option<RawFd>; 3],
    /// Whether it leads a process group of its own.
    pub(in crate::process) leads_group: bool,
    /// Signals that we handle and the command must not find handled.
    pub(in crate::process) handled: Vec<Signal>,
    /// Those among them that we found ignored.
    pub(in crate::process) ignored: Vec<Signal>,
    /// The signal mask that we inherited.
    pub(in crate::process) mask: SigSet,
    /// Variables whose values come through the gate: slots of [`SLOT`] bytes,
    /// each to be filled with `NAME=value` and a zero byte.
    pub(in crate::process) late: Vec<Cell<u8>>,
    /// Read until `late` is full; the end of the file ends the child.
    pub(in crate::process) gate: RawFd,
    /// Our end of the gate, which the child must not hold.
    pub(in crate::process) gate_keeper: RawFd,
    /// Where it writes the error number if it cannot become the command.
    pub(in crate::process) complaint: RawFd,
}

/// The memory that a child uses until its exec.
pub(in crate::process) struct Cradle {
    plan: Blueprint,
    arguments: Vec<*const c_char>,
    variables: Vec<*const c_char>,
    stack: Stack,
}

impl Cradle {
    /// Makes ready what a child needs.
    pub(in crate::process) fn new(plan: Blueprint) -> Box<Self> {
        let pointers = |words: &[CString]| -> Vec<*const c_char> {
            words.iter().map(|word| word.as_ptr()).collect()
        };
        let mut arguments = pointers(&plan.arguments);
        arguments.push(ptr::null());
        let mut variables = pointers(&plan.variables);
        variables.extend(plan.late.chunks(SLOT).map(|slot| slot.as_ptr().cast::<c_char>()));
        variables.push(ptr::null());
        Box::new(Self { plan, arguments, variables, stack: Stack::new() })
    }

    /// Starts a child that waits at its gate and then becomes the command. Signals
    /// that we handle must be held back until this returns.
    ///
    /// # Errors
    /// When no process can be made.
    pub(in crate::process) fn start(self: Box<Self>) -> io::Result<Child> {
        let cradle = Box::into_raw(self);
        // SAFETY: the cradle stays where it is, and is not freed before the child has
        // ended.
        match unsafe { begin(cradle) } {
            Ok(pid) => Ok(Child { pid, cradle }),
            Err(why) => {
                // SAFETY: there is no child, so it is ours alone.
                drop(unsafe { Box::from_raw(cradle) });
                Err(why)
            }
        }
    }
}

/// A child, and its cradle, which is kept for ever unless the child is known to have
/// ended.
#[derive(Debug)]
pub(in crate::process) struct Child {
    pid: Pid,
    cradle: *mut Cradle,
}

impl Child {
    pub(in crate::process) fn pid(&self) -> Pid {
        self.pid
    }

    /// Ends it, wherever it is, and reaps it.
    ///
    /// # Errors
    /// When it is no child of ours.
    pub(in crate::process) fn end(self) -> io::Result<()> {
        let _ = kill(self.pid, Signal::SIGKILL);
        reap(self.pid, Wait::Yes)?;
        // SAFETY: the child has ended, and whoever ends it gives its cradle up.
        drop(unsafe { Box::from_raw(self.cradle) });
        Ok(())
    }
}

/// Enough for the few calls that the child makes; the kernel needs none of it.
const STACK: usize = 32 << 10;

/// A child's stack; its memory is never looked at by anybody else.
struct Stack(Vec<u128>);

impl Stack {
    fn new() -> Self {
        Self(Vec::with_capacity(STACK / size_of::<u128>()))
    }
}

/// Starts a child that is a copy of us.
///
/// # Safety
/// The cradle must be whole.
unsafe fn fork_off(cradle: *mut Cradle) -> io::Result<Pid> {
    // SAFETY: the child only makes calls that are async-signal-safe, on memory that
    // was prepared before; it never returns from here.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        // SAFETY: it is whole, and the copy is the child's alone.
        ForkResult::Child => live(unsafe { &*cradle }),
    }
}

/// The child's whole life.
fn live(cradle: &Cradle) -> ! {
    let why = become_command(cradle);
    let number = (why as i32).to_ne_bytes();
    calls::write(cradle.plan.complaint, &number);
    calls::exit(127)
}

/// Returns only if it could not become the command.
fn become_command(cradle: &Cradle) -> Errno {
    if let Err(why) = prepare(&cradle.plan) {
        return why;
    }
    let mut answer = Errno::ENOENT;
    for program in &cradle.plan.programs {
        // SAFETY: all strings end with a zero byte, both arrays with a null.
        let why = unsafe { calls::execve(program, &cradle.arguments, &cradle.variables) };
        match why {
            Errno::ENOENT | Errno::ENOTDIR => {}
            // Found but not allowed: another folder may have a better one.
            Errno::EACCES => answer = Errno::EACCES,
            other => return other,
        }
    }
    answer
}

fn prepare(plan: &Blueprint) -> nix::Result<()> {
    if plan.leads_group {
        nix::unistd::setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    }
    act_by_default(&plan.handled, &plan.ignored);
    act_by_default(&[Signal::SIGPIPE], &[]);
    // If we are gone already, nobody opens the gate.
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
    for (stream, onto) in plan.streams.iter().zip(libc::STDIN_FILENO..) {
        if let Some(stream) = stream {
            // SAFETY: both numbers are open, and replacing the second is the purpose.
            Errno::result(unsafe { libc::dup2(*stream, onto) })?;
        }
    }
    wait_at_gate(plan)?;
    // Not sooner: before Linux 5.16 a child that dumps its core takes those with it
    // who share its memory.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&plan.mask), None)
}

/// Waits to be let through; the end of the file says that there is nothing to
/// do.
fn wait_at_gate(plan: &Blueprint) -> nix::Result<()> {
    // SAFETY: our own copy of the writing end must go, or the end of the file
    // would never come.
    unsafe {
        libc::close(plan.gate_keeper);
    }
    let mut rest = &*plan.late;
    loop {
        // The last byte opens the gate; those before it fill the slots.
        let byte = [Cell::new(0)];
        let target = if rest.is_empty() { &byte } else { rest };
        match (calls::read(plan.gate, target), rest) {
            (Ok(0), _) => calls::exit(0),
            (Ok(_), []) => return Ok(()),
            (Ok(count), slots) => rest = &slots[count.min(slots.len())..],
            (Err(Errno::EINTR), _) => {}
            (Err(why), _) => return Err(why),
        }
    }
}
