//! The sentences about who is in the way: of a call that wants a key or a name, and of a
//! person who wants to drop one.

use std::time::Duration;

use crate::claim::attempt::Attempt;
use crate::claim::decide::{Busy, BusyWhy};
use crate::claim::duration::for_people;
use crate::claim::holder::{Life, Reach, Tie};
use crate::claim::key::Kind;

use super::sentences::Topic;

impl Topic<'_> {
    /// The key is busy.
    #[must_use]
    pub fn busy(&self, busy: &Busy) -> String {
        let (key, attempt) = (self.key(), &busy.attempt);
        match busy.why {
            BusyWhy::Held(Life::Orphaned) => {
                let group = named(attempt).map_or_else(String::new, |name| format!(" as {name}"));
                format!(
                    "{key}: busy: its command still runs{group}, though the doubletap that started it is gone ({}); end it, or wait for it with --wait",
                    self.holder(attempt)
                )
            }
            BusyWhy::Held(life) => {
                let holder = self.holder_in_the_way(busy, life);
                // Of one that may be gone for long the end is not to be waited for.
                let ends = (attempt.tie, life) != (Tie::Process, Life::Unknown);
                let wait = if ends { "; --wait would wait for it" } else { "" };
                format!("{key}: busy: held by {holder}{wait}")
            }
            BusyWhy::Resting if self.subject.kind == Kind::Lease => format!(
                "{key}: busy: it is kept for another {} (--min-hold) after {}; --wait would wait for it",
                for_people(busy.retry_after.unwrap_or_default()),
                self.holder(attempt)
            ),
            BusyWhy::Resting => format!(
                "{key}: busy: it failed{} and rests for another {}",
                attempt.outcome().map_or_else(String::new, |outcome| format!(" with {outcome}")),
                for_people(busy.retry_after.unwrap_or_default())
            ),
        }
    }

    /// Who holds it, and where nobody can tell that he is gone, how long that lasts.
    fn holder_in_the_way(&self, busy: &Busy, life: Life) -> String {
        let holder = self.holder(&busy.attempt);
        // Of several holders it is known when the first of them goes.
        let left = busy.retry_after.filter(|_| busy.holders.len() < 2).map(for_people);
        let left =
            left.map_or_else(|| "for a time".to_owned(), |left| format!("for another {left}"));
        match (busy.attempt.tie, life) {
            (Tie::Time, _) => format!("{holder}, {left} unless it is renewed"),
            (Tie::Both, Life::Unknown) => {
                format!("{holder}, which cannot be seen from here, {left} unless it is renewed")
            }
            (Tie::Process, Life::Unknown) => format!(
                "{holder}, which cannot be seen from here; if it is gone: {}",
                self.advise("forget", " --force")
            ),
            _ => holder,
        }
    }

    /// Who lives and is in the way of what a person decides.
    #[must_use]
    pub fn held(&self, attempt: &Attempt, life: Life) -> String {
        match life {
            Life::Orphaned => format!("{}: {}", self.key(), self.orphan(attempt)),
            _ => format!("{}: held by {}", self.key(), self.holder(attempt)),
        }
    }

    /// Who is to be waited for.
    fn awaited(&self, busy: &Busy) -> String {
        match busy.why {
            BusyWhy::Held(Life::Orphaned) => self.orphan(&busy.attempt),
            BusyWhy::Held(life) => self.holder_in_the_way(busy, life),
            BusyWhy::Resting => self.holder(&busy.attempt),
        }
    }

    /// A command that has outlived the doubletap that started it.
    fn orphan(&self, attempt: &Attempt) -> String {
        let command = named(attempt).map_or_else(String::new, |name| format!(": {name}"));
        let age = for_people(attempt.started.age(self.now));
        let host = &attempt.holder.host;
        format!(
            "its doubletap is gone, but its command lives{command} on {host}, started {age} ago"
        )
    }

    /// A wait for a busy key begins.
    #[must_use]
    pub fn waits(&self, busy: &Busy) -> String {
        format!("{}: waiting for {}", self.key(), self.awaited(busy))
    }

    /// A busy key after a wait.
    #[must_use]
    pub fn waited(&self, busy: &Busy, waited: Duration) -> String {
        let why = match busy.why {
            BusyWhy::Held(_) => self.awaited(busy),
            BusyWhy::Resting if self.subject.kind == Kind::Lease => format!(
                "it is kept for another {} (--min-hold)",
                for_people(busy.retry_after.unwrap_or_default())
            ),
            BusyWhy::Resting => format!(
                "after a failure it rests for another {}",
                for_people(busy.retry_after.unwrap_or_default())
            ),
        };
        format!("{}: still busy after a wait of {} ({why})", self.key(), for_people(waited))
    }

    /// A call of a key from inside what holds it.
    #[must_use]
    pub fn nested(&self, attempt: &Attempt) -> String {
        let who = match attempt.tie {
            Tie::Wrapper => "a doubletap",
            Tie::Process | Tie::Time | Tie::Both => "the script",
        };
        format!(
            "{}: busy: it is held by {who} that runs this very call, which would wait for itself; use another key inside",
            self.key()
        )
    }
}

/// What a command is called by the system, where that is known.
fn named(attempt: &Attempt) -> Option<String> {
    attempt.group.map(|group| match group.reach {
        Reach::Group => format!("process group {}", group.id),
        Reach::Process => format!("pid {}", group.id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::attempt::State;
    use crate::claim::samples::{attempt, now, request};

    fn said(tie: Tie, life: Life) -> String {
        let mut attempt = attempt(1, State::Running);
        attempt.tie = tie;
        let retry_after = (tie != Tie::Process).then(|| Duration::from_secs(40));
        let busy = Busy {
            attempt,
            why: BusyWhy::Held(life),
            retry_after,
            holders: Vec::new(),
            gives: None,
        };
        let subject = &request(1).subject;
        let topic = Topic { subject, step: None, options: " --store s", now: now(3000).wall };
        topic.busy(&busy)
    }

    const HOLDER: &str = "k: busy: held by pid 7 on host, started 3s ago";

    #[test]
    fn who_can_be_seen_is_named() {
        for tie in [Tie::Wrapper, Tie::Process, Tie::Both] {
            let line = said(tie, Life::Alive);
            assert_eq!(line, format!("{HOLDER}; --wait would wait for it"), "{tie:?}");
        }
    }

    #[test]
    fn of_what_hangs_on_time_it_is_said_how_long_it_lasts() {
        let line = said(Tie::Time, Life::Unknown);
        assert!(line.starts_with(&format!("{HOLDER}, for another 40s unless")), "{line}");
        let line = said(Tie::Both, Life::Unknown);
        let unseen = ", which cannot be seen from here, for another 40s unless";
        assert!(line.starts_with(&format!("{HOLDER}{unseen}")), "{line}");
    }

    #[test]
    fn of_a_process_that_nobody_can_see_it_is_said_how_to_drop_its_claim() {
        let line = said(Tie::Process, Life::Unknown);
        assert!(line.ends_with("if it is gone: doubletap forget k --force --store s"), "{line}");
    }

    #[test]
    fn a_script_that_holds_what_it_asks_for_is_not_called_a_doubletap() {
        let subject = &request(1).subject;
        let topic = Topic { subject, step: None, options: "", now: now(0).wall };
        let mut holder = attempt(1, State::Running);
        assert!(topic.nested(&holder).contains("held by a doubletap that runs"));
        holder.tie = Tie::Process;
        assert!(topic.nested(&holder).contains("held by the script that runs"));
    }
}
