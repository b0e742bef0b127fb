//! What HTTP says about a request that is to have its effect once, free of any input or
//! output: how a key is written, whose it is, and what an answer says of itself.
//!
//! A web server hands a request to its handler as variables and standard input, and takes
//! the answer from standard output (RFC 3875, CGI). The key comes in a header of its own
//! (`draft-ietf-httpapi-idempotency-key-header`).

pub mod key_syntax;
pub mod randomness;
pub mod response;
pub mod restraint;
pub mod scope;
pub mod statuses;

/// Whether a request of this method is to have its effect once. All others may be
/// repeated as they are (RFC 9110, section 9.2.2).
#[must_use]
pub fn is_guarded(method: &[u8]) -> bool {
    matches!(method, b"POST" | b"PATCH" | b"DELETE")
}

/// Reads `CONTENT_LENGTH`; nothing where there is none.
///
/// # Errors
/// When it is no number of bytes.
pub fn content_length(text: &[u8]) -> Result<Option<u64>, BadLength> {
    if text.is_empty() {
        return Ok(None);
    }
    let digits = std::str::from_utf8(text).ok().filter(|text| is_number(text));
    digits.and_then(|digits| digits.parse().ok()).map(Some).ok_or(BadLength)
}

/// A `CONTENT_LENGTH` that is no number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLength;

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_may_be_repeated_anyway_is_not_guarded() {
        for method in ["POST", "PATCH", "DELETE"] {
            assert!(is_guarded(method.as_bytes()), "{method}");
        }
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "TRACE", "CONNECT", "post", ""] {
            assert!(!is_guarded(method.as_bytes()), "{method}");
        }
    }

    #[test]
    fn a_length_is_digits_or_missing() {
        assert_eq!(content_length(b""), Ok(None));
        assert_eq!(content_length(b"0"), Ok(Some(0)));
        assert_eq!(content_length(b"10485760"), Ok(Some(10 << 20)));
        for text in ["-1", "+1", "1 ", "ten", "99999999999999999999"] {
            assert_eq!(content_length(text.as_bytes()), Err(BadLength), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(text: Vec<u8>) {
            let _ = (is_guarded(&text), content_length(&text));
        }
    }
}
