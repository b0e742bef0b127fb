//! The signals that we are sent, as values to be waited for.
//!
//! Policy (DESIGN section 6). HUP, INT, QUIT, TERM, USR1, USR2, WINCH, CONT and
//! TSTP go on to the command; when TSTP has stopped it, we stop too. One that we
//! found ignored, as under `nohup`, stays ignored for both. One that the terminal
//! has sent to the whole foreground group is not sent again to a command that
//! shares it. (What a process sends to a whole group looks as if it was sent to
//! us alone, and goes on.) The four that tell a program to end are remembered:
//! after our bookkeeping we die of them too, unless the command chose an exit
//! status of its own.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{getpid, getsid};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

use super::raw;

/// What goes on to the command.
const FORWARDED: [Signal; 9] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGCONT,
    Signal::SIGTSTP,
];

/// Who sent a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The terminal, to its whole foreground group.
    Terminal,
    /// Some process, to us.
    Process,
}

/// A signal that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A child may have ended.
    Child,
    /// One to be handed on.
    Forward(Signal, Sender),
}

/// The signals of this process, from now on waited for instead of acted upon.
pub struct Signals {
    delivery: SignalDelivery<UnixStream, WithOrigin>,
    handled: Vec<Signal>,
    /// Those among them that we found ignored: a child's end must be heard of.
    ignored: Vec<Signal>,
    inherited: SigSet,
    /// One that tells us to end, and that nobody has acted upon yet.
    remembered: Option<Signal>,
    /// Set when such a one comes in, where somebody looks.
    told: Option<Arc<AtomicBool>>,
}

impl Signals {
    /// Takes them over.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take_over() -> io::Result<Self> {
        let inherited = SigSet::thread_get_mask()?;
        let (read, write) = UnixStream::pair()?;
        let mut ignored = Vec::new();
        if raw::is_ignored(Signal::SIGCHLD) {
            ignored.push(Signal::SIGCHLD);
        }
        if FILE_SIZE_LIMIT_WAS_IGNORED.load(Ordering::Relaxed) {
            ignored.push(Signal::SIGXFSZ);
        }
        // A caller may have it blocked, and we would never hear of the end.
        SigSet::from(Signal::SIGCHLD).thread_unblock()?;
        let mut handled = vec![Signal::SIGCHLD];
        handled.extend(FORWARDED.into_iter().filter(|signal| !raw::is_ignored(*signal)));
        let numbers: Vec<i32> = handled.iter().map(|signal| *signal as i32).collect();
        // The command finds this one as we found it, too.
        handled.push(Signal::SIGXFSZ);
        let delivery = SignalDelivery::with_pipe(read, write, WithOrigin::default(), numbers)?;
        Ok(Self { delivery, handled, ignored, inherited, remembered: None, told: None })
    }

    /// Lets the signals act by themselves again; says whether one has come in
    /// meanwhile that tells us to end.
    pub fn give_back(mut self) -> Option<Signal> {
        raw::act_by_default(&self.handled, &self.ignored);
        self.told_to_end()
    }

    /// The descriptor to wait on.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// The last signal that has come in and tells us to end, if one has; for
    /// when there is no command to hand the others on to.
    pub fn told_to_end(&mut self) -> Option<Signal> {
        let mut told = self.arrivals().into_iter().filter_map(|arrival| match arrival {
            Arrival::Forward(signal, _) if tells_to_end(signal) => Some(signal),
            Arrival::Forward(Signal::SIGTSTP, sender) => {
                stop_ourselves(sender);
                None
            }
            Arrival::Forward(..) | Arrival::Child => None,
        });
        let newest = told.next_back();
        newest.or(self.remembered.take())
    }

    /// The same; it is not forgotten by asking.
    pub fn told_to_end_so_far(&mut self) -> Option<Signal> {
        self.remembered = self.told_to_end();
        self.remembered
    }

    /// What is set as soon as a signal comes in that tells us to end, and stays so: for who
    /// waits for something else.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn flag(&mut self) -> io::Result<Arc<AtomicBool>> {
        if let Some(told) = &self.told {
            return Ok(Arc::clone(told));
        }
        let told = Arc::new(AtomicBool::new(false));
        for signal in self.handled.iter().filter(|signal| tells_to_end(**signal)) {
            signal_hook::flag::register(*signal as i32, Arc::clone(&told))?;
        }
        if self.told_to_end_so_far().is_some() {
            told.store(true, Ordering::SeqCst);
        }
        self.told = Some(Arc::clone(&told));
        Ok(told)
    }

    /// The signals that have come in; one to go on is the last, since it ends a
    /// stop that was asked for before.
    pub fn arrivals(&mut self) -> Vec<Arrival> {
        let arrival = |origin: signal_hook::low_level::siginfo::Origin| {
            let signal = Signal::try_from(origin.signal).ok()?;
            Some(match (signal, origin.cause) {
                (Signal::SIGCHLD, _) => Arrival::Child,
                (_, Cause::Kernel) => Arrival::Forward(signal, Sender::Terminal),
                _ => Arrival::Forward(signal, Sender::Process),
            })
        };
        let mut arrivals: Vec<Arrival> = self.delivery.pending().filter_map(arrival).collect();
        arrivals.sort_by_key(|arrival| matches!(arrival, Arrival::Forward(Signal::SIGCONT, _)));
        arrivals
    }

    /// Which signals a child must not find handled, which of them ignored, and which
    /// mask it must restore.
    pub(super) fn as_we_found_them(&self) -> (&[Signal], &[Signal], SigSet) {
        (&self.handled, &self.ignored, self.inherited)
    }

    /// Holds the signals back while `work` starts a child, which inherits that. A
    /// signal that arrives meanwhile arrives after it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn held_back<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let set: SigSet = self.handled.iter().copied().collect();
        set.thread_block()?;
        let value = work();
        let mut ours = self.inherited;
        ours.remove(Signal::SIGCHLD);
        ours.thread_set_mask()?;
        Ok(value)
    }
}

