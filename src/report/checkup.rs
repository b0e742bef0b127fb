//! What `doctor` says: a table for people, and a document.

use serde::Serialize;

use super::columns::{Cell, columns};
use super::form::Form;
use super::sentences::Topic;
use crate::claim::decide::Seen;
use crate::claim::duration::for_people;
use crate::claim::holder::{Life, Reach};
use crate::claim::key::Kind;
use crate::claim::standing::Standing;
use crate::store::{Finding, Grade};
use crate::text::escape;

/// Everything that was looked at. Names and verdicts do not change their meaning.
#[derive(Debug, Serialize)]
pub struct CheckupDocument {
    /// The worst verdict of all: `ok`, `note` or `bad`.
    pub verdict: &'static str,
    /// The checks, in the order in which they were made.
    pub checks: Vec<CheckDocument>,
    /// What the race came to; null if there was none.
    pub race: Option<RaceDocument>,
}

/// One check.
#[derive(Debug, Serialize)]
pub struct CheckDocument {
    /// What was looked at. Each stale holder is a check of its own of one name.
    pub name: &'static str,
    /// `ok`, `note` or `bad`.
    pub verdict: &'static str,
    /// What was found.
    pub found: String,
    /// What to do about it, or to type; null where all is well.
    pub remedy: Option<String>,
}

/// So many processes at one key, and beside them at one file.
#[derive(Clone, Debug, Serialize)]
pub struct RaceDocument {
    /// How many they were.
    pub processes: usize,
    /// Where they ran.
    pub folder: String,
    /// How often the command ran under doubletap.
    pub doubletap_ran: usize,
    /// How many of those calls were given its output again.
    pub doubletap_replayed: usize,
    /// How many were told that the key was busy (75).
    pub doubletap_busy: usize,
    /// Whether everybody, and a call afterwards, got the bytes of the one that ran.
    pub replay_is_exact: bool,
    /// What the others ran.
    pub naive: &'static str,
    /// How often its command ran.
    pub naive_ran: usize,
}

/// The worst of all verdicts.
#[must_use]
pub fn worst(findings: &[Finding]) -> Grade {
    findings.iter().map(|finding| finding.grade).max().unwrap_or(Grade::Ok)
}

/// One line for each check.
#[must_use]
pub fn table(findings: &[Finding], form: Form) -> String {
    let rows: Vec<Vec<Cell>> = findings.iter().map(row).collect();
    columns(&rows, form)
}

fn row(finding: &Finding) -> Vec<Cell> {
    let told = match &finding.remedy {
        None => escape(&finding.found),
        Some(remedy) => format!("{}; {}", escape(&finding.found), escape(remedy)),
    };
    vec![finding.grade.into(), finding.check.into(), told.into()]
}

/// The document.
#[must_use]
pub fn document(findings: &[Finding], race: Option<RaceDocument>) -> CheckupDocument {
    let check = |finding: &Finding| CheckDocument {
        name: finding.check,
        verdict: finding.grade.as_str(),
        found: finding.found.clone(),
        remedy: finding.remedy.clone(),
    };
    CheckupDocument {
        verdict: worst(findings).as_str(),
        checks: findings.iter().map(check).collect(),
        race,
    }
}

impl Topic<'_> {
    /// What is said of an attempt that nobody is about any more, and what settles
    /// it; nothing of one whose holder is as it should be.
    #[must_use]
    pub fn stale(&self, check: &'static str, seen: &Seen, standing: Standing) -> Option<Finding> {
        let (key, holder) = (&self.subject.key, self.holder(&seen.attempt));
        let found = match standing {
            Standing::Orphaned => {
                format!("{key}: orphaned: its command runs without its doubletap ({holder})")
            }
            Standing::Interrupted if seen.life == Life::Unknown => {
                format!("{key}: interrupted: its holder has not renewed it ({holder})")
            }
            Standing::Interrupted => format!("{key}: interrupted: its holder died ({holder})"),
            _ => return None,
        };
        let remedy = match (standing, seen.life, self.subject.kind) {
            (Standing::Orphaned, Life::Orphaned, _) => self.end_of(seen),
            (Standing::Interrupted, _, Kind::Once) => format!(
                "the next call runs it again; where that has --on-crash stop: {}",
                self.settle_or_forget()
            ),
            _ => self.advise("forget", ""),
        };
        Some(Finding::note(check, found, remedy))
    }

    /// How a command is ended whose wrapper is gone.
    fn end_of(&self, seen: &Seen) -> String {
        match seen.attempt.group {
            Some(group) if group.reach == Reach::Group => format!("kill -- -{}", group.id),
            Some(group) => format!("kill {}", group.id),
            None => self.advise("forget", " --force"),
        }
    }
}

/// How long it took, for the line about a race.
#[must_use]
pub fn race(race: &RaceDocument, took: std::time::Duration) -> String {
    let number = race.processes;
    format!(
        "doubletap: {} of {number} ran ({} replayed, {} busy); {}: {} of {number} ran; in {}, {}",
        race.doubletap_ran,
        race.doubletap_replayed,
        race.doubletap_busy,
        race.naive,
        race.naive_ran,
        race.folder,
        for_people(took)
    )
}
