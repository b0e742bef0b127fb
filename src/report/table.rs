//! The plain forms of `show` and `list`.

use crate::claim::attempt::{Attempt, Extent};
use crate::claim::decide::Seen;
use crate::claim::duration::for_people;
use crate::claim::key::{Kind, Subject};
use crate::claim::standing::{Standing, deciding};
use crate::claim::time::{Expiry, Now};

use super::document::timestamp;
use crate::text::escape;

/// Lines up columns with two spaces between them.
#[must_use]
pub fn columns(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    rows.iter()
        .map(|row| {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let pad = width(column).unwrap_or(0).saturating_sub(cell.chars().count());
                format!("{cell}{}  ", " ".repeat(pad))
            });
            cells.collect::<String>().trim_end().to_owned() + "\n"
        })
        .collect()
}

/// One line of `list`: state, age, attempts, how it ended, kind, namespace, key.
#[must_use]
pub fn list_row(subject: &Subject, chain: &[Seen], now: &Now) -> Vec<String> {
    let newest = deciding(chain, subject.kind, now).map(|seen| &seen.attempt);
    let ended = newest.and_then(Attempt::outcome).map_or_else(|| "-".to_owned(), |o| o.to_string());
    let attempts = chain.iter().filter(|seen| !seen.attempt.is_tombstone()).count();
    vec![
        Standing::of_key(chain, subject.kind, now).as_str().to_owned(),
        newest.map_or_else(String::new, |attempt| for_people(attempt.started.age(now.wall))),
        attempts.to_string(),
        ended,
        subject.kind.as_str().to_owned(),
        subject.namespace.to_string(),
        subject.key.to_string(),
    ]
}

/// The head of `list`.
#[must_use]
pub fn list_head() -> Vec<String> {
    ["STATE", "AGE", "ATTEMPTS", "ENDED", "KIND", "NAMESPACE", "KEY"].map(str::to_owned).to_vec()
}

/// What `show` says.
#[must_use]
pub fn show(subject: &Subject, chain: &[Seen], now: &Now) -> String {
    let state = Standing::of_key(chain, subject.kind, now).as_str();
    let mut rows = vec![
        vec!["key".to_owned(), subject.key.to_string()],
        vec!["namespace".to_owned(), subject.namespace.to_string()],
        vec!["state".to_owned(), state.to_owned()],
    ];
    for seen in chain {
        let attempt = &seen.attempt;
        let row = match (attempt.is_tombstone(), &attempt.end) {
            (true, Some(end)) => vec!["forgotten".to_owned(), timestamp(end.at)],
            _ => vec![format!("attempt {}", attempt.generation), describe(seen, subject.kind, now)],
        };
        rows.push(row);
    }
    columns(&rows)
}

fn describe(seen: &Seen, kind: Kind, now: &Now) -> String {
    let attempt = &seen.attempt;
    let mut parts = vec![
        Standing::of_attempt(seen, kind, now).as_str().to_owned(),
        format!("started {}", timestamp(attempt.started)),
        format!(
            "{} by pid {} on {}",
            escape(&attempt.command.word),
            attempt.holder.pid,
            escape(&attempt.holder.host)
        ),
        format!("try {} of operation {}", attempt.number, attempt.operation),
    ];
    if let Some(end) = &attempt.end {
        parts.extend(end.outcome.map(|outcome| outcome.to_string()));
        parts.extend(end.reason.as_deref().map(escape));
        parts.extend(end.run.map(|run| format!("ran {}", for_people(run))));
        parts.extend(end.output.map(|output| match output.extent {
            Extent::Whole => format!("{} bytes of output", output.bytes),
            Extent::Truncated => format!("the first {} bytes of its output", output.bytes),
        }));
        if let Expiry::At(at) = end.expiry {
            parts.push(format!("expires {}", timestamp(at)));
        }
    }
    let rest = attempt.rests_until.as_ref().and_then(|until| until.left(now));
    parts.extend(rest.map(|left| format!("rests for another {}", for_people(left))));
    parts.join(", ")
}
