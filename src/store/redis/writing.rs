//! Changes a chain: read, decide, and write as one script, if nothing has changed it since.

use std::time::Duration;

use serde::Serialize;

use super::RedisShelf;
use super::failure;
use super::keys::{Keys, identity};
use super::line::{Deadline, Pauses, Sent};
use super::outputs::Upload;
use super::reading::Reading;
use super::scripts::{FENCE, Run, WRITE};
use super::setup::FORMAT;
use crate::claim::attempt::{Attempt, State};
use crate::claim::duration::to_ms;
use crate::claim::fence::Fence;
use crate::claim::key::{Kind, Subject};
use crate::claim::time::{Expiry, Now};
use crate::store::shelf::{Changes, Durability, Step, Wanted};
use crate::store::{StoreError, Trouble, document, row};

/// A claim that comes so long after what it was decided from was read is decided again,
/// unless its lease is so long that most of it is left all the same (`patience`).
const PATIENCE: Duration = Duration::from_secs(1);

/// So long after its record expired an output goes by itself. Only outputs do: rows are
/// small, others point to them, and a person prunes them.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How often an output is sent anew that the server has forgotten before it was recorded.
const FORGOTTEN: u32 = 2;

/// What the script is told.
#[derive(Serialize)]
struct Plan {
    version: String,
    revision: String,
    read_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    patience_ms: Option<i64>,
    identity: String,
    /// What the names of chains and of outputs begin with.
    chains: String,
    outputs: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Whose>,
    removed: Vec<String>,
    /// Generations.
    discarded: Vec<String>,
    outputs_removed: Vec<String>,
    steps_removed: Vec<String>,
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upload: Option<Moved>,
    kept: Vec<Kept>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
}

/// The attempt that has to run still.
#[derive(Serialize)]
struct Whose {
    chain: String,
    identity: String,
    fence: String,
    token: String,
}

/// A row as it is to be.
#[derive(Serialize)]
struct Row {
    generation: String,
    fence: String,
    token: String,
    /// The length of its lease in ms, if that matters to a sweep; else 0.
    lease: String,
    /// Whether it runs, and is no step.
    running: bool,
    /// Whether it is wanted wherever something is decided.
    marked: bool,
    #[serde(rename = "row")]
    text: String,
}

/// An upload becomes an output, if all of it is there.
#[derive(Serialize)]
struct Moved {
    from: String,
    to: String,
    parts: u64,
}

/// How long an output is kept.
#[derive(Serialize)]
struct Kept {
    output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<i64>,
}

impl RedisShelf {
    /// Reads and writes one chain as one step.
    pub(super) fn change_chain(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        step: &mut Step<'_>,
    ) -> Result<(), StoreError> {
        let mut upload = None;
        let changed = self.change_with(wanted, durability, step, &mut upload);
        if let Some(upload) = upload {
            self.drop_upload(&upload);
        }
        changed
    }

    fn change_with(
        &mut self,
        wanted: Wanted<'_>,
        durability: Durability,
        step: &mut Step<'_>,
        upload: &mut Option<Upload>,
    ) -> Result<(), StoreError> {
        let mut deadline = Deadline::after(self.limit);
        let (mut pauses, mut reconnected, mut forgotten) = (Pauses::default(), false, 0);
        loop {
            let reading = self.read_chain(wanted, deadline)?;
            let changes = step(&reading.page, &mut |now| self.draw(now, deadline))?;
            if changes.is_nothing() {
                return self.settle_acknowledgements(durability, deadline);
            }
            if let Some((fence, frames)) = &changes.output
                && upload.as_ref().is_none_or(|upload| upload.fence != *fence)
            {
                *upload = self.upload(*fence, frames)?;
                // That took its own time, however long.
                deadline = Deadline::after(self.limit);
                forgotten += u32::from(upload.is_none());
                if forgotten > FORGOTTEN {
                    return Err(failure::forgets(&self.url));
                }
                if upload.is_none() {
                    continue;
                }
            }
            let plan = self.plan(wanted, &reading, &changes, upload.as_ref())?;
            // From before it is sent on: where the answer is lost it may have been written.
            let owed = self.owes;
            self.owes |= self.is_to_be_acknowledged(durability);
            match self.write((wanted.subject, &reading), &plan, deadline) {
                Ok(Sent::Answered(answer)) if answer == "written" => {
                    if changes.output.is_some() {
                        *upload = None;
                    }
                    return self.acknowledge(durability, reading.number, deadline);
                }
                Ok(not_written) => {
                    self.owes = owed;
                    if matches!(not_written, Sent::Answered(why) if why == "upload") {
                        *upload = None;
                        forgotten += 1;
                    }
                }
                Err(why) if why.trouble() == Trouble::ReadOnly && !reconnected => {
                    reconnected = true;
                    self.line.drop_connection();
                }
                Err(why) => return Err(why),
            }
            if !pauses.take(deadline) {
                return Err(failure::contended(&self.url, self.limit));
            }
        }
    }

    /// Draws the next fence.
    fn draw(&mut self, now: &Now, deadline: Deadline) -> Result<Fence, StoreError> {
        let run = Run::of(&FENCE, &[self.keys.fence()], &[now.wall.0]);
        // One that is drawn twice because an answer was lost is skipped.
        let drawn: String = self.line.ask_by(deadline, |connection| run.on(connection))?;
        drawn.parse().map(Fence).map_err(|_| {
            StoreError::new(Trouble::Damaged, format!("{} has no fence", self.url))
                .with_remedy("name another store with ?prefix=NAME")
        })
    }

