//! What a look at a store has found, or at the machine that it is on.

use super::StoreError;

/// How a finding is to be taken; the worst comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Ok,
    /// Worth knowing, and in nobody's way.
    Note,
    /// Not as it must be.
    Bad,
}

impl Grade {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Bad => "bad",
        }
    }
}

/// One thing that was looked at. Texts may hold what came from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at: a name that never changes its meaning.
    pub check: &'static str,
    /// How it is to be taken.
    pub grade: Grade,
    /// What was found: a lower-case fragment.
    pub found: String,
    /// What to do about it, where it is not as it should be: a command to be
    /// typed, if one does it.
    pub remedy: Option<String>,
}

impl Finding {
    /// Something that is as it should be.
    #[must_use]
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, grade: Grade::Ok, found: found.into(), remedy: None }
    }

    /// Something worth knowing.
    #[must_use]
    pub fn note(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, grade: Grade::Note, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// Something that is not as it must be.
    #[must_use]
    pub fn bad(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, grade: Grade::Bad, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// What cannot be used or looked at.
    #[must_use]
    pub fn of_error(check: &'static str, error: &StoreError) -> Self {
        let remedy = error.remedy().unwrap_or("try again, or name another store with --store");
        Self::bad(check, error.what(), remedy)
    }
}
