//! Owns a running command: one thread that alone signals and reaps it.
//!
//! It never touches a store. While a thread of its own hands the output on it
//! never writes either, so nothing that is slow can hold it up; before that it
//! moves what can be moved without waiting.

mod telling;

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::claim::holder::Reach;
use crate::claim::outcome::Outcome;

use super::capture::{Captured, Pump};
use super::clock;
use super::descendants;
use super::group::Presence;
use super::launch::Running;
use super::raw::{self, Wait};
use super::rules::{AfterLoss, Rules};
use super::signals::{Arrival, Sender, Signals, tells_to_end};
use super::source::Progress;
use super::suspension::{Suspension, has_stopped};
use super::wake::{Reason, Waker, wait_readable};
use super::watch::{Right, Watch};

/// How long a command that is to be stopped may take to end by itself.
const KILL_AFTER: Duration = Duration::from_secs(10);

/// How long those who are killed may take to be gone.
const CLEARING: Duration = Duration::from_secs(10);

/// How long a reader that does not read is waited for once a command has ended that
/// was told to, or was stopped: without us nobody would wait.
pub const LINGER: Duration = Duration::from_secs(3);

/// The pause between two looks at who is left of a stopped command.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How a supervised command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its end.
    pub outcome: Outcome,
    /// The last signal that told us to end, if one did.
    pub told: Option<Signal>,
    /// Every signal that came in and reached the command, through us or from
    /// the terminal.
    pub handed_on: Vec<Signal>,
    /// Why it was stopped, if we stopped it.
    pub stopped: Option<Stopped>,
    /// Whether anybody of a stopped command is left all the same.
    pub left: Left,
    /// How long it ran.
    pub run: Duration,
    /// What it wrote, where that was captured.
    pub captured: Option<Captured>,
}

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Its claim was lost.
    Lost,
    /// It ran for too long.
    TimedOut,
}

/// Who is left of a stopped command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nobody, or it was not stopped.
    Nobody,
    /// Somebody could not be ended in time.
    Somebody,
}

struct Supervision<'a> {
    running: Running,
    pump: Option<Pump>,
    signals: &'a mut Signals,
    waker: &'a mut Waker,
    status: Option<ExitStatus>,
    drained: bool,
    told: Option<Signal>,
    handed_on: Vec<Signal>,
    rules: Rules<'a>,
    watch: Option<Watch<'a>>,
    suspension: Suspension,
    timeout_at: Option<Instant>,
    stopped: Option<Stopped>,
    /// When those who were told to end are killed.
    kill_at: Option<Instant>,
    /// When we stop waiting for the killed.
    give_up_at: Option<Instant>,
    /// When we stop waiting for those who read us.
    leave_at: Option<Instant>,
}

/// How long a command runs before it counts as lasting. Most end sooner, and
/// then nothing needs to be set up for them; the shortest lease is first
/// renewed after five times as long.
const BRIEF: Duration = Duration::from_millis(100);

/// Waits for the command's end, handing signals on meanwhile. Calls `lasting`
/// once, if the command has not ended within a tenth of a second.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn supervise(
    running: Running,
    pump: Option<Pump>,
    signals: &mut Signals,
    waker: &mut Waker,
    rules: Rules<'_>,
    lasting: impl FnOnce(&mut Waker),
) -> io::Result<Ended> {
    let started = Instant::now();
    let drained = pump.is_none();
    let mut it = Supervision {
        running,
        pump,
        signals,
        waker,
        drained,
        status: None,
        told: None,
        handed_on: Vec::new(),
        rules,
        watch: rules.tenure.map(Watch::new),
        suspension: Suspension::No,
        timeout_at: rules.limits.timeout.and_then(|timeout| started.checked_add(timeout)),
        stopped: None,
        kill_at: None,
        give_up_at: None,
        leave_at: None,
    };
    let mut lasting = Some(lasting);
    let mut run = None;
    let status = loop {
        it.reap()?;
        if let Some(status) = it.status {
            run.get_or_insert_with(|| started.elapsed());
            if it.drained && !it.waits_for_the_rest() {
                break status;
            }
        }
        let brief = lasting.as_ref().map(|_| BRIEF.saturating_sub(started.elapsed()));
        if brief == Some(Duration::ZERO)
            && let Some(lasting) = lasting.take()
        {
            lasting(it.waker);
            if let Some(pump) = &mut it.pump {
                pump.hand_over();
            }
        }
        it.wait(brief.filter(|left| !left.is_zero()))?;
    };
    let left = match it.stopped {
        Some(_) if it.presence() == Presence::Somebody => Left::Somebody,
        _ => Left::Nobody,
    };
    Ok(Ended {
        outcome: outcome(status),
        told: it.told,
        handed_on: it.handed_on,
        stopped: it.stopped,
        left,
        run: run.unwrap_or_else(|| started.elapsed()),
        captured: it.pump.and_then(Pump::finish),
    })
}

