//! Sizes as people write them: `64KiB`, `16M`, `none`.

use std::fmt;

/// A most that is kept, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeLimit {
    /// So many bytes.
    Bytes(u64),
    /// No limit.
    None,
}

/// Why a text is no size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No text at all.
    Empty,
    /// Beyond what can be counted.
    TooLarge,
    /// Anything else.
    Unreadable(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty; write it like 64KiB, 16M or none"),
            Self::TooLarge => write!(f, "it is too large; for no limit write none"),
            Self::Unreadable(text) => {
                write!(f, "{text:?} is no size; write it like 64KiB, 16M or none")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Units as GNU's tools have them: `K` and `KiB` are 1024, `KB` is 1000.
const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
];

impl SizeLimit {
    /// Reads a whole number of bytes with or without a unit, in capitals or
    /// not, or `none`.
    ///
    /// # Errors
    /// [`Refused`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        match text {
            "" => return Err(Refused::Empty),
            "none" => return Ok(Self::None),
            _ => {}
        }
        let unreadable = || Refused::Unreadable(text.to_owned());
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        if digits.is_empty() {
            return Err(unreadable());
        }
        let unit = unit.to_ascii_lowercase();
        let unit = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(unreadable)?.1;
        let number: u64 = digits.parse().map_err(|_| Refused::TooLarge)?;
        // SQLite counts with a sign.
        let bytes = number.checked_mul(unit).filter(|bytes| i64::try_from(*bytes).is_ok());
        bytes.map(Self::Bytes).ok_or(Refused::TooLarge)
    }
}

/// Writes a number of bytes for people: `12.3 KiB`.
#[must_use]
pub fn for_people(bytes: u64) -> String {
    let unit = (bytes.checked_ilog2().unwrap_or(0) / 10).min(4);
    if unit == 0 {
        return format!("{bytes} bytes");
    }
    let tenths = (u128::from(bytes) * 10) >> (10 * unit);
    let name = ["", "KiB", "MiB", "GiB", "TiB"][unit as usize];
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_size_is_a_whole_number_with_a_unit_or_none() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("64KiB", 65_536),
            ("64kib", 65_536),
            ("16M", 16 << 20),
            ("16MB", 16_000_000),
            ("2g", 2 << 30),
            ("1TiB", 1 << 40),
            ("10B", 10),
        ] {
            assert_eq!(SizeLimit::parse(text), Ok(SizeLimit::Bytes(bytes)), "{text}");
        }
        assert_eq!(SizeLimit::parse("none"), Ok(SizeLimit::None));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in
            ["", "M", "-1", "+1", "1.5G", "1 M", "1e3", "16Mib/s", "None", "1é", "unlimited"]
        {
            assert!(SizeLimit::parse(text).is_err(), "{text:?}");
        }
        for text in ["99999999999999999999", "9999999TiB", "9223372036854775808"] {
            assert_eq!(SizeLimit::parse(text), Err(Refused::TooLarge), "{text}");
        }
    }

    #[test]
    fn people_read_one_decimal_of_the_largest_unit() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1_999_999, "1.9 MiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(for_people(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = SizeLimit::parse(&text);
        }
    }
}
