//! The fingerprint: what is being asked for, digested.
//!
//! Each field has a digest of its own, so that a mismatch can name the field.
//! Lengths go before contents everywhere: `sh -c 'a b'` and `sh -c a b` must
//! differ. The files and variables are read elsewhere; here they are bytes.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::id::to_hex;

/// Stands before every digest; another way of digesting gets another number.
const HEADER: &[u8] = b"doubletap fingerprint 1\n";

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// One thing that belongs to what is asked for (`--fingerprint`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nothing by default: drops the command line.
    None,
    /// The command line.
    Argv,
    /// The working directory.
    Cwd,
    /// An environment variable.
    Env(String),
    /// A file's bytes.
    File(PathBuf),
    /// A JSON file: object keys sorted, arrays in their order.
    Json(PathBuf),
    /// All of standard input.
    Stdin,
    /// A text given on the spot.
    Text(String),
}

/// Why a text is no [`Part`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPart(String);

impl fmt::Display for BadPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is none of argv, none, cwd, env:NAME, file:PATH, json:PATH, stdin, text:STRING",
            self.0
        )
    }
}

impl std::error::Error for BadPart {}

impl Part {
    /// Reads the value of `--fingerprint`.
    ///
    /// # Errors
    /// [`BadPart`] for an unknown word or a missing name.
    pub fn parse(text: &str) -> Result<Self, BadPart> {
        let bad = || BadPart(text.to_owned());
        match text.split_once(':') {
            None => match text {
                "none" => Ok(Self::None),
                "argv" => Ok(Self::Argv),
                "cwd" => Ok(Self::Cwd),
                "stdin" => Ok(Self::Stdin),
                _ => Err(bad()),
            },
            Some(("text", value)) => Ok(Self::Text(value.to_owned())),
            Some((_, "")) => Err(bad()),
            Some(("env", name)) if !name.contains('=') => Ok(Self::Env(name.to_owned())),
            Some(("file", path)) => Ok(Self::File(PathBuf::from(OsString::from(path)))),
            Some(("json", path)) => Ok(Self::Json(PathBuf::from(OsString::from(path)))),
            Some(_) => Err(bad()),
        }
    }
}

/// Digests one field's contents, item by item.
pub struct FieldDigest(Sha256);

impl FieldDigest {
    /// Begins a field.
    #[must_use]
    pub fn new() -> Self {
        Self(Sha256::new())
    }

    /// Adds one item, its length first.
    pub fn item(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a piece of a stream that is the field's last item.
    pub fn stream(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Ends the field.
    #[must_use]
    pub fn finish(self) -> Digest {
        self.0.finalize().into()
    }
}

impl Default for FieldDigest {
    fn default() -> Self {
        Self::new()
    }
}

/// One named part of a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Field {
    /// What people call it: `argv`, `env:NAME`, `file:PATH` …
    pub name: String,
    /// The digest of its contents.
    pub digest: Digest,
}

/// What is being asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    fields: Vec<Field>,
    total: Digest,
}

impl Fingerprint {
    /// Digests fields; their order on the command line does not matter.
    #[must_use]
    pub fn of(mut fields: Vec<Field>) -> Self {
        fields.sort();
        fields.dedup();
        let mut total = Sha256::new();
        total.update(HEADER);
        for field in &fields {
            total.update((field.name.len() as u64).to_le_bytes());
            total.update(field.name.as_bytes());
            total.update(field.digest);
        }
        Self { total: total.finalize().into(), fields }
    }

    /// The digest of everything.
    #[must_use]
    pub fn total(&self) -> &Digest {
        &self.total
    }

    /// The fields, sorted by name.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The names of the fields in which the two differ.
    #[must_use]
    pub fn differing_fields(&self, other: &Self) -> Vec<String> {
        let only = |of: &Self, than: &Self| -> Vec<String> {
            let missing = of.fields.iter().filter(|field| !than.fields.contains(field));
            missing.map(|field| field.name.clone()).collect()
        };
        let mut names = only(self, other);
        names.extend(only(other, self));
        names.sort();
        names.dedup();
        names
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn argv(words: &[&str]) -> Fingerprint {
        let mut digest = FieldDigest::new();
        for word in words {
            digest.item(word.as_bytes());
        }
        Fingerprint::of(vec![Field { name: "argv".into(), digest: digest.finish() }])
    }

    fn field(name: &str, contents: &str) -> Field {
        let mut digest = FieldDigest::new();
        digest.item(contents.as_bytes());
        Field { name: name.into(), digest: digest.finish() }
    }

    #[test]
    fn where_one_argument_ends_matters() {
        assert_ne!(argv(&["sh", "-c", "a b"]), argv(&["sh", "-c", "a", "b"]));
        assert_ne!(argv(&["a", ""]), argv(&["a"]));
    }

    #[test]
    fn the_order_of_the_options_does_not_matter() {
        let (a, b) = (field("cwd", "/"), field("env:A", "1"));
        assert_eq!(Fingerprint::of(vec![a.clone(), b.clone()]), Fingerprint::of(vec![b, a]));
    }

    #[test]
    fn a_mismatch_names_the_fields_that_differ_and_no_other() {
        let first = Fingerprint::of(vec![field("argv", "x"), field("env:A", "1")]);
        let second =
            Fingerprint::of(vec![field("argv", "x"), field("env:A", "2"), field("cwd", "/")]);
        assert_eq!(first.differing_fields(&second), ["cwd", "env:A"]);
    }

    #[test]
    fn the_digest_is_the_same_in_every_release() {
        assert_eq!(
            argv(&["true"]).to_string(),
            "72803d2c80647e995323c9891cb02b3d80db3a128741a73e522796520272cca1"
        );
    }

    #[test]
    fn parts_are_read() {
        assert_eq!(Part::parse("env:HOME"), Ok(Part::Env("HOME".into())));
        assert_eq!(Part::parse("text:"), Ok(Part::Text(String::new())));
        assert_eq!(Part::parse("file:a:b"), Ok(Part::File("a:b".into())));
        for bad in ["", "env", "env:", "env:A=B", "file:", "stdin:", "text", "argv:1"] {
            assert!(Part::parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = Part::parse(&text);
        }
    }
}
