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

/// For each claim and each k from 1 to S, whether a study makes the claim at k/S of the error rate.
///
/// A study that makes a claim at one k need not make it at each larger k: with two figures, a
/// larger part may be enough for the first one to show an effect that a disturbance explains. Then
/// the study is untrustworthy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    affected: Vec<bool>,
    not_affected: Vec<bool>,
}

impl Claims {
    /// The claims of one of `studies` studies. `state` gives its verdict for a share of the error
    /// rate.
    pub fn of(studies: u32, mut state: impl FnMut(Share) -> State) -> Self {
        // A study that says `affected` at the whole rate does not count for the other claim. That
        // can make the other share smaller than possible, but never too large.
        let all = Share { studies, affected: studies, not_affected: studies };
        let mut says = |share: Share, claim: State| state(share) == claim;
        let affected = |affected| says(Share { affected, ..all }, State::Affected);
        let affected = (1..=studies).map(affected).collect();
        let absent = |not_affected| says(Share { not_affected, ..all }, State::NotAffected);
        Claims { affected, not_affected: (1..=studies).map(absent).collect() }
    }
}

/// The share of the error rate that each study gets, from the claims of all studies.
pub fn share<'a>(studies: u32, claims: impl Iterator<Item = &'a Claims> + Clone) -> Share {
    Share {
        studies,
        affected: most_claims(studies, claims.clone().map(|one| one.affected.as_slice())),
        not_affected: most_claims(studies, claims.map(|one| one.not_affected.as_slice())),
    }
}

/// The largest k for which at least k studies make a claim at k/S of the rate; at least 1. `made`
/// has for each study whether it makes the claim at each k.
fn most_claims<'a>(studies: u32, made: impl Iterator<Item = &'a [bool]> + Clone) -> u32 {
    let makes = |one: &&[bool], claims: usize| one.get(claims - 1) == Some(&true);
    let made = |claims: usize| made.clone().filter(|one| makes(one, claims)).count();
    (1..=studies).rev().find(|claims| made(*claims as usize) >= *claims as usize).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn claims_support_one_another_and_one_alone_has_one_part() {
        // Each of these studies makes the claim from its least k on.
        let from = |least: &Option<u32>| -> Vec<bool> {
            (1..=4).map(|k| least.is_some_and(|least| k >= least)).collect()
        };
        let of = |least: &[Option<u32>]| {
            let made: Vec<Vec<bool>> = least.iter().map(from).collect();
            most_claims(4, made.iter().map(Vec::as_slice))
        };
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
        let both = share(2, [&later, &later].into_iter());
        assert_eq!((both.affected, both.not_affected), (2, 1));
        assert_eq!(share(2, [&later, &Claims::default()].into_iter()).affected, 1);
        assert_eq!(share(2, [&soon, &later].into_iter()).affected, 2);
        let absent = Claims::of(2, |_| State::NotAffected);
        assert_eq!(share(2, [&absent, &soon].into_iter()).not_affected, 1);
    }

    #[test]
    fn a_claim_that_a_larger_part_withdraws_does_not_count_for_that_part() {
        let at = |all: &'static [u32]| {
            move |share: Share| match all.contains(&share.affected) {
                true => State::Affected,
                false => State::Untrustworthy,
            }
        };
        let middle = Claims::of(3, at(&[1, 3]));
        let later = Claims::of(3, at(&[2, 3]));
        let of = |third: &Claims| share(3, [&middle, &later, third].into_iter()).affected;
        // With two parts of three, the first study is untrustworthy, so one claim is left.
        assert_eq!(of(&Claims::default()), 1);
        assert_eq!(of(&Claims::of(3, at(&[3]))), 3);
        assert_eq!(of(&Claims::of(3, at(&[2]))), 2);
    }

    proptest! {
        /// The proof of e-BH needs only this: at least k studies make the claim at k/S of the rate.
        #[test]
        fn as_many_claim_as_the_part_is_of(
            all in prop::collection::vec(prop::collection::vec(any::<bool>(), 8), 1..9),
        ) {
            let studies = all.len() as u32;
            let claims = most_claims(studies, all.iter().map(Vec::as_slice));
            let made = |claims: u32| all.iter().filter(|one| one[claims as usize - 1]).count();
            prop_assert!(claims == 1 || made(claims) >= claims as usize);
            prop_assert!((claims + 1..=studies).all(|more| made(more) < more as usize));
        }
    }
}
