//! A search for the smallest value that meets a condition. It does not assume that larger values
//! always meet it too.

use std::collections::BTreeMap;

/// Distances above a candidate at which the search tries to find a failing value.
const NEIGHBOURS: [u64; 4] = [1, 2, 4, 8];

/// Most values that are tried: enough for a bisection and for many failing neighbours.
const MOST_TRIED: usize = 100;

/// The smallest value of `low..=high` that holds, such that all larger values that were tried
/// hold too.
///
/// It bisects between the largest failing value and the next value that holds. Then it tries
/// neighbours above; if one fails, the search continues above it. None if `high` fails.
///
/// # Errors
/// The errors of `holds`.
pub(crate) fn least_holding<E>(
    low: u64,
    high: u64,
    mut holds: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    let mut tried = BTreeMap::from([(high, holds(high)?)]);
    loop {
        let failing = tried.iter().rev().find(|(_, held)| !**held).map(|(value, _)| *value);
        let above = failing.map_or(low, |value| value + 1);
        let Some((&least, _)) = tried.range(above..).next() else { return Ok(None) };
        let next = if least > above {
            above + (least - above) / 2
        } else {
            let neighbours = NEIGHBOURS.map(|distance| least.saturating_add(distance));
            let unknown = |value: &u64| *value < high && !tried.contains_key(value);
            match neighbours.into_iter().find(unknown) {
                Some(neighbour) => neighbour,
                None => return Ok(Some(least)),
            }
        };
        if tried.len() == MOST_TRIED {
            return Ok(Some(least));
        }
        tried.insert(next, holds(next)?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::convert::Infallible;

    fn search(low: u64, high: u64, holds: impl Fn(u64) -> bool) -> (Option<u64>, Vec<u64>) {
        let tried = RefCell::new(Vec::new());
        let found = least_holding(low, high, |value| {
            tried.borrow_mut().push(value);
            Ok::<bool, Infallible>(holds(value))
        });
        (found.unwrap(), tried.into_inner())
    }

    #[test]
    fn a_failing_neighbour_sends_the_search_upwards() {
        let (found, _) = search(1, 64, |value| value >= 20 && value != 24);
        assert_eq!(found, Some(25));
    }

    proptest! {
        #[test]
        fn where_more_is_better_the_threshold_is_found(
            low in 1u64..50, span in 0u64..5000, threshold in 0u64..6000,
        ) {
            let high = low + span;
            let (found, tried) = search(low, high, |value| value >= threshold);
            let expected = (threshold <= high).then_some(threshold.max(low));
            prop_assert_eq!(found, expected);
            prop_assert!(tried.len() <= 20, "{} tried", tried.len());
        }

        #[test]
        fn whatever_holds_no_larger_value_that_was_tried_fails(
            holding in prop::collection::vec(any::<bool>(), 1..300),
        ) {
            let high = holding.len() as u64;
            let (found, tried) = search(1, high, |value| holding[value as usize - 1]);
            let above = found.unwrap_or(high);
            prop_assert!(found.is_some() == holding[high as usize - 1]);
            prop_assert!(found.is_none()
                || tried.iter().all(|v| *v < above || holding[*v as usize - 1]));
        }
    }
}
