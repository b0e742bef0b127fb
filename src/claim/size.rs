//! Amounts of output as people write them.

use std::fmt;

/// The most of something, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeLimit {
    /// At most so many bytes.
    Bytes(u64),
    /// As much as there is.
    None,
}

impl SizeLimit {
    /// The limit in bytes; the largest number for no limit.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::None => u64::MAX,
        }
    }
}

/// Why a text is no size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSize(String);

impl fmt::Display for BadSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no size; write it like 64KiB, 16M, 1G or none", self.0)
    }
}

impl std::error::Error for BadSize {}

/// The units, as coreutils has them: a letter alone counts in 1024s, and so
/// does one with `iB`; one with `B` counts in 1000s.
const UNITS: [(&str, u64); 14] = [
    ("B", 1),
    ("K", 1 << 10),
    ("KiB", 1 << 10),
    ("KB", 1000),
    ("kB", 1000),
    ("M", 1 << 20),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("G", 1 << 30),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("T", 1 << 40),
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
];

/// Reads a size such as `64KiB`, `16M`, `4096` or `none`.
///
/// # Errors
/// [`BadSize`] for anything else, and for more than a number can hold.
pub fn parse(text: &str) -> Result<SizeLimit, BadSize> {
    let bad = || BadSize(text.to_owned());
    if text == "none" {
        return Ok(SizeLimit::None);
    }
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: u64 = digits.parse().map_err(|_| bad())?;
    let factor = match unit {
        "" => 1,
        unit => UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?.1,
    };
    number.checked_mul(factor).map(SizeLimit::Bytes).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_forms_of_the_manual_are_read() {
        assert_eq!(parse("64KiB"), Ok(SizeLimit::Bytes(65_536)));
        assert_eq!(parse("16M"), Ok(SizeLimit::Bytes(16 << 20)));
        assert_eq!(parse("1GB"), Ok(SizeLimit::Bytes(1_000_000_000)));
        assert_eq!(parse("0"), Ok(SizeLimit::Bytes(0)));
        assert_eq!(parse("none"), Ok(SizeLimit::None));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "M", "-1", "1.5M", "1 M", "16m", "16777216T", "99999999999999999999", "+1"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = parse(&text);
        }
    }
}
