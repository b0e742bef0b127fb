//! What a store's keys are called.
//!
//! All of them begin with one hash tag, so that a cluster keeps them on one node: a script
//! may touch no others, and the fence is the whole store's. A chain is named by its identity,
//! `KIND:NAMESPACE` and `KEY` with a control character between, which no namespace and no
//! key contains and which sorts before all they do; so identities sort as they do.

use sha2::{Digest as _, Sha256};

use crate::claim::fence::Fence;
use crate::claim::id::{OperationId, to_hex};
use crate::claim::key::{Key, Kind, Namespace, Subject};

/// Parts a namespace from a key: the unit separator, in shells `$'\x1f'`.
const SEPARATOR: char = '\u{1f}';

/// What sorts right after it.
const AFTER_SEPARATOR: char = ' ';

/// Names the keys of one store.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    tag: String,
}

impl Keys {
    /// Those of the store of this name.
    pub(super) fn of(name: &str) -> Self {
        Self { tag: format!("{{{name}}}:") }
    }

    fn named(&self, what: &str) -> String {
        format!("{}{what}", self.tag)
    }

    /// The format of what is kept.
    pub(super) fn version(&self) -> String {
        self.named("version")
    }

    /// The last fence that was drawn.
    pub(super) fn fence(&self) -> String {
        self.named("fence")
    }

    /// Counts changes: a chain that is as it was has the number that it had.
    pub(super) fn revision(&self) -> String {
        self.named("revision")
    }

    /// Members of all chains by their fences.
    pub(super) fn fences(&self) -> String {
        self.named("fences")
    }

    /// Fences by tokens.
    pub(super) fn tokens(&self) -> String {
        self.named("tokens")
    }

    /// How many attempts have a lease of which length.
    pub(super) fn leases(&self) -> String {
        self.named("leases")
    }

    /// Members that run, steps left out.
    pub(super) fn running(&self) -> String {
        self.named("running")
    }

    /// Identities, in their order.
    pub(super) fn subjects(&self) -> String {
        self.named("subjects")
    }

    /// What the keys of chains begin with.
    pub(super) fn chains(&self) -> String {
        self.named("chain:")
    }

    /// The rows of a chain by their generations, and what makes reading them cheap.
    pub(super) fn chain(&self, subject: &Subject) -> String {
        self.chains() + &identity(subject)
    }

    /// What the keys of outputs begin with.
    pub(super) fn outputs(&self) -> String {
        self.named("out:")
    }

    /// The output of an attempt, in parts.
    pub(super) fn output(&self, fence: Fence) -> String {
        format!("{}{}", self.outputs(), fence.0)
    }

    /// Output on its way, before it is any attempt's.
    pub(super) fn upload(&self, random: [u8; 16]) -> String {
        self.named("upload:") + &to_hex(&random)
    }

    /// Where changes of a chain are told of.
    pub(super) fn channel(&self, subject: &Subject) -> String {
        let digest = Sha256::digest(identity(subject));
        self.named("told:") + &to_hex(&digest[..16])
    }
}

/// What names a chain.
pub(super) fn identity(subject: &Subject) -> String {
    beginning(subject.kind, Some(&subject.namespace)) + subject.key.as_str()
}

/// What the identities of a kind begin with, or those in one namespace.
pub(super) fn beginning(kind: Kind, namespace: Option<&Namespace>) -> String {
    let kind = kind.as_str();
    namespace
        .map_or_else(|| format!("{kind}:"), |namespace| format!("{kind}:{namespace}{SEPARATOR}"))
}

/// The chain that an identity names, if it is one that a doubletap wrote.
pub(super) fn subject(identity: &str) -> Option<Subject> {
    let (kind, rest) = identity.split_once(':')?;
    let (namespace, key) = rest.split_once(SEPARATOR)?;
    Some(Subject {
        kind: Kind::parse(kind)?,
        namespace: Namespace::new(namespace).ok()?,
        key: Key::new(key).ok()?,
    })
}

/// The generation and the chain that a member names.
pub(super) fn member(member: &str) -> Option<(i64, Subject)> {
    let (generation, identity) = member.split_once(':')?;
    Some((generation.parse().ok()?, subject(identity)?))
}

/// A range of identities, as `ZRANGEBYLEX` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// From here on.
    pub(super) first: String,
    /// Up to here.
    pub(super) last: String,
}

impl Range {
    /// All of a kind, or those in one namespace.
    pub(super) fn of(kind: Kind, namespace: Option<&Namespace>) -> Self {
        let beginning = beginning(kind, namespace);
        // No text is longer than what it begins with and sorts after this, in bytes.
        let after = if namespace.is_some() { AFTER_SEPARATOR } else { ';' };
        let last = format!("({}{after}", &beginning[..beginning.len() - 1]);
        Self { first: format!("[{beginning}"), last }
    }

    /// All there are.
    pub(super) fn all() -> Self {
        Self { first: "-".to_owned(), last: "+".to_owned() }
    }

    /// The steps of an operation.
    pub(super) fn of_steps(operation: OperationId) -> Self {
        Self::of(Kind::Step, Some(&Subject::steps_of(operation)))
    }

    /// What of it comes after an identity.
    pub(super) fn after(&self, identity: &str) -> Self {
        Self { first: format!("({identity}"), last: self.last.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject_of(kind: Kind, namespace: &str, key: &str) -> Subject {
        Subject { kind, namespace: Namespace::new(namespace).unwrap(), key: Key::new(key).unwrap() }
    }

    #[test]
    fn an_identity_names_one_chain() {
        let one = subject_of(Kind::Once, "a:b", "c:d é");
        assert_eq!(subject(&identity(&one)), Some(one.clone()));
        let other = subject_of(Kind::Once, "a", "b:c:d é");
        assert_ne!(identity(&one), identity(&other));
        assert_eq!(member(&format!("12:{}", identity(&one))), Some((12, one)));
    }

    #[test]
    fn what_no_doubletap_wrote_names_none() {
        for text in ["", "once", "once:a", "once:a\u{1f}", "twice:a\u{1f}b", "once:\u{1f}b"] {
            assert_eq!(subject(text), None, "{text:?}");
        }
    }

    #[test]
    fn all_keys_of_a_store_carry_one_hash_tag() {
        let (keys, chain) = (Keys::of("doubletap"), subject_of(Kind::Lease, "n}", "{k}"));
        for key in [keys.version(), keys.chain(&chain), keys.output(Fence(1)), keys.upload([7; 16])]
        {
            assert!(key.starts_with("{doubletap}:"), "{key}");
        }
    }

    #[test]
    fn a_range_holds_what_is_asked_for_and_nothing_else() {
        let holds = |range: &Range, subject: &Subject| {
            let identity = identity(subject);
            let begins = match range.first.split_at(1) {
                ("[", first) => *first <= *identity,
                (_, first) => *first < *identity,
            };
            begins && *identity < range.last[1..]
        };
        let namespace = Namespace::new("a").unwrap();
        let (all, one) = (Range::of(Kind::Once, None), Range::of(Kind::Once, Some(&namespace)));
        for (subject, in_all, in_one) in [
            (subject_of(Kind::Once, "a", "k"), true, true),
            (subject_of(Kind::Once, "a", "é"), true, true),
            (subject_of(Kind::Once, "a b", "k"), true, false),
            (subject_of(Kind::Once, "é", "k"), true, false),
            (subject_of(Kind::Lease, "a", "k"), false, false),
        ] {
            assert_eq!((holds(&all, &subject), holds(&one, &subject)), (in_all, in_one));
            assert!(!holds(&all.after(&identity(&subject)), &subject));
        }
    }
}
