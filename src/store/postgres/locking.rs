//! The numbers of advisory locks: one for each chain, and one for setting a store up.
//!
//! A lock is a number of 64 bits, shared with all that uses the database. Two chains of
//! one number wait for each other now and then, and that is all.

use sha2::{Digest as _, Sha256};

use crate::claim::key::Subject;

/// The number of an advisory lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LockNumber(pub(super) i64);

impl LockNumber {
    /// The lock of a chain.
    pub(super) fn of_chain(schema: &str, subject: &Subject) -> Self {
        let (kind, namespace) = (subject.kind.as_str(), subject.namespace.as_str());
        Self::of(&["chain", schema, kind, namespace, subject.key.as_str()])
    }

    /// The lock under which the tables of a schema are made.
    pub(super) fn of_setup(schema: &str) -> Self {
        Self::of(&["setup", schema])
    }

    fn of(fields: &[&str]) -> Self {
        let mut digest = Sha256::new();
        digest.update(b"doubletap lock 1\n");
        for field in fields {
            digest.update((field.len() as u64).to_le_bytes());
            digest.update(field.as_bytes());
        }
        let digest = digest.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        Self(i64::from_be_bytes(first))
    }

    /// What waiters are told of its chain.
    pub(super) fn to_hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::key::{Key, Kind, Namespace};

    fn of(kind: Kind, namespace: &str, key: &str) -> LockNumber {
        let namespace = Namespace::new(namespace).unwrap();
        LockNumber::of_chain("doubletap", &Subject { kind, namespace, key: Key::new(key).unwrap() })
    }

    #[test]
    fn every_program_locks_the_same_number() {
        assert_eq!(of(Kind::Once, "default", "deploy").to_hex(), "122dd204ad706b82");
    }

    #[test]
    fn where_a_field_ends_matters() {
        assert_ne!(of(Kind::Once, "a", "bc"), of(Kind::Once, "ab", "c"));
        assert_ne!(of(Kind::Once, "a", "b"), of(Kind::Lease, "a", "b"));
        assert_ne!(LockNumber::of_setup("a"), LockNumber::of_setup("b"));
    }
}
