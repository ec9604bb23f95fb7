//! The cases of a run. The seed decides them.

use crate::case::{Calls, Case, Fault, Whom};
use crate::commands::{self, Command, Here};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The choices of processes to kill, with weights. A kill of the tool alone is the most common in
/// practice.
const WHOM: &[(Whom, u32)] =
    &[(Whom::Tool, 8), (Whom::One, 4), (Whom::Some, 4), (Whom::AllButHelper, 2), (Whom::All, 2)];

/// The command before a killed `restore`, if no other is requested.
pub const RESTORED: &str = "short-quota";

/// Share of the moments that are drawn from the first fifth of a run, in which it sets up.
const EARLY: f64 = 0.3;

/// Sizes of the disks that fill up, in KiB.
const DISKS: &[u64] = &[8, 16, 64, 128, 256, 512, 1024];

/// System calls that fail during a save, with their errors.
const FAILURES: &[(&str, &str)] = &[
    ("write", "ENOSPC"),
    ("write", "EIO"),
    ("fsync", "EIO"),
    ("fsync", "ENOSPC"),
    ("linkat", "ENOSPC"),
    ("linkat", "EIO"),
    ("?rename,?renameat,renameat2", "EIO"),
    ("?rename,?renameat,renameat2", "ENOSPC"),
    ("?unlink,unlinkat", "EIO"),
    ("openat", "EMFILE"),
    ("openat", "ENOSPC"),
    ("?mkdir,mkdirat", "ENOSPC"),
    ("ftruncate", "EIO"),
    ("flock", "ENOLCK"),
];

/// Cases that kill processes at random moments.
pub fn moments(seed: u64, count: u64, here: Here, only: Option<&str>) -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let fits =
        |command: &&Command| command.runs(here) && only.is_none_or(|only| command.name == only);
    let commands: Vec<&Command> = commands::ALL.iter().filter(fits).collect();
    let weights: Vec<u32> = commands.iter().map(|command| command.weight).collect();
    let whom: Vec<u32> = WHOM.iter().map(|(_, weight)| *weight).collect();
    let case = |_| {
        let command = commands[chosen(&weights, &mut random)];
        let span = if random.random_bool(EARLY) { 0.2 } else { 1.0 };
        let blow = Fault::Moment {
            at_ms: (command.lasts_ms as f64 * span * random.random_range(0.0..1.0)) as u64,
            whom: WHOM[chosen(&whom, &mut random)].0,
            // The loss of a child shows at once, or at the end of its trial.
            then_ms: [0, 50, 300, 3000][random.random_range(0..4)],
            seed: random.random_range(0..u64::from(u32::MAX)),
        };
        Case { command: command.name.to_owned(), blow }
    };
    if commands.is_empty() { Vec::new() } else { (0..count).map(case).collect() }
}

fn chosen(weights: &[u32], random: &mut ChaCha8Rng) -> usize {
    let mut left = random.random_range(0..weights.iter().sum());
    let fits = |weight: &u32| {
        let here = left < *weight;
        left = left.saturating_sub(*weight);
        here
    };
    weights.iter().position(fits).unwrap_or(0)
}

/// Cases that kill a command in a call of this kind. Its main thread makes `count` of these
/// calls. At most `most` of them are used, evenly spread.
pub fn calls(command: &str, calls: Calls, count: u64, most: u64) -> Vec<Case> {
    let step = count.div_ceil(most.max(1)).max(1);
    let numbers = (1..=count).step_by(usize::try_from(step).unwrap_or(1));
    let case = |number| {
        // Every other case traces the children too.
        let children = (number / step) % 2 == 1;
        Case { command: command.to_owned(), blow: Fault::Call { calls, number, children } }
    };
    numbers.map(case).collect()
}

/// Cases that kill `tailback restore` in its n-th call, after a run of this command was killed.
pub fn restores(most: u64, command: &Command) -> Vec<Case> {
    let kinds = [Calls::Changes, Calls::Writes, Calls::Opens];
    let case = |number: u64| {
        let calls = kinds[usize::try_from(number).unwrap_or(0) % kinds.len()];
        // Groups exist for most of a run's time. In a few cases there is none.
        let lasts_ms = command.lasts_ms;
        let at_ms = lasts_ms * 7 / 20 + number * 37 % (lasts_ms * 9 / 20);
        let blow = Fault::Restore { at_ms, calls, number: 1 + number / 3 };
        Case { command: command.name.to_owned(), blow }
    };
    (0..most).map(case).collect()
}

/// Cases with a full disk, and cases with a failing call.
pub fn saves() -> Vec<Case> {
    let mut cases = Vec::new();
    for command in ["short-mmap", "short-quota", "short-probed", "mmap-lock"] {
        for kib in DISKS {
            for everywhere in [false, true] {
                let blow = Fault::Full { kib: *kib, everywhere };
                cases.push(Case { command: command.to_owned(), blow });
            }
        }
    }
    for command in ["short-mmap", "short-quota"] {
        for (calls, error) in FAILURES {
            for number in ["1", "2", "3", "5", "8", "13", "21", "34", "55", "1+", "3+", "9+", "30+"]
            {
                let (calls, error) = ((*calls).to_owned(), (*error).to_owned());
                let blow = Fault::Fails { calls, error, number: number.to_owned() };
                cases.push(Case { command: command.to_owned(), blow });
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Here = Here { kernel: true, memory: true, disks: true, node: true };

    fn shown(cases: &[Case]) -> String {
        serde_json::to_string(cases).unwrap()
    }

    #[test]
    fn a_seed_gives_the_same_moments_again() {
        let cases = moments(7, 50, ALL, None);
        assert_eq!(shown(&cases), shown(&moments(7, 50, ALL, None)));
        assert_ne!(shown(&cases), shown(&moments(8, 50, ALL, None)));
        let none = Here { kernel: false, memory: false, disks: false, node: false };
        let cases = moments(7, 200, none, None);
        let wants =
            |case: &Case| ["vm", "matrix"].iter().any(|word| case.command.starts_with(word));
        let others = ["watch-node", "io-journal"];
        let wants = |case: &Case| wants(case) || others.contains(&case.command.as_str());
        assert!(!cases.iter().any(|case| wants(case) || case.command.ends_with("memory")));
        assert!(moments(7, 5, ALL, Some("check")).iter().all(|case| case.command == "check"));
    }

    #[test]
    fn every_case_can_be_written_and_read_again() {
        let quota = commands::find(RESTORED).unwrap();
        let cases = [moments(1, 20, ALL, None), restores(9, quota), saves()].concat();
        let again: Vec<Case> = serde_json::from_str(&shown(&cases)).unwrap();
        assert_eq!(shown(&again), shown(&cases));
    }

    #[test]
    fn calls_are_spread_over_all_that_there_are() {
        let numbers = |count, most| -> Vec<u64> {
            let cases = calls("check", Calls::Opens, count, most);
            let number = |case: &Case| match case.blow {
                Fault::Call { number, .. } => number,
                _ => 0,
            };
            cases.iter().map(number).collect()
        };
        assert_eq!(numbers(4, 9), [1, 2, 3, 4]);
        assert_eq!(numbers(9, 4), [1, 4, 7]);
        assert_eq!(numbers(0, 4), [0; 0]);
    }

    #[test]
    fn every_command_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> =
            commands::ALL.iter().map(|command| command.name).collect();
        assert_eq!(names.len(), commands::ALL.len());
    }
}
