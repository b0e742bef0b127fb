//! Whether anybody of a command is left, and ending those who are.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp};

use crate::claim::attempt::Attempt;
use crate::claim::holder::{Group, Reach, StartTime};
use crate::claim::id::Token;

use super::host;
use super::proc_stat::{self, ProcStat, Vital};

/// The variable that hands a claim's token to its command.
pub const TOKEN_VARIABLE: &str = "DOUBLETAP_TOKEN";

/// What is known of a command's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Somebody who is not a zombie is left.
    Somebody,
    /// Nobody is.
    Nobody,
    /// Its numbers mean nothing here: another PID namespace.
    Elsewhere,
}

/// Notes what a child that was just started is. It is not reaped yet, so its
/// entry is there even if it has ended.
#[must_use]
pub fn describe(pid: i32, reach: Reach) -> Group {
    let stat = proc_stat::read(pid);
    Group {
        reach,
        id: pid,
        start: stat.map_or(StartTime(0), |stat| stat.start),
        session: stat.map_or(0, |stat| stat.session),
        pid_namespace: host::pid_namespace(),
    }
}

/// Looks whether anybody of a command is left. A group with another leader's
/// start time or another session is another's: the number was used again.
#[must_use]
pub fn presence(group: &Group) -> Presence {
    if group.pid_namespace != host::pid_namespace() {
        return Presence::Elsewhere;
    }
    let somebody = match group.reach {
        Reach::Process => proc_stat::read(group.id)
            .is_some_and(|stat| stat.start == group.start && stat.vital == Vital::Living),
        Reach::Group => group_has_members(group),
    };
    if somebody { Presence::Somebody } else { Presence::Nobody }
}

fn group_has_members(group: &Group) -> bool {
    if killpg(Pid::from_raw(group.id), None) == Err(Errno::ESRCH) {
        return false;
    }
    let members: Vec<ProcStat> = proc_stat::all().filter(|stat| stat.group == group.id).collect();
    if members.is_empty() {
        // The kernel says that somebody is there, and `/proc` does not show
        // whom: a hidden process counts.
        return killpg(Pid::from_raw(group.id), None) != Err(Errno::ESRCH)
            && proc_stat::all().all(|stat| stat.group != group.id);
    }
    let is_ours = |stat: &ProcStat| {
        stat.session == group.session && (stat.pid != group.id || stat.start == group.start)
    };
    members.iter().all(is_ours) && members.iter().any(|stat| stat.vital == Vital::Living)
}

/// The processes that carry a claim's token in their environment: the command
/// of a wrapper that died before it noted what its command is. Before a command
/// carries it, it is still ours, and `PR_SET_PDEATHSIG` ends it.
fn bearers(token: Token) -> impl Iterator<Item = i32> {
    let needle = format!("{TOKEN_VARIABLE}={token}").into_bytes();
    proc_stat::all().filter(|stat| stat.vital == Vital::Living).map(|stat| stat.pid).filter(
        move |pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == needle)
        },
    )
}

/// Looks whether anybody of a command is left: by its group, or by its token
/// where the group was never noted.
#[must_use]
pub fn presence_of(attempt: &Attempt) -> Presence {
    match &attempt.group {
        Some(group) => presence(group),
        None if bearers(attempt.token).next().is_some() => Presence::Somebody,
        None => Presence::Nobody,
    }
}

/// Kills whoever is left of an attempt's command, as [`clear`] does.
#[must_use]
pub fn clear_of(attempt: &Attempt, limit: Duration) -> Presence {
    match &attempt.group {
        Some(group) => clear(group, limit),
        None => clear_while(limit, || {
            let found: Vec<i32> = bearers(attempt.token).collect();
            for pid in &found {
                let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
            }
            if found.is_empty() { Presence::Nobody } else { Presence::Somebody }
        }),
    }
}

/// Kills whoever is left of a command and waits until nobody is, at most
/// `limit` long. Never our own group, and nobody in another PID namespace.
#[must_use]
pub fn clear(group: &Group, limit: Duration) -> Presence {
    let target = Pid::from_raw(group.id);
    if target == getpgrp() {
        return presence(group);
    }
    clear_while(limit, || {
        let found = presence(group);
        if found == Presence::Somebody {
            // It may have ended since: then the next look says so.
            let _ = match group.reach {
                Reach::Group => killpg(target, Signal::SIGKILL),
                Reach::Process => kill(target, Signal::SIGKILL),
            };
        }
        found
    })
}

/// Strikes and looks, until nobody is left or the time is over.
fn clear_while(limit: Duration, mut strike: impl FnMut() -> Presence) -> Presence {
    let deadline = Instant::now() + limit;
    loop {
        let found = strike();
        if found != Presence::Somebody || Instant::now() >= deadline {
            return found;
        }
        thread::sleep(Duration::from_millis(2));
    }
}
