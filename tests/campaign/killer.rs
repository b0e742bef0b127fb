//! Kills, stops and tells to end, at random moments.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Campaign;
use super::chance::Chance;
use crate::support::processes::state;
use crate::support::until;

/// The wrappers that run. Whoever waits for one takes it off before it is reaped, so
/// that a number here is never another process's.
#[derive(Default)]
pub(super) struct Targets(Mutex<BTreeSet<i32>>);

impl Targets {
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was done to whom.
#[derive(Default)]
pub(super) struct Tally {
    wrappers: u64,
    commands: u64,
    stops: u64,
    told: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kills ({} wrappers, {} commands), {} stops, {} told to end",
            self.wrappers + self.commands,
            self.wrappers,
            self.commands,
            self.stops,
            self.told
        )
    }
}

pub(super) struct Killer<'a> {
    campaign: &'a Campaign,
    chance: Chance,
    tally: Tally,
}

fn send(pid: i32, signal: Signal) {
    // It may have ended by itself.
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Everybody below a wrapper that is stopped.
fn below(wrapper: i32) -> Vec<i32> {
    let children = fs::read_to_string(format!("/proc/{wrapper}/task/{wrapper}/children"));
    let children = children.unwrap_or_default();
    let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    children.flat_map(|child| [vec![child], below(child)].concat()).collect()
}

impl<'a> Killer<'a> {
    pub(super) fn new(campaign: &'a Campaign, chance: Chance) -> Self {
        Self { campaign, chance, tally: Tally::default() }
    }

    pub(super) fn kill_until_it_is_over(mut self) -> Tally {
        while self.campaign.goes_on() {
            thread::sleep(self.chance.ms(0, 6));
            let stopped = {
                let targets = self.campaign.targets.lock();
                if targets.is_empty() {
                    continue;
                }
                let victim = targets.iter().nth(self.chance.below(targets.len()));
                victim.and_then(|victim| self.strike(*victim))
            };
            if let Some(stopped) = stopped {
                self.leave_stopped(stopped);
            }
        }
        self.tally
    }

    /// Does something to a wrapper; names it if it is to stay stopped for a while.
    fn strike(&mut self, wrapper: i32) -> Option<i32> {
        match self.chance.below(12) {
            0..=4 => {
                send(wrapper, Signal::SIGKILL);
                self.tally.wrappers += 1;
            }
            5..=8 => {
                let both = self.chance.below(2) == 0;
                send(wrapper, Signal::SIGSTOP);
                until("it has stopped", || state(wrapper).is_none_or(|s| "TtZX".contains(s)));
                let below = below(wrapper);
                let one = self.chance.below(below.len().max(1));
                let all = self.chance.below(3) == 0;
                for (_, pid) in below.iter().enumerate().filter(|(at, _)| all || *at == one) {
                    send(*pid, Signal::SIGKILL);
                    self.tally.commands += 1;
                }
                if both {
                    send(wrapper, Signal::SIGKILL);
                    self.tally.wrappers += 1;
                }
                send(wrapper, Signal::SIGCONT);
            }
            9 => {
                send(wrapper, Signal::SIGTERM);
                self.tally.told += 1;
            }
            _ => {
                send(wrapper, Signal::SIGSTOP);
                self.tally.stops += 1;
                return Some(wrapper);
            }
        }
        None
    }

    /// Leaves a wrapper stopped for a while, now and then for longer than its lease.
    fn leave_stopped(&mut self, wrapper: i32) {
        let long = self.chance.below(40) == 0;
        thread::sleep(if long { self.chance.ms(2000, 2600) } else { self.chance.ms(0, 40) });
        if self.campaign.targets.lock().contains(&wrapper) {
            send(wrapper, Signal::SIGCONT);
        }
    }
}
