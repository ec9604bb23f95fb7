//! How often something happens, with exact limits.

use crate::cache::Cache;
use model::Proportion;
use statrs::function::beta::checked_beta_reg;

/// Number of halvings of the unit interval after which less than the spacing of `f64` near one is
/// left.
const HALVINGS: u32 = 60;

/// A rate with its exact two-sided interval.
///
/// Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated in the case of
/// the binomial", Biometrika 26, 404-413. Without trials the interval is 0 to 1. A `count` above
/// `of` is treated as `of`.
pub fn proportion(count: u32, of: u32, confidence: f64) -> Proportion {
    // A study is judged after each block, mostly with counts that came before. A static, since the
    // result follows from the key alone, so no caller can notice the cache.
    static KNOWN: Cache<(u32, u32, u64), Proportion> = Cache::new();
    let count = count.min(of);
    KNOWN.get((count, of, confidence.to_bits()), || computed(count, of, confidence))
}

fn computed(count: u32, of: u32, confidence: f64) -> Proportion {
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = (lower_limit(count, of, tail), upper_limit(count, of, tail));
    Proportion { count, of, low, high, confidence }
}

/// The limits of a rate, from the number of trials in which something happened and the number of
/// all trials. `tail` is the probability beyond either limit. The counts need not be whole: they
/// may have been reduced because trials are correlated.
pub(crate) fn limits(count: f64, of: f64, tail: f64) -> (f64, f64) {
    let upper = |count: f64| match of - count {
        left if left <= of * 1e-12 => 1.0,
        left => beta_quantile(count + 1.0, left, 1.0 - tail),
    };
    (1.0 - upper(of - count), upper(count))
}

fn lower_limit(count: u32, of: u32, tail: f64) -> f64 {
    1.0 - upper_limit(of - count, of, tail)
}

fn upper_limit(count: u32, of: u32, tail: f64) -> f64 {
    if count == of {
        return 1.0;
    }
    let (count, of) = (f64::from(count), f64::from(of));
    beta_quantile(count + 1.0, of - count, 1.0 - tail)
}

/// The quantile of a beta distribution, by bisection. Bisection cannot diverge. The Newton steps
/// of the usual algorithms can, for the extreme shapes that rare events give.
fn beta_quantile(a: f64, b: f64, probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match checked_beta_reg(a, b, middle) {
            Ok(below) if below < probability => low = middle,
            _ => high = middle,
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// From scipy.stats.binomtest(k, n).proportion_ci(level, "exact"). For 0 of 10 it is also the
    /// closed form 1 - 0.025^(1/10).
    #[test]
    fn limits_are_the_published_ones() {
        for (count, of, confidence, low, high) in CASES {
            let found = proportion(*count, *of, *confidence);
            assert!((found.low - low).abs() < 1e-9, "{count} of {of}: {}", found.low);
            assert!((found.high - high).abs() < 1e-9, "{count} of {of}: {}", found.high);
        }
    }

    const CASES: &[(u32, u32, f64, f64, f64)] = &[
        (0, 10, 0.95, 0.0, 0.30849710781876294),
        (10, 10, 0.95, 0.6915028921812371, 1.0),
        (1, 10, 0.95, 0.0025285785444625728, 0.44501611702819543),
        (5, 10, 0.95, 0.1870860284474045, 0.8129139715525955),
        (8, 20, 0.95, 0.19119006072557054, 0.6394574126927552),
        (2, 24, 0.99, 0.004395366826155629, 0.3323914710505461),
        (81, 263, 0.95, 0.25273674558504267, 0.36762192260134746),
        (0, 1, 0.9, 0.0, 0.95),
        (7, 1000, 0.95, 0.0028188587596180135, 0.014369194979269567),
    ];

    #[test]
    fn no_trials_tell_nothing() {
        let found = proportion(0, 0, 0.95);
        assert_eq!((found.low, found.high), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_rate_and_widens_with_confidence(
            of in 1u32..5000, share in 0.0f64..=1.0, narrow in 0.5f64..0.99,
        ) {
            let count = (f64::from(of) * share) as u32;
            let rate = f64::from(count) / f64::from(of);
            let inner = proportion(count, of, narrow);
            let outer = proportion(count, of, (1.0 + narrow) / 2.0);
            prop_assert!(inner.low <= rate && rate <= inner.high);
            prop_assert!(outer.low <= inner.low && inner.high <= outer.high);
        }
    }
}