/// Whether a signal tells a program to end.
#[must_use]
pub fn tells_to_end(signal: Signal) -> bool {
    matches!(signal, Signal::SIGHUP | Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTERM)
}

/// Whether the kernel tells only us of a signal of the terminal: a hang-up
/// goes to the leader of the session alone, with a signal to go on.
pub(super) fn tells_us_alone(signal: Signal) -> bool {
    matches!(signal, Signal::SIGHUP | Signal::SIGCONT)
        && getsid(None).is_ok_and(|session| session == getpid())
}

/// Stops this process, as TSTP does by default. Returns when it goes on. A
/// terminal's stops nobody whom no shell could continue (`setpgid(2)`).
pub(super) fn stop_ourselves(asked_by: Sender) {
    match asked_by {
        Sender::Terminal => raw::act_once(Signal::SIGTSTP),
        Sender::Process => {
            let _ = nix::sys::signal::raise(Signal::SIGSTOP);
        }
    }
}

/// Ends this process by a signal, without a core dump. Returns where the
/// signal does nothing: as PID 1.
pub fn die_of(signal: u8) {
    let Ok(signal) = Signal::try_from(i32::from(signal)) else { return };
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    // A collector that reads dumps from a pipe knows no limit (`core(5)`).
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
    raw::act_by_default(&[signal], &[]);
    let _ = SigSet::from(signal).thread_unblock();
    let _ = nix::sys::signal::raise(signal);
}

/// Whether a write beyond the file size limit was harmless when we started.
static FILE_SIZE_LIMIT_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Lets a write beyond the file size limit fail with an error from now on,
/// instead of ending this process without a word.
pub fn survive_file_size_limit() {
    FILE_SIZE_LIMIT_WAS_IGNORED.store(raw::survive_file_size_limit(), Ordering::Relaxed);
}

/// Lets it end this process again, unless that was harmless when we started.
pub(super) fn give_back_file_size_limit() {
    if !FILE_SIZE_LIMIT_WAS_IGNORED.load(Ordering::Relaxed) {
        raw::act_by_default(&[Signal::SIGXFSZ], &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_to_go_on_comes_after_the_stop_that_it_ends() {
        let mut signals = Signals::take_over().unwrap();
        for signal in [Signal::SIGTSTP, Signal::SIGCONT] {
            nix::sys::signal::raise(signal).unwrap();
        }
        let mut arrivals = signals.arrivals();
        arrivals.retain(|arrival| *arrival != Arrival::Child);
        let forward = |signal| Arrival::Forward(signal, Sender::Process);
        assert_eq!(arrivals, [forward(Signal::SIGTSTP), forward(Signal::SIGCONT)]);
        signals.give_back();
    }
}
