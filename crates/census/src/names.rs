//! Host names, folded by their numbers.

use model::census::{Hosts, Run};
use std::collections::HashSet;

/// Most digits of a number that is folded. A longer number is an identifier.
const MOST_DIGITS: usize = 9;

/// A name, split at its last number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Single<'a> {
    /// The text before the number; the whole name if it has no number.
    before: &'a str,
    after: &'a str,
    /// The minimum number of digits; 0 for a name without a number.
    digits: u8,
    number: u64,
}

/// Folds names into sorted runs; lists at most `most` runs.
pub fn fold<'a>(names: impl Iterator<Item = &'a str>, most: usize) -> Hosts {
    let mut singles: Vec<Single> = names.map(Single::of).collect();
    let count = singles.len() as u64;
    pad(&mut singles);
    singles.sort_unstable();
    let mut runs: Vec<Run> = Vec::new();
    let mut named = 0;
    for one in singles {
        if let Some(last) = runs.last_mut()
            && one.continues(last)
        {
            last.to = one.number;
            named += 1;
        } else if runs.len() < most {
            runs.push(one.run());
            named += 1;
        } else {
            break;
        }
    }
    Hosts { count, names: runs, left_out: count - named }
}

/// Counts `n100` as a name with three digits if there is one like `n099`.
fn pad(singles: &mut [Single]) {
    let padded: HashSet<(&str, &str, u8)> = singles
        .iter()
        .filter(|one| one.digits > 1)
        .map(|one| (one.before, one.after, one.digits))
        .collect();
    for one in singles.iter_mut().filter(|one| one.digits == 1) {
        let own = one.number.checked_ilog10().map_or(1, |log| log as u8 + 1);
        if padded.contains(&(one.before, one.after, own)) {
            one.digits = own;
        }
    }
}

impl<'a> Single<'a> {
    fn of(name: &'a str) -> Self {
        let whole = Single { before: name, after: "", digits: 0, number: 0 };
        let Some(end) = name.rfind(|c: char| c.is_ascii_digit()).map(|last| last + 1) else {
            return whole;
        };
        let start = name[..end].rfind(|c: char| !c.is_ascii_digit());
        let start =
            start.map_or(0, |place| place + name[place..].chars().next().map_or(1, char::len_utf8));
        let digits = &name[start..end];
        match digits.parse::<u64>() {
            Ok(number) if digits.len() <= MOST_DIGITS => Single {
                before: &name[..start],
                after: &name[end..],
                // Without a leading zero, a number has no fixed width: `web9` comes before
                // `web10`.
                digits: if digits.starts_with('0') { digits.len() as u8 } else { 1 },
                number,
            },
            _ => whole,
        }
    }

    /// Whether the name follows the last name of a run.
    fn continues(&self, run: &Run) -> bool {
        let same =
            (self.before, self.after, self.digits) == (&*run.before, &*run.after, run.digits);
        same && self.digits > 0 && run.to.checked_add(1) == Some(self.number)
    }

    /// A run of only this name.
    fn run(&self) -> Run {
        Run {
            before: self.before.to_owned(),
            after: self.after.to_owned(),
            digits: self.digits,
            from: self.number,
            to: self.number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hosts: &Hosts) -> Vec<String> {
        hosts.names.iter().flat_map(Run::names).collect()
    }

    #[test]
    fn numbers_in_a_row_are_one_run() {
        let given =
            ["web9", "web10", "web11", "db001.eu", "db002.eu", "db004.eu", "gateway", "é7ü"];
        let hosts = fold(given.into_iter(), 100);
        assert_eq!((hosts.count, hosts.left_out, hosts.names.len()), (8, 0, 5));
        let mut found = names(&hosts);
        let mut given = given.map(str::to_owned).to_vec();
        found.sort();
        given.sort();
        assert_eq!(found, given);
    }

    #[test]
    fn what_is_not_named_is_counted() {
        let given: Vec<String> = (0..100).map(|n| format!("host{}", n * 2)).collect();
        let hosts = fold(given.iter().map(String::as_str), 10);
        assert_eq!((hosts.count, hosts.names.len(), hosts.left_out), (100, 10, 90));
        let long = fold(["a00000000000000000000007"].into_iter(), 10);
        assert_eq!(names(&long), ["a00000000000000000000007"]);
    }

    #[test]
    fn a_zero_in_front_is_kept() {
        let given = ["n0", "n1", "n00", "n01", "n007"];
        let mut found = names(&fold(given.into_iter(), 100));
        found.sort();
        assert_eq!(found, ["n0", "n00", "n007", "n01", "n1"]);
        let given: Vec<String> = (1..=400).map(|number| format!("n{number:03}")).collect();
        let hosts = fold(given.iter().map(String::as_str), 10);
        assert_eq!((hosts.names.len(), names(&hosts)), (1, given));
    }
}
