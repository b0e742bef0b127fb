//! The parameters that may follow an item of structured fields (RFC 9651, section 3.1.2):
//! `;a=1;b`. What they say is nobody's business here; what is none may be a second key.

use super::string;

/// The most digits of a number before and after its point; a date is an integer.
const INTEGER: usize = 15;
const DECIMAL: (usize, usize) = (12, 3);

/// Whether this is nothing but parameters, or nothing.
pub(super) fn are_parameters(mut rest: &[u8]) -> bool {
    while let Some(after) = rest.strip_prefix(b";") {
        let Some(after) = parameter(after) else { return false };
        rest = after;
    }
    rest.is_empty()
}

/// What follows a parameter, of which the semicolon has been read.
fn parameter(rest: &[u8]) -> Option<&[u8]> {
    let (_, rest) = while_in(rest, |byte| byte == b' ');
    let begins = |byte: u8| byte.is_ascii_lowercase() || byte == b'*';
    rest.first().filter(|byte| begins(**byte))?;
    let goes_on = |byte: u8| begins(byte) || byte.is_ascii_digit() || b"_-.".contains(&byte);
    let (_, rest) = while_in(rest, goes_on);
    match rest.strip_prefix(b"=") {
        Some(value) => bare_item(value),
        None => Some(rest),
    }
}

/// What follows a value.
fn bare_item(value: &[u8]) -> Option<&[u8]> {
    let (first, rest) = value.split_first()?;
    match first {
        b'"' => string(rest).map(|(_, rest)| rest),
        b':' => {
            let in_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
            while_in(rest, in_base64).1.strip_prefix(b":")
        }
        b'?' => rest.strip_prefix(b"0").or_else(|| rest.strip_prefix(b"1")),
        b'@' => number(rest, Fraction::Refused),
        b'%' => display_string(rest.strip_prefix(b"\"")?),
        b'-' | b'0'..=b'9' => number(value, Fraction::Taken),
        b'*' | b'a'..=b'z' | b'A'..=b'Z' => {
            let marks = b"!#$%&'*+-.^_`|~:/";
            let in_token = |byte: u8| byte.is_ascii_alphanumeric() || marks.contains(&byte);
            Some(while_in(rest, in_token).1)
        }
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fraction {
    Taken,
    Refused,
}

fn number(text: &[u8], fraction: Fraction) -> Option<&[u8]> {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, rest) = while_in(text, |byte| byte.is_ascii_digit());
    match rest.strip_prefix(b".").filter(|_| fraction == Fraction::Taken) {
        None => (1..=INTEGER).contains(&whole.len()).then_some(rest),
        Some(rest) => {
            let (part, rest) = while_in(rest, |byte| byte.is_ascii_digit());
            let (before, after) = DECIMAL;
            let is_one = (1..=before).contains(&whole.len()) && (1..=after).contains(&part.len());
            is_one.then_some(rest)
        }
    }
}

/// What follows a string of any letters, after its first quotation mark.
fn display_string(mut rest: &[u8]) -> Option<&[u8]> {
    let mut text = Vec::new();
    loop {
        let (first, after) = rest.split_first()?;
        rest = after;
        match first {
            b'"' => return std::str::from_utf8(&text).ok().map(|_| rest),
            b'%' => {
                let (high, low) = (digit(*rest.first()?)?, digit(*rest.get(1)?)?);
                text.push(high << 4 | low);
                rest = &rest[2..];
            }
            byte @ 0x20..=0x7e => text.push(*byte),
            _ => return None,
        }
    }
}

/// A hexadecimal digit, which is no capital letter.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// The bytes of a kind at the beginning, and what follows them.
fn while_in(text: &[u8], kind: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|byte| !kind(*byte)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_of_value_is_taken() {
        for text in [
            "",
            ";a",
            "; a",
            ";a;b;*c-d_e.f*1",
            ";a=1;b=-12.345;c=?0;d=?1",
            r#";a="x, \"y\"";b"#,
            ";a=token/1:2;b=*",
            ";a=:aGVsbG8=:;b=::",
            ";a=@-1659578233",
            r#";a=%"f%c3%bc""#,
            ";a=123456789012345;b=123456789012.123",
        ] {
            assert!(are_parameters(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_is_no_parameter_is_refused() {
        for text in [
            " ;a",
            ";",
            ";;",
            ";;=(",
            ";a ",
            ";a ;b",
            ";A",
            ";1",
            ";a=",
            ";a=,",
            ";a=(1)",
            ";a=1.",
            ";a=.1",
            ";a=-",
            ";a=1.2345",
            ";a=1234567890123456",
            ";a=1234567890123.1",
            ";a=?2",
            ";a=:b",
            ";a=@1.5",
            ";a=@",
            ";a=\"b",
            ";a=%b",
            ";a=%\"%C3%BC\"",
            ";a=%\"%ff\"",
            ";a=%\"%c",
            ";v=1, \"b\"",
            "; , \"b\"",
            ";a=\u{e9}",
            ", \"b\"",
        ] {
            assert!(!are_parameters(text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(text: Vec<u8>) {
            are_parameters(&text);
            are_parameters(&[b";a=", &text[..]].concat());
        }
    }
}
