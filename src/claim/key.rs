//! Keys, names and namespaces: data, never a path.

use std::ffi::OsStr;
use std::fmt;

use super::id::OperationId;

/// The longest key, in bytes.
pub const MAX_BYTES: usize = 1024;

/// What a `once` or a `lease` is about: 1 to 1024 bytes of UTF-8 without
/// control characters. Compared byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

/// Separates equal keys; its own column in every store, never joined to the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(String);

/// Why a text cannot be a key or a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No bytes at all: above all, a shell variable that is not set.
    Empty,
    /// More than [`MAX_BYTES`]; carries the length that was given, in bytes.
    TooLong(usize),
    /// A control character, which no terminal or log line would survive.
    Control(char),
    /// Bytes that are not UTF-8.
    NotUtf8,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty (is a shell variable unset?)"),
            Self::TooLong(bytes) => {
                write!(f, "it has {bytes} bytes, and {MAX_BYTES} is the most")
            }
            Self::Control(c) => {
                write!(f, "it has the control character {}", c.escape_default())
            }
            Self::NotUtf8 => write!(f, "it is not UTF-8"),
        }
    }
}

impl std::error::Error for Refused {}

fn check(text: &str) -> Result<(), Refused> {
    if text.is_empty() {
        return Err(Refused::Empty);
    }
    if text.len() > MAX_BYTES {
        return Err(Refused::TooLong(text.len()));
    }
    text.chars().find(|c| c.is_control()).map_or(Ok(()), |c| Err(Refused::Control(c)))
}

impl Key {
    /// Takes a text as a key.
    ///
    /// # Errors
    /// [`Refused`] when it is empty, too long or has a control character.
    pub fn new(text: &str) -> Result<Self, Refused> {
        check(text).map(|()| Self(text.to_owned()))
    }

    /// Takes an argument of the command line as a key.
    ///
    /// # Errors
    /// As [`Key::new`], and when the bytes are not UTF-8.
    pub fn from_os(text: &OsStr) -> Result<Self, Refused> {
        Self::new(text.to_str().ok_or(Refused::NotUtf8)?)
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Namespace {
    /// Takes a text as a namespace.
    ///
    /// # Errors
    /// As [`Key::new`].
    pub fn new(text: &str) -> Result<Self, Refused> {
        check(text).map(|()| Self(text.to_owned()))
    }

    /// The namespace as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a chain of attempts is about. Two kinds never share a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A command that runs once per key.
    Once,
    /// A name that is held for a while.
    Lease,
    /// A step of an operation, in the namespace that is the operation's alone.
    Step,
}

impl Kind {
    /// The word for it in stores and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Lease => "lease",
            Self::Step => "step",
        }
    }

    /// Whether a key of this kind has an outcome that is replayed.
    #[must_use]
    pub fn runs_once(self) -> bool {
        match self {
            Self::Once | Self::Step => true,
            Self::Lease => false,
        }
    }

    /// Reads the word that [`Kind::as_str`] writes.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Once, Self::Lease, Self::Step].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The identity of one chain of attempts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// What the chain is about.
    pub kind: Kind,
    /// The namespace of the key.
    pub namespace: Namespace,
    /// The key.
    pub key: Key,
}

impl Subject {
    /// The step of this name of an operation. No two operations share a namespace, and
    /// no other kind is in it.
    #[must_use]
    pub fn step(operation: OperationId, name: Key) -> Self {
        Self { kind: Kind::Step, namespace: Self::steps_of(operation), key: name }
    }

    /// The namespace of the steps of an operation.
    #[must_use]
    pub fn steps_of(operation: OperationId) -> Namespace {
        Namespace(operation.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn the_empty_string_of_an_unset_variable_is_no_key() {
        assert_eq!(Key::new(""), Err(Refused::Empty));
    }

    #[test]
    fn a_key_has_1024_bytes_at_the_most() {
        assert!(Key::new(&"k".repeat(1024)).is_ok());
        assert_eq!(Key::new(&"k".repeat(1025)), Err(Refused::TooLong(1025)));
        assert_eq!(Key::new(&"é".repeat(513)), Err(Refused::TooLong(1026)));
    }

    #[test]
    fn control_characters_of_either_block_are_refused() {
        assert_eq!(Key::new("a\nb"), Err(Refused::Control('\n')));
        assert_eq!(Key::new("a\u{85}"), Err(Refused::Control('\u{85}')));
        assert!(Key::new("a b/../c*").is_ok());
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        assert_eq!(Key::from_os(OsStr::from_bytes(b"\xff")), Err(Refused::NotUtf8));
    }
}
