//! Which nodes get one of the few places for a closer look.
//!
//! Any user can start processes that look like nodes. So no user may keep another one out. If all
//! places are taken, a user takes one from the user with the most places, if that one has at least
//! two more.

use std::collections::BTreeMap;

/// A node that has a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Its process.
    pub pid: u32,
    /// Its user.
    pub user: u32,
    /// The interval in which it got the place.
    pub since: u64,
}

/// Whether there is a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A place is free.
    Free,
    /// The place of this process can be taken.
    InsteadOf(u32),
    /// There is no place.
    None,
}

/// Finds one of the `most` places for a node of this user.
pub fn find(user: u32, held: &[Held], most: usize) -> Found {
    if held.len() < most {
        return Found::Free;
    }
    let mut users: BTreeMap<u32, usize> = BTreeMap::new();
    for one in held {
        *users.entry(one.user).or_default() += 1;
    }
    let own = users.get(&user).copied().unwrap_or(0);
    let Some((richest, places)) = users.into_iter().max_by_key(|(_, places)| *places) else {
        return Found::None;
    };
    if own + 1 >= places {
        return Found::None;
    }
    let last = held.iter().filter(|one| one.user == richest).max_by_key(|one| one.since);
    last.map_or(Found::None, |one| Found::InsteadOf(one.pid))
}

/// The processes to look at next, at most `most`: one of each user, then a second one of each.
pub fn in_turn(candidates: &[(u32, u32)], most: usize) -> Vec<u32> {
    let mut users: BTreeMap<u32, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, u32)> = Vec::new();
    for (pid, user) in candidates {
        let turn = users.entry(*user).or_default();
        turns.push((*turn, *pid));
        *turn += 1;
    }
    turns.sort_unstable();
    turns.into_iter().take(most).map(|(_, pid)| pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(users: &[u32]) -> Vec<Held> {
        let held =
            (0..).zip(users).map(|(at, user)| Held { pid: at, user: *user, since: at.into() });
        held.collect()
    }

    #[test]
    fn one_user_does_not_keep_another_out() {
        let full = held(&[7; 16]);
        assert_eq!(find(9, &full[..15], 16), Found::Free);
        assert_eq!(find(9, &full, 16), Found::InsteadOf(15));
        assert_eq!(find(7, &full, 16), Found::None);
        let shared = held(&[7, 7, 9, 9]);
        assert_eq!((find(7, &shared, 4), find(9, &shared, 4)), (Found::None, Found::None));
        assert_eq!(find(3, &shared, 4), Found::InsteadOf(3));
        assert_eq!(find(3, &held(&[7, 9]), 2), Found::None);
    }

    #[test]
    fn users_are_looked_at_in_turn() {
        let many: Vec<(u32, u32)> = (0..40).map(|pid| (pid, 7)).chain([(99, 9)]).collect();
        assert_eq!(in_turn(&many, 4), [0, 99, 1, 2]);
    }
}
