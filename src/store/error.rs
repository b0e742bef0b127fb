//! What can go wrong with a store, in sentences that name the remedy.

use std::fmt;

/// The kind of trouble; callers only ask whether trying again makes sense and
/// whether less might fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Somebody else's lock outlasted the time limit.
    Locked,
    /// It is on a server, which does not answer, or not in time. What was written just
    /// then may be there.
    Away,
    /// The server has it, but too few of its copies have acknowledged that in time.
    Unacknowledged,
    /// No room.
    Full,
    /// It cannot be written.
    ReadOnly,
    /// It is not, or no longer, a store.
    Damaged,
    /// It is not safe to use, or made by a newer doubletap.
    Refused,
    /// The output is lost, and nothing else.
    Output,
    /// Anything else.
    Other,
}

impl Trouble {
    /// Whether the same call may get its answer a little later.
    #[must_use]
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Locked | Self::Away | Self::Unacknowledged)
    }
}

/// A store that cannot be used.
#[derive(Debug, Clone)]
pub struct StoreError {
    trouble: Trouble,
    what: String,
    remedy: Option<String>,
}

impl StoreError {
    /// An error of a kind; what it is about is a lower-case fragment.
    #[must_use]
    pub fn new(trouble: Trouble, what: impl Into<String>) -> Self {
        Self { trouble, what: what.into(), remedy: None }
    }

    /// Adds what to do about it, or what to type.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
    }

    /// The kind of trouble.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        self.trouble
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.remedy.iter().try_for_each(|remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for StoreError {}