    fn plan(
        &self,
        wanted: Wanted<'_>,
        reading: &Reading,
        changes: &Changes,
        upload: Option<&Upload>,
    ) -> Result<Plan, StoreError> {
        let (keys, subject) = (&self.keys, wanted.subject);
        let rows = changes.added.iter().chain(&changes.changed);
        let fences = |fences: &[Fence]| fences.iter().map(|fence| fence.0.to_string()).collect();
        Ok(Plan {
            version: FORMAT.to_string(),
            revision: reading.revision.clone(),
            read_ms: reading.ms,
            patience_ms: patience(changes).map(to_ms),
            identity: identity(subject),
            chains: keys.chains(),
            outputs: keys.outputs(),
            parent: wanted.parent.map(|parent| Whose {
                chain: keys.chain(&parent.subject),
                identity: identity(&parent.subject),
                fence: parent.fence.0.to_string(),
                token: parent.token.to_string(),
            }),
            removed: fences(&changes.removed),
            discarded: changes.discarded.iter().map(ToString::to_string).collect(),
            outputs_removed: fences(&changes.outputs_removed),
            steps_removed: changes.steps_removed.iter().map(ToString::to_string).collect(),
            rows: rows
                .clone()
                .map(|attempt| row_of(attempt, subject.kind))
                .collect::<Result<_, _>>()?,
            upload: upload.filter(|_| changes.output.is_some()).map(|upload| Moved {
                from: upload.key.clone(),
                to: keys.output(upload.fence),
                parts: upload.parts,
            }),
            kept: rows.filter_map(|attempt| kept(attempt, keys)).collect(),
            channel: changes.matter_to_waiters(&reading.page).then(|| keys.channel(subject)),
        })
    }

    fn write(
        &mut self,
        (subject, reading): (&Subject, &Reading),
        plan: &Plan,
        deadline: Deadline,
    ) -> Result<Sent<String>, StoreError> {
        let text = serde_json::to_string(plan).map_err(|why| {
            StoreError::new(Trouble::Other, format!("a change cannot be written as JSON ({why})"))
        })?;
        let run = Run::of(&WRITE, &plan.keys(&self.keys, subject), &[text]);
        self.line.write(reading.number, deadline, |connection| run.on(connection))
    }
}

impl Plan {
    /// The keys that are touched, those first that the script has a name for. Those of steps
    /// are known to the server only.
    fn keys(&self, keys: &Keys, subject: &Subject) -> Vec<String> {
        let mut named = vec![
            keys.version(),
            keys.revision(),
            keys.chain(subject),
            keys.fences(),
            keys.tokens(),
            keys.leases(),
            keys.running(),
            keys.subjects(),
        ];
        named.extend(self.parent.iter().map(|parent| parent.chain.clone()));
        named.extend(self.upload.iter().flat_map(|moved| [moved.from.clone(), moved.to.clone()]));
        named.extend(self.kept.iter().map(|kept| kept.output.clone()));
        let outputs = self.removed.iter().chain(&self.outputs_removed);
        named.extend(outputs.map(|fence| format!("{}{fence}", self.outputs)));
        named
    }
}

/// How old what was read may be when the change comes. A lease is counted from the reading,
/// and a claim must not begin with one that is over, or nearly. Whoever renews, or ends,
/// counts from before that; nothing else that is decided becomes wrong by time alone, so
/// that a server far away takes it too.
fn patience(changes: &Changes) -> Option<Duration> {
    let claimed = changes.added.as_ref().filter(|added| added.state == State::Running);
    claimed.map(|claimed| PATIENCE.max(claimed.lease / 4))
}

/// What of an attempt matters to a sweep: the length of its lease in ms, or 0.
fn counted_lease(attempt: &Attempt, kind: Kind) -> i64 {
    let counts = kind != Kind::Lease || attempt.state == State::Running;
    if counts { to_ms(attempt.lease) } else { 0 }
}

/// The line of a row that the scripts read.
pub(super) fn line(attempt: &Attempt, kind: Kind) -> String {
    let (fence, token, state) = (attempt.fence.0, attempt.token, attempt.state.as_str());
    let lease = counted_lease(attempt, kind);
    let over = if row::may_be_passed_over(attempt) { "over" } else { "-" };
    let ended = attempt.end.as_ref().map_or_else(|| "-".to_owned(), |end| end.at.0.to_string());
    format!("{fence} {token} {state} {lease} {over} {ended}")
}

/// The row of an attempt: a line that the scripts read, and the document.
fn row_of(attempt: &Attempt, kind: Kind) -> Result<Row, StoreError> {
    let runs = attempt.state == State::Running;
    Ok(Row {
        generation: attempt.generation.to_string(),
        fence: attempt.fence.0.to_string(),
        token: attempt.token.to_string(),
        lease: counted_lease(attempt, kind).to_string(),
        running: runs && kind != Kind::Step,
        marked: runs || row::is_unlooked(attempt),
        text: format!("{}\n{}", line(attempt, kind), document::write(attempt)?),
    })
}

/// How long the output of an attempt is kept, once that has ended.
fn kept(attempt: &Attempt, keys: &Keys) -> Option<Kept> {
    let end = attempt.end.as_ref()?;
    let ms = match (attempt.state, end.expiry) {
        // From the write on: no clock but the server's is asked.
        (State::Done, Expiry::At(at)) => {
            let left = at.0.saturating_sub(end.at.0).max(0);
            Some(left.saturating_add(to_ms(KEPT_FOR)))
        }
        _ => None,
    };
    // A server cannot count further than this; such a record is kept for good.
    let ms = ms.filter(|ms| *ms < 1 << 50);
    end.output.is_some().then(|| Kept { output: keys.output(attempt.fence), ms })
}
