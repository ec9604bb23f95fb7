//! Shuffles of values within strata, and the moments of a sum over them.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// How often the answers are shuffled.
const SHUFFLES: usize = 999;

/// How often the answers are shuffled if there are so many kinds that each shuffle is slow. The
/// smallest p-value, 1/500, is enough for twelve scenarios that share an error rate of 0.025.
const FEW_SHUFFLES: usize = 499;

/// The number of kinds from which each shuffle is slow.
const MANY_KINDS: usize = 20_000;

/// How often the answers of this number of kinds are shuffled.
pub(super) fn shuffles(kinds: usize) -> usize {
    if kinds < MANY_KINDS { SHUFFLES } else { FEW_SHUFFLES }
}

/// Strata: groups of places whose values may be exchanged, because their keys are equal.
pub(super) struct Strata {
    /// The stratum of each place.
    of: Vec<usize>,
    /// The places of each stratum.
    places: Vec<Vec<usize>>,
}

impl Strata {
    /// Makes one stratum of all places with the same key.
    pub(super) fn of<K: Ord>(keys: impl Iterator<Item = K>) -> Self {
        let mut by_key: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for (place, key) in keys.enumerate() {
            by_key.entry(key).or_default().push(place);
        }
        let places: Vec<Vec<usize>> = by_key.into_values().collect();
        let mut of = vec![0; places.iter().map(Vec::len).sum()];
        for (stratum, places) in places.iter().enumerate() {
            places.iter().for_each(|place| of[*place] = stratum);
        }
        Strata { of, places }
    }

    /// Shuffles the values of each stratum among its places.
    pub(super) fn shuffle(&self, values: &mut [f64], rng: &mut ChaCha8Rng) {
        let mut own = Vec::new();
        for places in &self.places {
            own.clear();
            own.extend(places.iter().map(|place| values[*place]));
            own.shuffle(rng);
            places.iter().zip(&own).for_each(|(place, value)| values[*place] = *value);
        }
    }

    /// The number of strata.
    pub(super) fn number(&self) -> usize {
        self.places.len()
    }

    /// The stratum of a place.
    pub(super) fn stratum(&self, place: usize) -> usize {
        self.of[place]
    }

    /// Mean and sample variance of the values of each stratum.
    pub(super) fn moments(&self, values: &[f64]) -> Vec<(f64, f64)> {
        let each = self.places.iter().map(|places| {
            let number = places.len() as f64;
            let mean = places.iter().map(|place| values[*place]).sum::<f64>() / number;
            let square = |place: &usize| (values[*place] - mean).powi(2);
            let spread: f64 = places.iter().map(square).sum();
            (mean, if places.len() > 1 { spread / (number - 1.0) } else { 0.0 })
        });
        each.collect()
    }

    /// Mean and variance, over all shuffles, of the sum of weights times values. For each stratum
    /// it needs the sum of the weights, the sum of their squares, and the moments of the values.
    pub(super) fn expected(&self, weights: &[(f64, f64)], moments: &[(f64, f64)]) -> (f64, f64) {
        let (mut mean, mut variance) = (0.0, 0.0);
        let strata = self.places.iter().zip(weights).zip(moments);
        for ((places, (sum, squares)), (of_one, spread)) in strata {
            mean += sum * of_one;
            // If all places have equal weights, the sum does not vary.
            variance += (squares - sum * sum / places.len() as f64).max(0.0) * spread;
        }
        (mean, variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_factor_can_be_named_in_each_of_twelve_scenarios() {
        for kinds in [MANY_KINDS - 1, MANY_KINDS] {
            let smallest = 1.0 / (1 + shuffles(kinds)) as f64;
            assert!(smallest <= 0.025 / 12.0, "{kinds} kinds: {smallest}");
        }
    }

    #[test]
    fn the_moments_of_a_sum_are_those_of_many_shuffles() {
        let strata = Strata::of([0, 0, 0, 1, 1, 1, 1].into_iter());
        let values = [1.0, 4.0, 2.0, 10.0, 0.0, 3.0, 5.0];
        let weights = [0.5, 0.0, 2.0, 1.0, 0.0, 0.0, 3.0];
        let sums = [(2.5, 4.25), (4.0, 10.0)];
        let (mean, variance) = strata.expected(&sums, &strata.moments(&values));
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut shuffled = values;
        let sums: Vec<f64> = (0..20_000)
            .map(|_| {
                strata.shuffle(&mut shuffled, &mut rng);
                weights.iter().zip(&shuffled).map(|(weight, value)| weight * value).sum()
            })
            .collect();
        let found = sums.iter().sum::<f64>() / 20_000.0;
        let spread = sums.iter().map(|sum| (sum - found).powi(2)).sum::<f64>() / 20_000.0;
        assert!((found - mean).abs() < 0.2, "{found} {mean}");
        assert!((spread / variance - 1.0).abs() < 0.05, "{spread} {variance}");
    }
}
