//! Whom a signal is sent to, and who is left of a command.

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid, getpgrp};

use super::super::descendants;
use super::super::group::{self, Presence};
use super::super::signals::{Sender, tells_us_alone};
use super::super::suspension::{Suspension, has_stopped};
use super::Supervision;
use crate::claim::holder::Reach;

impl Supervision<'_> {
    /// Whether the command shares our group and was sent this as we were. One
    /// that has left it, as `timeout` does, is told by us alone.
    pub(super) fn has_it_already(&self, signal: Signal, sender: Sender) -> bool {
        let command = self.running.group();
        let shares_our_group = command.reach == Reach::Process
            && getpgid(Some(self.running.pid)).is_ok_and(|group| group == getpgrp());
        let by_its_group = match sender {
            Sender::Terminal => !tells_us_alone(signal),
            // A shell's `fg` continues the whole group.
            Sender::Process => {
                signal == Signal::SIGCONT
                    && self.suspension == Suspension::JustOver
                    && !has_stopped(self.running.pid)
            }
        };
        shares_our_group && by_its_group
    }

    /// Whether anybody of the command is left.
    pub(super) fn presence(&self) -> Presence {
        let group = self.running.group();
        match group.reach {
            Reach::Group => group::presence(&group),
            Reach::Process if descendants::all().is_empty() => Presence::Nobody,
            Reach::Process => Presence::Somebody,
        }
    }

    /// Signals everybody who came from the command, and nobody else.
    pub(super) fn send_all(&self, signal: Signal) {
        let group = self.running.group();
        match group.reach {
            // The group's number is not used again while it has members, of
            // whom the command is one until it is reaped.
            Reach::Group
                if self.status.is_none() || group::presence(&group) == Presence::Somebody =>
            {
                let _ = killpg(Pid::from_raw(group.id), signal);
            }
            Reach::Group => {}
            Reach::Process => {
                for process in descendants::all() {
                    let _ = kill(Pid::from_raw(process.pid), signal);
                }
            }
        }
        if signal != Signal::SIGKILL {
            // A stopped process acts on nothing else until it goes on.
            self.send(Signal::SIGCONT);
        }
    }

    /// Signals the command, as long as it is not reaped: then its number may
    /// be another's.
    pub(super) fn send(&self, signal: Signal) {
        if self.status.is_some() {
            return;
        }
        let group = self.running.group();
        let target = Pid::from_raw(group.id);
        // A command that has ended needs no signal, and one that became
        // another user cannot be reached.
        let _ = match group.reach {
            Reach::Group => killpg(target, signal),
            Reach::Process => kill(target, signal),
        };
    }
}
