//! A command that counts the signals it is sent, and goes on until its gate is open.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::poll::until;
use super::processes::ignores;
use super::scene::Scene;

/// What goes on to the command, as the design page has it.
pub(crate) const FORWARDED: [Signal; 9] = [
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

/// Adds a line to `signals` for each one. Who waits at the gate hears of none.
const COUNTING: &str = r#"
for name in HUP INT QUIT TERM USR1 USR2 WINCH CONT TSTP; do
    trap "echo $name >>signals" $name
done
(
    trap '' HUP INT QUIT TERM USR1 USR2 WINCH CONT TSTP
    echo ready >ready
    read x <gate
) >&- 2>&- &
while kill -0 $! 2>&-; do wait; done; :
"#;

/// What a signal is called without its first three letters.
pub(crate) fn name(signal: Signal) -> &'static str {
    signal.as_str().trim_start_matches("SIG")
}

/// Those that whoever started the tests does not ignore; `doubletap` may not either.
pub(crate) fn unignored(signals: &[Signal]) -> Vec<Signal> {
    signals.iter().copied().filter(|signal| !ignores(*signal)).collect()
}

impl Scene {
    /// The next attempt counts signals until the gate is open, and then does `last`.
    pub(crate) fn count_signals(&self, last: &str) {
        self.behave(&format!("{COUNTING}\n{last}"));
    }

    /// Waits until a command that counts signals does so.
    #[track_caller]
    pub(crate) fn await_counting(&self) {
        until("the command counts signals", || self.path("ready").exists());
    }

    /// The signals that have come to the command, each as often as it came.
    pub(crate) fn signals(&self) -> Vec<String> {
        self.read("signals").lines().map(str::to_owned).collect()
    }

    /// How often a signal has come to the command.
    pub(crate) fn count(&self, signal: Signal) -> usize {
        self.signals().iter().filter(|line| *line == name(signal)).count()
    }

    /// Waits until a signal has come to the command.
    #[track_caller]
    pub(crate) fn await_signal(&self, signal: Signal) {
        until(&format!("{signal} has come"), || self.count(signal) > 0);
    }

    /// Waits until all that the wrapper was sent so far has come to the command:
    /// USR1, which goes the same way, has come after it.
    #[track_caller]
    pub(crate) fn settle(&self, wrapper: i32) {
        let before = self.count(Signal::SIGUSR1);
        kill(Pid::from_raw(wrapper), Signal::SIGUSR1).expect("the wrapper lives");
        until("the last signal has come", || self.count(Signal::SIGUSR1) > before);
    }
}
