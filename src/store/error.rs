//! What can go wrong with a store, in sentences that name the remedy.

use std::fmt;
use std::time::Duration;

use crate::claim::duration::for_people;

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
    /// What `what` says before how long was waited.
    in_vain: Option<String>,
}

impl StoreError {
    /// An error of a kind; what it is about is a lower-case fragment.
    #[must_use]
    pub fn new(trouble: Trouble, what: impl Into<String>) -> Self {
        Self { trouble, what: what.into(), remedy: None, in_vain: None }
    }

    /// The error of a server whose answer did not come within a time, which is what the
    /// sentence ends with.
    #[must_use]
    pub fn late(what: impl Into<String>, limit: Duration) -> Self {
        let in_vain = Some(what.into());
        Self { in_vain, ..Self::new(Trouble::Away, "") }.within(limit)
    }

    /// The same where all the time was this, and the call that failed had some of it. Any
    /// other error is as it was.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        if let Some(what) = &self.in_vain {
            self.what = format!("{what} within {}", for_people(limit));
        }
        self
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_waited_for_an_answer_is_told_for_how_long() {
        let [some, all] = [2, 10].map(Duration::from_secs);
        let late = StoreError::late("the server did not answer", some).with_remedy("try again");
        assert_eq!(late.to_string(), "the server did not answer within 2s; try again");
        let late = late.within(all);
        assert_eq!(late.to_string(), "the server did not answer within 10s; try again");
        assert_eq!(late.trouble(), Trouble::Away);
        let broken = StoreError::new(Trouble::Away, "the connection broke").within(all);
        assert_eq!(broken.to_string(), "the connection broke");
    }
}
