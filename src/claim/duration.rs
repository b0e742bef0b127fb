//! Durations as people write them, with what is ambiguous refused.

use std::fmt;
use std::time::Duration;

/// The longest duration taken: far beyond any use, and small enough that
/// adding it to a wall clock in milliseconds cannot overflow.
const MAX: Duration = Duration::from_secs(10_000 * 365 * 24 * 60 * 60);

/// The shortest in-flight lease (DESIGN section 3): renewals every quarter of
/// it must stay far above a slow disk's sync.
pub const SHORTEST_CLAIM: Duration = Duration::from_secs(2);

/// A time limit, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Ends after this long.
    After(Duration),
    /// Never ends.
    Forever,
}

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No text at all.
    Empty,
    /// A number without a unit.
    NoUnit(String),
    /// `M`, which is months to the parser and minutes to most people.
    AmbiguousMonth,
    /// Zero, where zero has no meaning.
    Zero,
    /// Below the shortest that makes sense here.
    TooShort(Duration),
    /// Beyond what a clock can hold.
    TooLong,
    /// Below zero.
    Negative,
    /// Anything else.
    Unreadable(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty; write it like 90s, 10m or 1h30m"),
            Self::NoUnit(n) => write!(f, "it has no unit; did you mean {n}s?"),
            Self::AmbiguousMonth => {
                write!(f, "M is ambiguous; write min for minutes or month for months")
            }
            Self::Zero => write!(f, "zero has no meaning here"),
            Self::TooShort(least) => write!(f, "at least {}s are needed", least.as_secs()),
            Self::TooLong => write!(f, "it is too long"),
            Self::Negative => write!(f, "it is negative"),
            Self::Unreadable(text) => {
                write!(f, "{text:?} is no duration; write it like 90s, 10m or 1h30m")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Reads a duration such as `90s`, `1h30m` or `30d`; zero is allowed.
///
/// # Errors
/// [`Refused`] for anything a reader could take for something else.
pub fn parse(text: &str) -> Result<Duration, Refused> {
    if text.is_empty() {
        return Err(Refused::Empty);
    }
    if text.starts_with('-') {
        return Err(Refused::Negative);
    }
    if text.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(Refused::NoUnit(text.to_owned()));
    }
    if has_bare_capital_m(text) {
        return Err(Refused::AmbiguousMonth);
    }
    let duration = humantime::parse_duration(text).map_err(|why| match why {
        humantime::DurationError::NumberOverflow => Refused::TooLong,
        _ => Refused::Unreadable(text.to_owned()),
    })?;
    if duration > MAX {
        return Err(Refused::TooLong);
    }
    Ok(duration)
}

/// Reads a duration that must be longer than nothing. Stores keep
/// milliseconds, so less than one of them is nothing too.
///
/// # Errors
/// As [`parse`], and for zero.
pub fn parse_positive(text: &str) -> Result<Duration, Refused> {
    match parse(text)? {
        duration if duration < Duration::from_millis(1) => Err(Refused::Zero),
        duration => Ok(duration),
    }
}

/// Reads a claim's lease: at least [`SHORTEST_CLAIM`].
///
/// # Errors
/// As [`parse`], and for anything shorter.
pub fn parse_claim(text: &str) -> Result<Duration, Refused> {
    match parse(text)? {
        duration if duration < SHORTEST_CLAIM => Err(Refused::TooShort(SHORTEST_CLAIM)),
        duration => Ok(duration),
    }
}

/// Reads `forever` or a duration that must be longer than nothing.
///
/// # Errors
/// As [`parse_positive`].
pub fn parse_ttl(text: &str) -> Result<Limit, Refused> {
    match text {
        "forever" => Ok(Limit::Forever),
        other => parse_positive(other).map(Limit::After),
    }
}

/// Reads `forever` or a duration, zero included: how long to wait.
///
/// # Errors
/// As [`parse`].
pub fn parse_wait(text: &str) -> Result<Limit, Refused> {
    match text {
        "forever" => Ok(Limit::Forever),
        other => parse(other).map(Limit::After),
    }
}

/// Whole milliseconds, which is what stores keep.
#[must_use]
pub fn to_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Writes a span for people: the two largest units, nothing below a second
/// unless the whole is.
#[must_use]
pub fn for_people(duration: Duration) -> String {
    if duration.is_zero() {
        return "0s".to_owned();
    }
    if duration < Duration::from_secs(1) {
        return format!("{}ms", duration.as_millis());
    }
    let whole = humantime::format_duration(Duration::from_secs(duration.as_secs())).to_string();
    whole.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// Writes whole seconds as they can be typed: `1h30m`.
#[must_use]
pub fn for_typing(duration: Duration) -> String {
    let mut left = duration.as_secs();
    let mut text = String::new();
    for (unit, seconds) in [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)] {
        let count = left / seconds;
        left %= seconds;
        if count > 0 {
            text.push_str(&count.to_string());
            text.push_str(unit);
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

fn has_bare_capital_m(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic()).any(|unit| unit == "M")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_forms_of_the_manual_are_read() {
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("30d"), Ok(Duration::from_secs(30 * 86400)));
        assert_eq!(parse("300ms"), Ok(Duration::from_millis(300)));
    }

    #[test]
    fn what_could_be_read_two_ways_is_refused() {
        assert_eq!(parse("10M"), Err(Refused::AmbiguousMonth));
        assert_eq!(parse("1h 10M"), Err(Refused::AmbiguousMonth));
        assert_eq!(parse("0"), Err(Refused::NoUnit("0".into())));
        assert_eq!(parse("60"), Err(Refused::NoUnit("60".into())));
        assert_eq!(parse(""), Err(Refused::Empty));
        assert_eq!(parse("-5s"), Err(Refused::Negative));
        assert_eq!(parse("99999999999y"), Err(Refused::TooLong));
        assert_eq!(parse("99999999999999999999s"), Err(Refused::TooLong));
    }

    #[test]
    fn zero_is_refused_where_it_means_nothing() {
        assert_eq!(parse_positive("0s"), Err(Refused::Zero));
        assert_eq!(parse_positive("10us"), Err(Refused::Zero));
        assert_eq!(parse_wait("0s"), Ok(Limit::After(Duration::ZERO)));
        assert_eq!(parse_claim("1s"), Err(Refused::TooShort(SHORTEST_CLAIM)));
        assert_eq!(parse_claim("2s"), Ok(SHORTEST_CLAIM));
    }

    #[test]
    fn people_read_the_two_largest_units() {
        assert_eq!(for_people(Duration::from_millis(250)), "250ms");
        assert_eq!(for_people(Duration::from_secs(3725)), "1h 2m");
    }

    proptest! {
        #[test]
        fn what_is_written_for_typing_is_read_back(seconds in 0_u64..MAX.as_secs()) {
            let duration = Duration::from_secs(seconds);
            prop_assert_eq!(parse(&for_typing(duration)), Ok(duration));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn what_it_takes_fits_a_wall_clock(n in 0u64..u64::MAX, unit in "(ms|s|m|h|d|w|y)") {
            if let Ok(duration) = parse(&format!("{n}{unit}")) {
                prop_assert!(to_ms(duration) < i64::MAX / 4);
            }
        }
    }
}
