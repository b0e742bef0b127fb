//! Which HTTP statuses are kept for replay (`--record-status`).

use std::fmt;

/// HTTP statuses, as inclusive ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(Vec<(u16, u16)>);

impl Default for Statuses {
    /// What is an answer, and not one that says to come again: all of 2xx, 3xx and 4xx but
    /// 408, 409, 425 and 429.
    fn default() -> Self {
        Self(vec![(200, 407), (410, 424), (426, 428), (430, 499)])
    }
}

/// Why a text is no list of statuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadStatuses(String);

impl fmt::Display for BadStatuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is neither an HTTP status from 100 to 599 nor a range or a class of them; write a list like 2xx,301-308,404",
            self.0
        )
    }
}

impl std::error::Error for BadStatuses {}

impl Statuses {
    /// Reads a list such as `2xx,301-308,404`.
    ///
    /// # Errors
    /// [`BadStatuses`] with the part that could not be read.
    pub fn parse(text: &str) -> Result<Self, BadStatuses> {
        text.split(',').map(parse_range).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a status is among them.
    #[must_use]
    pub fn include(&self, status: u16) -> bool {
        self.0.iter().any(|(low, high)| (*low..=*high).contains(&status))
    }
}

fn parse_range(part: &str) -> Result<(u16, u16), BadStatuses> {
    let bad = || BadStatuses(part.to_owned());
    if let Some(class) = part.strip_suffix("xx") {
        let hundreds = match class {
            "1" => 100,
            "2" => 200,
            "3" => 300,
            "4" => 400,
            "5" => 500,
            _ => return Err(bad()),
        };
        return Ok((hundreds, hundreds + 99));
    }
    let number = |digits: &str| {
        let status = (digits.len() == 3).then(|| digits.parse().ok()).flatten();
        status.filter(|status| (100..=599).contains(status)).ok_or_else(bad)
    };
    let (low, high) = part.split_once('-').unwrap_or((part, part));
    match (number(low)?, number(high)?) {
        (low, high) if low <= high => Ok((low, high)),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_default_an_answer_is_kept_and_what_says_to_come_again_is_not() {
        let kept: Vec<u16> =
            (100..=599).filter(|status| !Statuses::default().include(*status)).collect();
        let expected: Vec<u16> = (100..=199).chain([408, 409, 425, 429]).chain(500..=599).collect();
        assert_eq!(kept, expected);
    }

    #[test]
    fn a_list_has_classes_ranges_and_statuses() {
        let list = Statuses::parse("2xx,301-303,404,503").unwrap();
        for status in [200, 299, 301, 303, 404, 503] {
            assert!(list.include(status), "{status}");
        }
        for status in [199, 300, 304, 403, 500] {
            assert!(!list.include(status), "{status}");
        }
    }

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        for text in
            ["", "20", "2XX", "6xx", "600", "404-403", "200,", "+20", "2xx-3xx", "any", "99"]
        {
            assert!(Statuses::parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = Statuses::parse(&text);
        }
    }
}
