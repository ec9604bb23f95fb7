//! How long a request that arrives at a random moment would wait.
//!
//! A generator that waits for each operation starts no others meanwhile. So a stall of 100 ms is
//! one slow operation among thousands of fast ones, and the requests that would have come in
//! those 100 ms are missing: coordinated omission. To correct this without a guess about the
//! rate, each operation is weighted by its length. For requests that arrive evenly over the
//! watched time, the share that waits longer than x is the sum of `max(0, latency - x)` over all
//! operations, divided by that time.

use hdrhistogram::Histogram;

/// The wait in nanoseconds that a share `share` of evenly arriving requests exceeds.
///
/// `window_ns` is the watched time; `share` lies between 0 and 1. The result is zero if the
/// requests that wait at all are a smaller share.
pub fn wait_exceeded_by(latencies: &Histogram<u64>, window_ns: f64, share: f64) -> f64 {
    let wanted = share * window_ns;
    // From the longest latency downwards, the time beyond x grows linearly between recorded
    // values.
    let mut values: Vec<(f64, f64)> = latencies
        .iter_recorded()
        .map(|v| (v.value_iterated_to() as f64, v.count_at_value() as f64))
        .collect();
    values.reverse();
    let (mut count, mut beyond) = (0.0, 0.0);
    for (index, (value, times)) in values.iter().enumerate() {
        count += times;
        let next = values.get(index + 1).map_or(0.0, |(value, _)| *value);
        let grown = beyond + count * (value - next);
        if grown >= wanted {
            return value - (wanted - beyond) / count;
        }
        beyond = grown;
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 1 << 42, 3).unwrap();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        histogram
    }

    #[test]
    fn one_stall_of_a_tenth_of_the_time_is_a_tenth_of_all_arrivals() {
        // In a window of 1 s with one operation of 100 ms, 10% arrive in it, and half of them
        // wait over 50 ms.
        let latencies = histogram(&[100_000_000]);
        let wait = |share| wait_exceeded_by(&latencies, 1e9, share) / 1e6;
        assert!((wait(0.05) - 50.0).abs() < 0.1, "{}", wait(0.05));
        assert!((wait(0.01) - 90.0).abs() < 0.1, "{}", wait(0.01));
        assert!(wait(0.0) >= 100.0);
        assert_eq!(wait(0.2), 0.0);
        assert_eq!(wait_exceeded_by(&histogram(&[]), 1e9, 0.01), 0.0);
    }

    proptest! {
        #[test]
        fn the_wait_solves_its_definition(
            values in prop::collection::vec(1u64..1_000_000, 1..50), share in 0.001f64..0.999,
        ) {
            let latencies = histogram(&values);
            let window: f64 = values.iter().sum::<u64>() as f64 * 1.1;
            let wait = wait_exceeded_by(&latencies, window, share);
            let beyond: f64 = latencies
                .iter_recorded()
                .map(|v| (v.value_iterated_to() as f64 - wait).max(0.0) * v.count_at_value() as f64)
                .sum();
            if wait > 0.0 {
                prop_assert!((beyond / window - share).abs() < 1e-6, "{} {}", beyond / window, share);
            } else {
                prop_assert!(beyond <= share * window + 1e-3);
            }
        }
    }
}
