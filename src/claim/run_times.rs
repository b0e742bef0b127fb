//! How long attempts ran: counted in bounded memory, and what follows for a lease.

use std::collections::BTreeMap;
use std::time::Duration;

use super::duration::SHORTEST_CLAIM;

/// Times below this are told apart to the millisecond.
const EXACT: u64 = 256;

/// The step that a longer lease is rounded up to, by the longest that it is for,
/// both in seconds.
const STEPS: [(u64, u64); 4] = [(60, 1), (600, 10), (3600, 60), (86_400, 600)];

/// The same for what is longer than all of them.
const LONGEST_STEP: u64 = 3600;

/// How often a command ran, and for how long. However many there are, they take
/// little memory: times of nearly the same length (within 1 in 128) are counted
/// together, and the longest of them stands for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTimes {
    /// How many times have which length, and the longest of them in ms.
    counted: BTreeMap<u32, (u64, u64)>,
    count: u64,
}

impl RunTimes {
    /// Counts one.
    pub fn add(&mut self, run: Duration) {
        let ms = u64::try_from(run.as_millis()).unwrap_or(u64::MAX);
        let (count, longest) = self.counted.entry(class(ms)).or_default();
        *count += 1;
        *longest = ms.max(*longest);
        self.count += 1;
    }

    /// How many were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time that so many of a hundred do not exceed, by the nearest rank;
    /// nothing if none were counted.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Option<Duration> {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut so_far = 0;
        let found = self.counted.values().find(|(count, _)| {
            so_far += u128::from(*count);
            so_far >= rank
        });
        found.map(|(_, longest)| Duration::from_millis(*longest))
    }

    /// A lease for the next such run: three times as long as 99 of a hundred take,
    /// not shorter than a claim may be, and rounded up to what people write.
    #[must_use]
    pub fn suggested_lease(&self) -> Option<Duration> {
        let wanted = self.percentile(99)?.saturating_mul(3).max(SHORTEST_CLAIM);
        let seconds = wanted.as_secs() + u64::from(wanted.subsec_nanos() > 0);
        let step = STEPS.iter().find(|(most, _)| seconds <= *most).map_or(LONGEST_STEP, |s| s.1);
        let steps = seconds.div_ceil(step);
        Some(Duration::from_secs(steps.saturating_mul(step)))
    }
}

/// The class of times that `ms` is counted with: one of its own, or one of 128
/// between a power of two and the next.
fn class(ms: u64) -> u32 {
    let beyond = (ms / EXACT).checked_ilog2().map_or(0, |octave| octave + 1);
    let within = u32::try_from(ms >> beyond).unwrap_or(u32::MAX);
    beyond * 128 + within
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(all_ms: impl IntoIterator<Item = u64>) -> RunTimes {
        let mut times = RunTimes::default();
        all_ms.into_iter().for_each(|ms| times.add(Duration::from_millis(ms)));
        times
    }

    fn percentiles(times: &RunTimes) -> [u128; 3] {
        [50, 90, 99].map(|percent| times.percentile(percent).unwrap().as_millis())
    }

    #[test]
    fn a_percentile_is_a_time_that_occurred() {
        assert_eq!(percentiles(&of(1..=200)), [100, 180, 198]);
        assert_eq!(percentiles(&of([1234])), [1234; 3]);
        assert_eq!(percentiles(&of([7_000_123, 5])), [5, 7_000_123, 7_000_123]);
        assert_eq!(of([]).percentile(50), None);
    }

    #[test]
    fn a_suggested_lease_is_three_times_the_99th_percentile_and_can_be_written() {
        let suggested = |ms| of([ms]).suggested_lease().unwrap().as_secs();
        assert_eq!(suggested(0), 2);
        assert_eq!(suggested(667), 3, "2001 ms");
        assert_eq!(suggested(20_000), 60);
        assert_eq!(suggested(20_001), 70, "60003 ms");
        assert_eq!(suggested(250_000), 780, "12m 30s");
        assert_eq!(suggested(3_000_000), 9000, "2h 30m");
        assert_eq!(suggested(40_000_000), 34 * 3600, "33h 20m");
        assert_eq!(of([]).suggested_lease(), None);
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_nearest_rank_or_a_little_above(
            mut all_ms in proptest::collection::vec(0_u64..u64::MAX >> 20, 1..300),
            percent in 1_u8..=100,
        ) {
            let found = of(all_ms.clone()).percentile(percent).unwrap().as_millis();
            all_ms.sort_unstable();
            let rank = (all_ms.len() * usize::from(percent)).div_ceil(100).max(1);
            let exact = u128::from(all_ms[rank - 1]);
            prop_assert!(found >= exact && found - exact <= exact / 128, "{found} for {exact}");
        }

        #[test]
        fn no_time_makes_it_panic(ms in any::<u64>()) {
            prop_assert!(of([ms, ms, u64::MAX]).suggested_lease().is_some());
        }
    }
}
