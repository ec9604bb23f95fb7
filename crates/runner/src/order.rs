//! Every random choice of a study, derived from its one seed.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The order in which the arms run in a block: indices into the plan's arms.
///
/// Each block has its own random stream, so its order does not depend on how many blocks ran
/// before it.
pub fn order_of_block(seed: u64, block: u32, arms: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms).collect();
    order.shuffle(&mut stream(seed, u64::from(block)));
    order
}

/// The seed of the load in one trial. All arms of a block share it: they map the same pages.
pub fn seed_of_trial(seed: u64, block: u32) -> u64 {
    stream(seed, (1 << 32) + u64::from(block)).random()
}

fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_order_comes_up_about_as_often_as_the_others() {
        let mut first = [0u32; 3];
        for block in 0..3000 {
            first[order_of_block(7, block, 3)[0]] += 1;
        }
        // A fair draw misses these bounds (4.6 standard deviations) less than once in 100,000
        // seeds.
        assert!(first.iter().all(|count| (880..1120).contains(count)), "{first:?}");
    }

    proptest! {
        #[test]
        fn an_order_is_a_permutation_and_repeats_with_its_seed(
            seed in any::<u64>(), block in any::<u32>(), arms in 0usize..20,
        ) {
            let order = order_of_block(seed, block, arms);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..arms).collect::<Vec<_>>());
            prop_assert_eq!(order, order_of_block(seed, block, arms));
            prop_assert_eq!(seed_of_trial(seed, block), seed_of_trial(seed, block));
        }
    }
}
