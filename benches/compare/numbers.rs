//! The few numbers that many times are reduced to.

use std::time::Duration;

/// Returns the median of some times, zero of none.
pub(crate) fn median_time(times: &[Duration]) -> Duration {
    Duration::from_secs_f64(median(&seconds(times)))
}

/// Returns times as numbers of seconds.
pub(crate) fn seconds(times: &[Duration]) -> Vec<f64> {
    times.iter().map(Duration::as_secs_f64).collect()
}

/// Returns the middle number, or the mean of the two middle ones; zero of none.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let sorted = sorted(numbers);
    match sorted.len() {
        0 => 0.0,
        count => f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]),
    }
}

/// Returns the smallest of the numbers that so many per cent of them do not exceed (the nearest
/// rank: always one that was measured); zero of none. The hundredth percentile is the maximum.
pub(crate) fn percentile(numbers: &[f64], percent: usize) -> f64 {
    let rank = (numbers.len() * percent).div_ceil(100);
    sorted(numbers).get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    numbers
}
