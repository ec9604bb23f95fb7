//! Names of hosts, folded by their numbers.

use model::census::{Hosts, Run};
use std::collections::HashSet;

/// The most digits of a number that is folded: more are an identifier.
const MOST_DIGITS: usize = 9;

/// Folds names; no more than `most` runs of them are named, in their order.
pub fn fold<'a>(names: impl Iterator<Item = &'a str>, most: usize) -> Hosts {
    let mut singles: Vec<Run> = names.map(single).collect();
    let count = singles.len() as u64;
    pad(&mut singles);
    singles.sort_unstable();
    let mut runs: Vec<Run> = Vec::new();
    let mut named = 0;
    for one in singles {
        if let Some(last) = runs.last_mut()
            && continues(last, &one)
        {
            last.to = one.to;
            named += 1;
        } else if runs.len() < most {
            runs.push(one);
            named += 1;
        } else {
            break;
        }
    }
    Hosts { count, names: runs, left_out: count - named }
}

/// Takes `n100` for one of three digits where `n099` is one.
fn pad(singles: &mut [Run]) {
    let padded: HashSet<(&str, &str, u8)> = singles
        .iter()
        .filter(|one| one.digits > 1)
        .map(|one| (one.before.as_str(), one.after.as_str(), one.digits))
        .collect();
    let digits: Vec<u8> = singles
        .iter()
        .map(|one| {
            let own = one.from.checked_ilog10().map_or(1, |log| log as u8 + 1);
            let is_padded = padded.contains(&(one.before.as_str(), one.after.as_str(), own));
            if one.digits == 1 && is_padded { own } else { one.digits }
        })
        .collect();
    singles.iter_mut().zip(digits).for_each(|(one, digits)| one.digits = digits);
}

fn continues(last: &Run, one: &Run) -> bool {
    let same = (&last.before, &last.after, last.digits) == (&one.before, &one.after, one.digits);
    same && one.digits > 0 && last.to.checked_add(1) == Some(one.from)
}

/// A name as a run of one: cut at the last number in it.
fn single(name: &str) -> Run {
    let whole = || Run { before: name.to_owned(), after: String::new(), digits: 0, from: 0, to: 0 };
    let Some(end) = name.rfind(|c: char| c.is_ascii_digit()).map(|last| last + 1) else {
        return whole();
    };
    let start = name[..end].rfind(|c: char| !c.is_ascii_digit());
    let start =
        start.map_or(0, |place| place + name[place..].chars().next().map_or(1, char::len_utf8));
    let digits = &name[start..end];
    match digits.parse::<u64>() {
        Ok(number) if digits.len() <= MOST_DIGITS => Run {
            before: name[..start].to_owned(),
            after: name[end..].to_owned(),
            // Without a zero in front the number is as long as it is: `web9` comes before `web10`.
            digits: if digits.starts_with('0') { digits.len() as u8 } else { 1 },
            from: number,
            to: number,
        },
        _ => whole(),
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
