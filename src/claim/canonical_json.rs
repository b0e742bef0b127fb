//! The canonical form of a JSON document, for fingerprints.
//!
//! Object keys are sorted and white space is dropped; arrays keep their order.
//! Numbers keep their digits: two that differ in the thirtieth are two numbers,
//! and 1 and 1.0 are not the same text. A key that comes twice is refused,
//! since readers disagree about which one counts.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The deepest nesting taken, as most readers have it.
const DEEPEST: usize = 128;

/// Writes the canonical form of a document.
///
/// # Errors
/// When the text is no JSON, repeats a key, or is nested too deeply.
pub fn canonical(text: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let document: &RawValue = serde_json::from_slice(text)?;
    let mut out = Vec::with_capacity(text.len());
    write(document, DEEPEST, &mut out)?;
    Ok(out)
}

fn write(value: &RawValue, depth: usize, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let text = value.get().trim();
    let Some(depth) = depth.checked_sub(1) else {
        return Err(serde_json::Error::custom("it is nested too deeply"));
    };
    match text.as_bytes().first() {
        Some(b'{') => {
            let object: Object<'_> = serde_json::from_str(text)?;
            let mut mark = b'{';
            for (key, value) in object.0 {
                out.push(mark);
                mark = b',';
                out.extend_from_slice(serde_json::to_string(&key)?.as_bytes());
                out.push(b':');
                write(value, depth, out)?;
            }
            out.extend_from_slice(if mark == b'{' { b"{}" } else { b"}" });
        }
        Some(b'[') => {
            let array: Vec<&RawValue> = serde_json::from_str(text)?;
            let mut mark = b'[';
            for value in array {
                out.push(mark);
                mark = b',';
                write(value, depth, out)?;
            }
            out.extend_from_slice(if mark == b'[' { b"[]" } else { b"]" });
        }
        Some(b'"') => {
            let string: String = serde_json::from_str(text)?;
            out.extend_from_slice(serde_json::to_string(&string)?.as_bytes());
        }
        _ => out.extend_from_slice(text.as_bytes()),
    }
    Ok(())
}

/// An object whose keys are sorted and come once.
struct Object<'a>(BTreeMap<String, &'a RawValue>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    let value = map.next_value()?;
                    if members.contains_key(&key) {
                        return Err(A::Error::custom(format!("the key {key:?} comes twice")));
                    }
                    members.insert(key, value);
                }
                Ok(Object(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(text: &str) -> String {
        String::from_utf8(canonical(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn object_keys_are_sorted_and_arrays_are_not() {
        assert_eq!(form(r#" {"b": [2, 1], "a": {} } "#), r#"{"a":{},"b":[2,1]}"#);
        assert_eq!(form("[ ]"), "[]");
    }

    #[test]
    fn one_string_has_one_form() {
        assert_eq!(form(r#""\u0041\/""#), r#""A/""#);
    }

    #[test]
    fn numbers_keep_every_digit() {
        let text = "12345678901234567890123.10";
        assert_eq!(form(text), text);
    }

    #[test]
    fn what_readers_disagree_about_is_refused() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"a":1,"\u0061":2}]"#, "", "[1,]", "{1:2}", "nul"] {
            assert!(canonical(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_does_not_overflow() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(canonical(deep.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = canonical(&bytes);
        }
    }
}
