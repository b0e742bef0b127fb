//! How a command ended, and which ends are kept for replay.

use std::fmt;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It chose this exit status.
    Exited(u8),
    /// This signal killed it.
    Signaled(u8),
}

impl Outcome {
    /// The exit status that stands for it: its own, or 128 plus the signal's
    /// number, as a shell has it.
    #[must_use]
    pub fn status(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => 128_u8.saturating_add(signal),
        }
    }

    /// Whether the command succeeded.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit status {code}"),
            Self::Signaled(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// Which ends are recorded and replayed (`--record`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordPolicy {
    /// Exit status 0 only.
    Success,
    /// Every end, death by a signal included.
    Any,
    /// These exit statuses, as inclusive ranges.
    Codes(Vec<(u8, u8)>),
}

/// Why a text is no [`RecordPolicy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCodes(String);

impl fmt::Display for BadCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is neither an exit status from 0 to 255 nor a range of them; write success, any, or a list like 0,3-5",
            self.0
        )
    }
}

impl std::error::Error for BadCodes {}

impl RecordPolicy {
    /// Reads `success`, `any` or a list of exit statuses such as `0,3-5`.
    ///
    /// # Errors
    /// [`BadCodes`] with the part that could not be read.
    pub fn parse(text: &str) -> Result<Self, BadCodes> {
        match text {
            "success" => Ok(Self::Success),
            "any" => Ok(Self::Any),
            list => list.split(',').map(parse_range).collect::<Result<_, _>>().map(Self::Codes),
        }
    }

    /// Whether a command's own end is kept for replay.
    #[must_use]
    pub fn keeps(&self, outcome: Outcome) -> bool {
        match (self, outcome) {
            (Self::Success, end) => end.is_success(),
            (Self::Any, _) => true,
            (Self::Codes(ranges), Outcome::Exited(code)) => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&code))
            }
            (Self::Codes(_), Outcome::Signaled(_)) => false,
        }
    }
}

fn parse_range(part: &str) -> Result<(u8, u8), BadCodes> {
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| digits.parse::<u8>().ok()).flatten().ok_or_else(|| BadCodes(part.to_owned()))
    };
    let (low, high) = part.split_once('-').unwrap_or((part, part));
    match (number(low)?, number(high)?) {
        (low, high) if low <= high => Ok((low, high)),
        _ => Err(BadCodes(part.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn success_alone_is_kept_by_default() {
        assert!(RecordPolicy::Success.keeps(Outcome::Exited(0)));
        assert!(!RecordPolicy::Success.keeps(Outcome::Exited(1)));
        assert!(!RecordPolicy::Success.keeps(Outcome::Signaled(9)));
    }

    #[test]
    fn a_list_keeps_its_numbers_and_its_ranges() {
        let policy = RecordPolicy::parse("0,3-5").unwrap();
        let kept: Vec<u8> = (0..=255).filter(|c| policy.keeps(Outcome::Exited(*c))).collect();
        assert_eq!(kept, [0, 3, 4, 5]);
        assert!(!policy.keeps(Outcome::Signaled(3)));
    }

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        for text in ["", "256", "5-3", "a", "1,", "-1", "1-", "+1", "1 "] {
            assert!(RecordPolicy::parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = RecordPolicy::parse(&text);
        }
    }
}