impl Supervision<'_> {
    fn reap(&mut self) -> io::Result<()> {
        if self.running.group().reach == Reach::Process {
            descendants::reap_orphans(self.running.pid);
        }
        if self.status.is_none() {
            self.status = raw::reap(self.running.pid, Wait::No)?;
            if let (Some(_), Some(pump)) = (self.status, &mut self.pump) {
                pump.command_ended();
                let stopped = self.told.is_some() || self.stopped.is_some();
                self.leave_at = stopped.then(|| Instant::now() + LINGER);
            }
            self.look_at_pump();
        }
        Ok(())
    }

    /// A thread rings when it is done; without one it is to be looked at.
    fn look_at_pump(&mut self) {
        let done = self.pump.as_ref().map(Pump::progress) == Some(Progress::Done);
        self.drained |= done && self.status.is_some();
    }

    /// Whether somebody of a stopped command is still to be waited for.
    fn waits_for_the_rest(&self) -> bool {
        let over = self.give_up_at.is_some_and(|at| Instant::now() >= at);
        self.stopped.is_some() && !over && self.presence() == Presence::Somebody
    }

    /// How long to wait at the most: until the next thing is to be done.
    fn limit(&self, brief: Option<Duration>) -> Option<Duration> {
        let left = |at: Option<Instant>| at.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = if self.status.is_none() { self.timeout_at } else { None };
        let look = (self.status.is_some() && self.stopped.is_some()).then_some(LOOK_AGAIN);
        let leave = if self.drained { None } else { self.leave_at };
        let stop = (self.suspension == Suspension::Asked).then_some(LOOK_AGAIN);
        let next = [brief, left(timeout), left(self.kill_at), left(leave), look, stop];
        next.into_iter().flatten().min()
    }

    /// Stops a command that has no right to run on; says how long to wait at the
    /// most before looking again.
    fn look_at_right(&mut self) -> io::Result<Option<Duration>> {
        let Some(watch) = &mut self.watch else { return Ok(None) };
        let kill_after = match watch.look(clock::boot()) {
            Right::Holds(left) => return Ok(left),
            Right::Ends(kill_after) => kill_after,
        };
        self.reap()?;
        if self.status.is_some() && self.stopped.is_none() {
            // It has ended by itself, while we slept perhaps: nothing runs on, and whether
            // that end still counts is for the store to say.
            self.watch = None;
            return Ok(Some(Duration::ZERO));
        }
        self.stop(Stopped::Lost, kill_after);
        Ok(None)
    }

    fn wait(&mut self, brief: Option<Duration>) -> io::Result<()> {
        let right = self.look_at_right()?;
        let limit = [self.limit(brief), right].into_iter().flatten().min();
        let [out, err] = self.pump.as_ref().map_or([None, None], Pump::fds);
        let (signals, waker) = (Some(self.signals.fd()), self.waker.fd());
        let alarm = self.watch.as_ref().and_then(Watch::fd);
        let [_, _, out, err, _] = wait_readable([signals, waker, out, err, alarm], limit)?;
        if let (true, Some(pump)) = (out || err, &mut self.pump) {
            pump.pipes_are_ready();
            self.look_at_pump();
        }
        self.hand_on_what_has_come();
        self.stop_with_the_command();
        for reason in self.waker.reasons() {
            match reason {
                Reason::Drained => self.drained = true,
                Reason::Lost => self.stop(Stopped::Lost, self.grace_after_loss()),
                Reason::Freed => {}
            }
        }
        let now = Instant::now();
        if self.status.is_none() && self.timeout_at.is_some_and(|at| now >= at) {
            self.timeout_at = None;
            self.reap()?;
            // It may have ended by itself, while we slept.
            if self.status.is_none() {
                self.stop(Stopped::TimedOut, self.rules.limits.kill_after.unwrap_or(KILL_AFTER));
            }
        }
        self.drained |= self.leave_at.is_some_and(|at| now >= at);
        if self.kill_at.is_some_and(|at| now >= at) {
            let give_up_at = *self.give_up_at.get_or_insert(now + CLEARING);
            // A group is killed at once. Of those who are found one by one each may have had
            // a child before it was killed.
            let again = self.running.group().reach == Reach::Process && now < give_up_at;
            self.kill_at = again.then_some(now + LOOK_AGAIN);
            self.send_all(Signal::SIGKILL);
        }
        Ok(())
    }

    fn hand_on_what_has_come(&mut self) {
        for arrival in self.signals.arrivals() {
            if let Arrival::Forward(signal, sender) = arrival {
                self.hand_on(signal, sender);
            }
        }
    }

    fn hand_on(&mut self, signal: Signal, sender: Sender) {
        if tells_to_end(signal) {
            self.told = Some(signal);
            // With the command gone, a reader that does not read is not
            // waited for any longer.
            self.drained |= self.status.is_some();
        }
        self.handed_on.push(signal);
        if !self.has_it_already(signal, sender) {
            self.send(signal);
        }
        self.suspension.note(signal);
        if let (true, Some(grace), None) =
            (tells_to_end(signal), self.rules.limits.kill_after, self.kill_at)
        {
            self.kill_at = Some(Instant::now() + grace);
        }
    }

    /// Stops us once the command has stopped because it was asked to. One that
    /// goes on needs us as before: it may not want to stop, or the kernel lets
    /// nobody stop, where no shell is left that could continue it.
    fn stop_with_the_command(&mut self) {
        if self.suspension != Suspension::Asked
            || (self.status.is_none() && !has_stopped(self.running.pid))
        {
            return;
        }
        // Whoever is in a transaction is left to finish it, and looked at again.
        let Ok(_nobody) = self.rules.transacting.try_lock() else { return };
        self.suspension.stop_ourselves(self.running.group().reach);
    }

    /// The command must not go on, and nobody who came from it either.
    fn stop(&mut self, why: Stopped, grace: Duration) {
        let kill_at = Instant::now() + grace;
        match (self.stopped, why) {
            (None, _) => self.send_all(Signal::SIGTERM),
            // What is told to end already has no more time than this.
            (Some(Stopped::TimedOut), Stopped::Lost) => {}
            (Some(_), _) => return,
        }
        self.stopped = Some(why);
        if why == Stopped::Lost {
            self.watch = None;
        }
        if self.give_up_at.is_none() {
            self.kill_at = Some(self.kill_at.map_or(kill_at, |at| at.min(kill_at)));
        }
    }

    fn grace_after_loss(&self) -> Duration {
        match self.rules.limits.after_loss {
            AfterLoss::Graceful => self.rules.limits.kill_after.unwrap_or(KILL_AFTER),
            AfterLoss::AtOnce => Duration::ZERO,
        }
    }
}

pub(super) fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(code), _) => Outcome::Exited(u8::try_from(code & 0xFF).unwrap_or(u8::MAX)),
        (None, Some(signal)) => Outcome::Signaled(u8::try_from(signal).unwrap_or(u8::MAX)),
        (None, None) => Outcome::Exited(u8::MAX),
    }
}
