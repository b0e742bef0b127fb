//! The `Idempotency-Key` of a request, as it is written in its header.
//!
//! It is a string of structured fields (RFC 9651): `"8e03978e-40d5"`, with `\"` and `\\`
//! inside. Many clients leave the quotation marks out; that is taken too, as far as it
//! can be read in one way only.

mod parameters;

use std::fmt;

use crate::claim::key::{Key, Refused};
use parameters::are_parameters;

/// Why a header has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadKey {
    /// It is neither a quoted string nor one plain word.
    Unreadable,
    /// It can be read, and is no key.
    NotAKey(Refused),
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => write!(
                f,
                "it is neither a quoted string of printable ASCII, as in \"8e03978e-40d5\", nor a single word without quotation marks, commas, semicolons and backslashes"
            ),
            Self::NotAKey(Refused::Empty) => f.write_str("it is an empty string"),
            Self::NotAKey(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for BadKey {}

/// Reads a header; nothing where it is empty, which a server may make of a missing one.
///
/// # Errors
/// [`BadKey`] when it is there, and no key.
pub fn read(header: &[u8]) -> Result<Option<Key>, BadKey> {
    let header = header.trim_ascii();
    let key = match header.split_first() {
        None => return Ok(None),
        Some((b'"', rest)) => quoted(rest).ok_or(BadKey::Unreadable)?,
        Some(_) => plain(header).ok_or(BadKey::Unreadable)?,
    };
    Key::new(&key).map(Some).map_err(BadKey::NotAKey)
}

/// What is between the quotation marks. Parameters may follow, and mean nothing.
fn quoted(rest: &[u8]) -> Option<String> {
    let (key, after) = string(rest)?;
    are_parameters(after).then_some(key)
}

/// A string after its first quotation mark, and what follows its last.
fn string(rest: &[u8]) -> Option<(String, &[u8])> {
    let mut key = String::new();
    let mut bytes = rest.iter();
    loop {
        match *bytes.next()? {
            b'"' => return Some((key, bytes.as_slice())),
            b'\\' => match *bytes.next()? {
                escaped @ (b'"' | b'\\') => key.push(char::from(escaped)),
                _ => return None,
            },
            byte @ 0x20..=0x7e => key.push(char::from(byte)),
            _ => return None,
        }
    }
}

/// One word that means the same with and without quotation marks. A comma would be
/// where a server has joined two headers.
fn plain(word: &[u8]) -> Option<String> {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"\",;\\".contains(byte);
    word.iter().all(is_plain).then(|| word.iter().copied().map(char::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(header: &str) -> Option<String> {
        read(header.as_bytes()).unwrap().map(|key| key.as_str().to_owned())
    }

    #[test]
    fn the_quoted_form_and_the_plain_one_are_the_same_key() {
        for header in
            ["\"8e03978e-40d5\"", "8e03978e-40d5", "  8e03978e-40d5 ", "\"8e03978e-40d5\";v=1"]
        {
            assert_eq!(key(header).as_deref(), Some("8e03978e-40d5"), "{header}");
        }
    }

    #[test]
    fn quotation_marks_and_backslashes_are_escaped_by_a_backslash() {
        assert_eq!(key(r#""a\"b\\c d""#).as_deref(), Some(r#"a"b\c d"#));
    }

    #[test]
    fn a_header_of_blanks_is_none() {
        assert_eq!((key(""), key(" \t")), (None, None));
    }

    #[test]
    fn what_cannot_be_read_in_one_way_only_is_refused() {
        for header in [
            "\"open",
            "\"a\"b\"",
            "\"a\", \"b\"",
            "a, b",
            "a b",
            "\"a\\n\"",
            "a\\b",
            "a\"b",
            "a;b",
            "\"é\"",
            "é",
            "\"a\tb\"",
            "\"a\\",
            "\"a\";\u{1}",
            "\"a\";v=1, \"b\"",
            "\"a\"; , \"b\"",
            "\"a\";",
            "\"a\" b",
        ] {
            assert_eq!(read(header.as_bytes()), Err(BadKey::Unreadable), "{header}");
        }
    }

    #[test]
    fn what_can_be_read_must_be_a_key() {
        assert_eq!(read(b"\"\""), Err(BadKey::NotAKey(Refused::Empty)));
        let long = "k".repeat(1025);
        assert_eq!(read(long.as_bytes()), Err(BadKey::NotAKey(Refused::TooLong(1025))));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(header: Vec<u8>) {
            let _ = read(&header);
        }

        #[test]
        fn what_is_written_as_a_string_is_read_as_it_was(text in "[ -~]{1,64}") {
            let written = format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""));
            prop_assert_eq!(key(&written), Some(text));
        }
    }
}
