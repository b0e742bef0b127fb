//! Whether a key may be one that others could guess (`--require-random-key`).
//!
//! Callers without a user share their keys: whoever guesses another's key is given the
//! other's answer. What is refused here is what nobody draws at random: it proves nothing
//! of what is let through.

use std::collections::BTreeSet;
use std::fmt;

/// The fewest bytes. A UUID has 36, 128 bits in base64 have 22.
pub const SHORTEST: usize = 16;

/// The fewest different bytes among them. A random UUID has fewer in one of a hundred
/// million.
pub const DIFFERENT: usize = 8;

/// Why a key may be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guessable {
    /// It has fewer than [`SHORTEST`] bytes.
    Short,
    /// It has fewer than [`DIFFERENT`] different ones.
    Uniform,
    /// It has no letter but those of a point in time: a counter, a date, a telephone number.
    Number,
    /// Most of it goes on from one byte to the next, or stays.
    Sequence,
}

impl fmt::Display for Guessable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => write!(f, "it is shorter than {SHORTEST} characters"),
            Self::Uniform => write!(f, "it has fewer than {DIFFERENT} different characters"),
            Self::Number => f.write_str("it has no letters, or only those of a point in time"),
            Self::Sequence => f.write_str("most of it is a sequence"),
        }
    }
}

/// Says why a key may be guessed, if that can be seen.
///
/// # Errors
/// [`Guessable`] says why.
pub fn check(key: &str) -> Result<(), Guessable> {
    let bytes = key.as_bytes();
    if bytes.len() < SHORTEST {
        return Err(Guessable::Short);
    }
    if bytes.iter().collect::<BTreeSet<_>>().len() < DIFFERENT {
        return Err(Guessable::Uniform);
    }
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() && !b"TZ".contains(byte);
    if !bytes.iter().any(|byte| is_letter(byte) || !byte.is_ascii()) {
        return Err(Guessable::Number);
    }
    let pairs = bytes.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 1).count();
    if pairs * 2 > bytes.len() { Err(Guessable::Sequence) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_nobody_draws_at_random_is_refused() {
        for (key, why) in [
            ("order-17", Guessable::Short),
            ("8e03978e-40d5", Guessable::Short),
            ("00000000-0000-0000-0000-000000000001", Guessable::Uniform),
            ("aaaaaaaabbbbbbbb", Guessable::Uniform),
            ("2026-11-30T14:37:59Z", Guessable::Number),
            ("1732977896123456", Guessable::Number),
            ("2026-11-30 14:37:59", Guessable::Number),
            ("abcdefghijklmnop", Guessable::Sequence),
            ("0123456789abcdef", Guessable::Sequence),
        ] {
            assert_eq!(check(key), Err(why), "{key}");
        }
    }

    #[test]
    fn what_is_drawn_at_random_is_let_through() {
        for key in [
            "8e03978e-40d5-43e8-bc93-6894a57f9324",
            "clkyoesmbgybucifusbbtdsbohtyuuwz",
            "KG5LxwFBepaKHyUD",
            "019ad4f2-7c1e-7b55-9d0a-3f2b61c8e4aa",
        ] {
            assert_eq!(check(key), Ok(()), "{key}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(key in ".*") {
            let _ = check(&key);
        }

        #[test]
        fn a_uuid_is_let_through(bits: u128) {
            let hex = format!("{bits:032x}");
            let random = hex.bytes().collect::<BTreeSet<_>>().len() >= 10;
            prop_assume!(random && hex.bytes().any(|byte| byte.is_ascii_alphabetic()));
            let (a, b) = hex.split_at(8);
            let uuid = format!("{a}-{}-{}-{}-{}", &b[..4], &b[4..8], &b[8..12], &b[12..]);
            prop_assert_eq!(check(&uuid), Ok(()));
        }
    }
}
