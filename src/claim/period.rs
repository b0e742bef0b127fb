//! Calendar periods: once per hour, day, week, month or year (`--per`).
//!
//! A period is what the calendar of a time zone says it is: a day has 23, 24 or
//! 25 hours, and weeks start on Monday (ISO 8601).

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, ZonedDateTime};

use super::time::WallMs;

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// From one full hour to the next.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From Monday to Monday.
    Week,
    /// From the first to the first.
    Month,
    /// From the first of January to the next.
    Year,
}

/// A calendar that a key follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// How often.
    pub per: Per,
    /// Whose clocks count.
    pub zone: TimeZone,
}

/// One period of a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The first instant in it.
    pub start: WallMs,
    /// The first instant after it.
    pub end: WallMs,
}

impl Calendar {
    /// The period that an instant lies in.
    ///
    /// # Errors
    /// When the calendar does not reach that far: it covers the years up to
    /// 9999.
    pub fn period(&self, at: WallMs) -> Result<Period, jiff::Error> {
        let at = Timestamp::from_millisecond(at.0)?.to_zoned_datetime(self.zone.clone());
        let (start, end) = self.bounds(&at)?;
        let ms = |at: &ZonedDateTime| WallMs(at.timestamp().as_millisecond());
        Ok(Period { start: ms(&start), end: ms(&end) })
    }

    fn bounds(&self, at: &ZonedDateTime) -> Result<(ZonedDateTime, ZonedDateTime), jiff::Error> {
        // Days that begin at another hour than 0, as some do in spring, are
        // begun again after every step.
        let (start, next) = match self.per {
            Per::Hour => {
                let into = i64::from(at.minute()).minutes().seconds(i64::from(at.second()));
                let start = at.checked_sub(into.nanoseconds(i64::from(at.subsec_nanosecond())))?;
                let end = start.checked_add(1.hour())?;
                return Ok((start, end));
            }
            Per::Day => (at.clone(), at.checked_add(1.day())?),
            Per::Week => {
                let monday =
                    at.checked_sub(i64::from(at.weekday().to_monday_zero_offset()).days())?;
                let next = monday.checked_add(1.week())?;
                (monday, next)
            }
            Per::Month => {
                let first = at.first_of_month()?;
                let next = first.checked_add(1.month())?;
                (first, next)
            }
            Per::Year => {
                let first = at.first_of_year()?;
                let next = first.checked_add(1.year())?;
                (first, next)
            }
        };
        Ok((start.start_of_day()?, next.start_of_day()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(text: &str) -> WallMs {
        WallMs(text.parse::<Timestamp>().unwrap().as_millisecond())
    }

    fn period(per: Per, zone: &str, at: &str) -> (String, String, i64) {
        // The rules of the zones, written out: a machine may lack their names.
        let zone = TimeZone::posix(zone).unwrap();
        let found = Calendar { per, zone }.period(ms(at)).unwrap();
        let text = |at: WallMs| Timestamp::from_millisecond(at.0).unwrap().to_string();
        (text(found.start), text(found.end), (found.end.0 - found.start.0) / 3_600_000)
    }

    const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

    #[test]
    fn a_day_is_the_zones_own() {
        let (start, end, hours) = period(Per::Day, BERLIN, "2026-06-15T22:30:00Z");
        assert_eq!((&*start, &*end, hours), ("2026-06-15T22:00:00Z", "2026-06-16T22:00:00Z", 24));
    }

    #[test]
    fn days_of_23_and_of_25_hours_are_one_day_each() {
        assert_eq!(period(Per::Day, BERLIN, "2026-03-29T12:00:00Z").2, 23);
        assert_eq!(period(Per::Day, BERLIN, "2026-10-25T12:00:00Z").2, 25);
    }

    #[test]
    fn the_hour_that_comes_twice_is_two_hours() {
        let first = period(Per::Hour, BERLIN, "2026-10-25T00:30:00Z");
        let second = period(Per::Hour, BERLIN, "2026-10-25T01:30:00Z");
        assert_eq!((first.2, second.2), (1, 1));
        assert_eq!(first.1, second.0);
    }

    #[test]
    fn a_week_starts_on_monday() {
        let (start, end, hours) = period(Per::Week, "UTC0", "2026-11-29T23:59:59Z");
        assert_eq!((&*start, &*end, hours), ("2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z", 168));
    }

    #[test]
    fn months_and_years_have_their_own_lengths() {
        assert_eq!(period(Per::Month, "UTC0", "2028-02-10T00:00:00Z").2, 29 * 24);
        assert_eq!(period(Per::Year, "UTC0", "2028-02-10T00:00:00Z").2, 366 * 24);
    }

    proptest! {
        #[test]
        fn an_instant_lies_in_its_period_and_the_next_one_begins_at_its_end(
            at in 0i64..4_000_000_000_000,
            per in prop::sample::select(vec![Per::Hour, Per::Day, Per::Week, Per::Month, Per::Year]),
        ) {
            let calendar = Calendar { per, zone: TimeZone::posix(BERLIN).unwrap() };
            let found = calendar.period(WallMs(at)).unwrap();
            prop_assert!(found.start.0 <= at && at < found.end.0);
            prop_assert_eq!(calendar.period(found.end).unwrap().start, found.end);
            prop_assert_eq!(calendar.period(found.start).unwrap(), found);
        }

        #[test]
        fn no_instant_makes_it_panic(at: i64) {
            let calendar = Calendar { per: Per::Year, zone: TimeZone::UTC };
            let _ = calendar.period(WallMs(at));
        }
    }
}
