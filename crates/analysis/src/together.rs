//! How several studies share one error rate, by the claims that they make.
//!
//! If k of S studies say `affected`, each of them may use k/S of the error rate. The same holds
//! for studies that say `not-affected`. Then on average at most that share of the claims of
//! either kind is wrong, however the studies depend on each other and whenever they stop (e-BH:
//! Wang and Ramdas 2022, "False discovery rate control with e-values", Journal of the Royal
//! Statistical Society B 84, 822-852). If nothing stalls, every `affected` is wrong. So the
//! probability of any such claim is at most the error rate.

use model::State;
use model::record::Share;

/// For each claim, the least k with which a study makes it at k/S of the error rate. `None` if it
/// does not make the claim even at the whole rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Claims {
    affected: Option<u32>,
    not_affected: Option<u32>,
}

impl Claims {
    /// The claims of one of `studies` studies. `state` gives its verdict for a share of the error
    /// rate.
    pub fn of(studies: u32, mut state: impl FnMut(Share) -> State) -> Self {
        // A study that says `affected` at the whole rate does not count for the other claim. That
        // can make the other share smaller than possible, but never too large.
        let all = Share { studies, affected: studies, not_affected: studies };
        let mut says = |share, claim| state(share) == claim;
        let affected = |affected| says(Share { affected, ..all }, State::Affected);
        let affected = least_claims(studies, affected);
        let absent = |not_affected| says(Share { not_affected, ..all }, State::NotAffected);
        Claims { affected, not_affected: least_claims(studies, absent) }
    }
}

/// The share of the error rate that each study gets, from the claims of all studies.
pub fn share(studies: u32, claims: impl Iterator<Item = Claims> + Clone) -> Share {
    Share {
        studies,
        affected: most_claims(studies, claims.clone().map(|one| one.affected)),
        not_affected: most_claims(studies, claims.map(|one| one.not_affected)),
    }
}

/// The largest k for which at least k studies make a claim at k/S of the rate; at least 1.
/// `least` has the least k of each study.
fn most_claims(studies: u32, least: impl Iterator<Item = Option<u32>> + Clone) -> u32 {
    let made = |claims: u32| least.clone().flatten().filter(|least| *least <= claims).count();
    (1..=studies).rev().find(|claims| made(*claims) >= *claims as usize).unwrap_or(1)
}

/// The least number up to `most` for which `holds` is true. If it is true for one number, it is
/// true for all larger ones.
fn least_claims(most: u32, mut holds: impl FnMut(u32) -> bool) -> Option<u32> {
    if !holds(most) {
        return None;
    }
    let (mut no, mut yes) = (0, most);
    while yes - no > 1 {
        let middle = no + (yes - no) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    Some(yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn claims_support_one_another_and_one_alone_has_one_part() {
        let of = |least: &[Option<u32>]| most_claims(4, least.iter().copied());
        assert_eq!(of(&[None; 4]), 1);
        assert_eq!(of(&[Some(1), None, None, None]), 1);
        assert_eq!(of(&[Some(2), Some(2), None, None]), 2);
        assert_eq!(of(&[Some(2), None, None, None]), 1);
        assert_eq!(of(&[Some(4); 4]), 4);
        assert_eq!(of(&[Some(3), Some(1), Some(4), None]), 1);
    }

    /// With two studies, a claim at k = 2 holds if both make it.
    #[test]
    fn what_a_study_says_with_a_share_becomes_the_share_of_all() {
        let at = |k| {
            move |share: Share| match share.affected >= k {
                true => State::Affected,
                false => State::Inconclusive,
            }
        };
        let (soon, later) = (Claims::of(2, at(1)), Claims::of(2, at(2)));
        let both = share(2, [later, later].into_iter());
        assert_eq!((both.affected, both.not_affected), (2, 1));
        assert_eq!(share(2, [later, Claims::default()].into_iter()).affected, 1);
        assert_eq!(share(2, [soon, later].into_iter()).affected, 2);
        let absent = Claims::of(2, |_| State::NotAffected);
        assert_eq!(share(2, [absent, soon].into_iter()).not_affected, 1);
    }

    proptest! {
        /// The proof of e-BH needs only this: at least k studies make the claim at k/S of the rate.
        #[test]
        fn as_many_claim_as_the_part_is_of(all in prop::collection::vec(prop::option::of(1u32..9), 1..9)) {
            let studies = all.len() as u32;
            let claims = most_claims(studies, all.iter().copied());
            let made = |claims| all.iter().flatten().filter(|least| **least <= claims).count() as u32;
            prop_assert!(claims == 1 || made(claims) >= claims);
            prop_assert!((claims + 1..=studies).all(|more| made(more) < more));
        }

        #[test]
        fn the_least_is_found(most in 1u32..20, from in 1u32..25) {
            let found = least_claims(most, |number| number >= from);
            prop_assert_eq!(found, (from <= most).then_some(from));
        }
    }
}
