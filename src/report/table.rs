//! What `show` and `list` say to people.

use crate::claim::attempt::{Attempt, Extent, State};
use crate::claim::decide::Seen;
use crate::claim::duration::for_people;
use crate::claim::holder::Tie;
use crate::claim::key::{Kind, Subject};
use crate::claim::standing::{Standing, deciding};
use crate::claim::time::{Expiry, Now};

use super::columns::{Cell, columns, head};
use super::document::Step;
use super::form::Form;
use crate::text::escape;

/// The keys that `list` shows, a line for each.
#[derive(Debug, Default)]
pub struct List {
    rows: Vec<Vec<Cell>>,
}

impl List {
    /// Adds a key.
    pub fn push(&mut self, subject: &Subject, chain: &[Seen], now: &Now) {
        self.rows.push(list_row(subject, chain, now));
    }

    /// The lines below their head; nothing where there is no key.
    #[must_use]
    pub fn table(mut self, form: Form) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let names = ["STATE", "AGE", "ATTEMPTS", "ENDED", "KIND", "NAMESPACE", "KEY"];
        self.rows.insert(0, head(&names));
        columns(&self.rows, form)
    }
}

fn list_row(subject: &Subject, chain: &[Seen], now: &Now) -> Vec<Cell> {
    let newest = deciding(chain, subject.kind, now).map(|seen| &seen.attempt);
    let ended = newest.and_then(Attempt::outcome).map_or_else(|| "-".to_owned(), |o| o.to_string());
    let attempts = chain.iter().filter(|seen| !seen.attempt.is_tombstone()).count();
    vec![
        Standing::of_key(chain, subject.kind, now).into(),
        newest.map_or_else(String::new, |attempt| for_people(attempt.started.age(now.wall))).into(),
        attempts.to_string().into(),
        ended.into(),
        subject.kind.as_str().into(),
        subject.namespace.as_str().into(),
        subject.key.as_str().into(),
    ]
}

/// What `show` says.
#[must_use]
pub fn show(
    subject: &Subject,
    chain: &[Seen],
    steps: &[Step<'_>],
    (now, form): (&Now, Form),
) -> String {
    let state = Standing::of_key(chain, subject.kind, now);
    let mut rows: Vec<Vec<Cell>> = vec![
        vec!["key".into(), subject.key.as_str().into()],
        vec!["namespace".into(), subject.namespace.as_str().into()],
        vec!["state".into(), state.into()],
    ];
    for seen in chain {
        let attempt = &seen.attempt;
        let (name, said) = match (attempt.is_tombstone(), &attempt.end) {
            (true, Some(end)) => ("forgotten".to_owned(), form.instant(end.at, now.wall).into()),
            _ => (
                format!("attempt {}", attempt.generation),
                described(seen, subject.kind, now, form),
            ),
        };
        rows.push(vec![name.into(), said]);
    }
    for (name, seen) in steps {
        rows.push(vec![format!("step {name}").into(), described(seen, Kind::Step, now, form)]);
    }
    columns(&rows, form)
}

fn described(seen: &Seen, kind: Kind, now: &Now, form: Form) -> Cell {
    let attempt = &seen.attempt;
    let instant = |at| form.instant(at, now.wall);
    let mut parts = vec![format!("started {}", instant(attempt.started))];
    // When an interrupted one ended is not known, only when somebody saw that it had.
    let ended = attempt.end.as_ref().filter(|_| attempt.state != State::Interrupted);
    parts.extend(ended.map(|end| format!("ended {}", instant(end.at))));
    parts.extend([
        format!(
            "{} by pid {} on {}",
            escape(&attempt.command.word),
            attempt.holder.pid,
            escape(&attempt.holder.host)
        ),
        format!("try {} of operation {}", attempt.number, attempt.operation),
    ]);
    // What hangs on a process alone has no time to be over.
    let lease = attempt.until.left(now).filter(|_| attempt.end.is_none());
    let lease = lease.filter(|_| attempt.tie != Tie::Process);
    parts.extend(
        lease.map(|left| format!("its lease ends in {} unless it is renewed", for_people(left))),
    );
    if let Some(end) = &attempt.end {
        parts.extend(end.outcome.map(|outcome| outcome.to_string()));
        parts.extend(end.reason.as_deref().map(escape));
        parts.extend(end.run.map(|run| format!("ran {}", for_people(run))));
        parts.extend(end.output.map(|output| match output.extent {
            Extent::Whole => format!("{} bytes of output", output.bytes),
            Extent::Truncated => format!("the first {} bytes of its output", output.bytes),
        }));
        if let Expiry::At(at) = end.expiry {
            let word = if end.expiry.has_come(now) { "expired" } else { "expires" };
            parts.push(format!("{word} {}", instant(at)));
        }
    }
    let rest = attempt.rests_until.as_ref().and_then(|until| until.left(now));
    parts.extend(rest.map(|left| format!("rests for another {}", for_people(left))));
    Cell::from(Standing::of_attempt(seen, kind, now)).then(format!(", {}", parts.join(", ")))
}
