//! A row that cannot be read: whose it is, and what a person can do about it.
//!
//! Nobody knows whether its key is held or done, so nothing is decided about that: nothing
//! runs, and nothing goes. Only a person may drop it, by force.

use std::fmt;

use crate::claim::attempt::Attempt;
use crate::claim::key::{Key, Kind, Namespace, Subject};
use crate::text::quote;

use super::{Finding, StoreError, Trouble};

/// So many are told of one by one.
const TOLD: usize = 10;

/// What a row comes to.
pub type Found = Result<(Subject, Attempt), UnreadableRow>;

/// What is known of a row that no doubletap wrote as it is. Where names cannot be read
/// either, they are told as they were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableRow {
    /// What its chain is about.
    pub kind: String,
    /// The namespace of its chain.
    pub namespace: String,
    /// The key of its chain.
    pub key: String,
    /// Which attempt of the chain it is.
    pub generation: i64,
    /// What is wrong with it.
    pub why: String,
}

impl UnreadableRow {
    /// A row of this chain.
    pub(super) fn of(subject: &Subject, generation: i64, why: impl Into<String>) -> Self {
        Self {
            kind: subject.kind.as_str().to_owned(),
            namespace: subject.namespace.to_string(),
            key: subject.key.to_string(),
            generation,
            why: why.into(),
        }
    }

    /// The sentence about it; `option` names the store again.
    #[must_use]
    pub fn error(&self, option: &str) -> StoreError {
        StoreError::new(Trouble::Damaged, self.to_string()).with_remedy(self.remedy(option))
    }

    /// What is to be typed, where that helps.
    fn remedy(&self, option: &str) -> String {
        let is_known = Namespace::new(&self.namespace).is_ok() && Key::new(&self.key).is_ok();
        let kind = match Kind::parse(&self.kind).filter(|_| is_known) {
            Some(Kind::Once) => "",
            Some(Kind::Lease) => " --kind lease",
            Some(Kind::Step) => {
                return format!(
                    "to start its operation over: doubletap forget, with the key that has it in: doubletap list --json {option}"
                );
            }
            None => return "restore the store, or name another with --store".to_owned(),
        };
        format!(
            "to start over, whoever holds it: doubletap forget --key={}{kind} --namespace {} --force {option}",
            quote(&self.key),
            quote(&self.namespace)
        )
    }
}

impl fmt::Display for UnreadableRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, key, generation, why } = self;
        let place = match Kind::parse(kind) {
            Some(Kind::Step) => format!("a step of the operation {namespace}"),
            Some(Kind::Once | Kind::Lease) | None => {
                format!("{kind}, in the namespace {namespace}")
            }
        };
        write!(f, "{key}: attempt {generation} cannot be read ({why}; {place})")
    }
}

impl std::error::Error for UnreadableRow {}

/// Those that a look at every row has found. However many they are, little is kept.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    told: Vec<UnreadableRow>,
    untold: u64,
}

impl Unreadable {
    /// Another one.
    pub(super) fn note(&mut self, row: UnreadableRow) {
        if self.told.len() < TOLD {
            self.told.push(row);
        } else {
            self.untold += 1;
        }
    }

    /// One finding for each, as far as they are told of.
    pub(super) fn findings(&self, option: &str) -> Vec<Finding> {
        let told = self.told.iter().map(|row| Finding::of_error(ROW, &row.error(option)));
        let more = (self.untold > 0).then(|| {
            let found = format!("and {} more that cannot be read", self.untold);
            Finding::bad(ROW, found, format!("when those are gone: doubletap doctor {option}"))
        });
        told.chain(more).collect()
    }
}

/// What a row that cannot be read is reported as.
pub(super) const ROW: &str = "row";

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, namespace: &str, key: &str) -> UnreadableRow {
        UnreadableRow {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            key: key.to_owned(),
            generation: 3,
            why: "unreadable state".to_owned(),
        }
    }

    #[test]
    fn what_is_typed_about_it_names_it_whatever_it_is_called() {
        for ((kind, namespace, key), typed) in [
            (("once", "default", "k"), "forget --key=k --namespace default --force --store s.db"),
            (
                ("lease", "it's", "-n"),
                r"forget --key=-n --kind lease --namespace 'it'\''s' --force --store s.db",
            ),
            (("step", "00ff", "part"), "list --json --store s.db"),
        ] {
            let error = row(kind, namespace, key).error("--store s.db");
            assert!(error.remedy().unwrap().ends_with(&format!(": doubletap {typed}")), "{error}");
            assert!(error.what().starts_with(&format!("{key}: attempt 3 cannot be read (")));
        }
    }

    #[test]
    fn nothing_is_typed_about_what_cannot_even_be_named() {
        for (kind, namespace, key) in [("twice", "n", "k"), ("once", "", "k"), ("once", "n", "\n")]
        {
            let error = row(kind, namespace, key).error("--store s.db");
            assert!(!error.remedy().unwrap().contains("doubletap"), "{error}");
        }
    }
}
