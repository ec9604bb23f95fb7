//! The results of all cases, by kind.

use crate::case::{Fault, Outcome};
use std::collections::BTreeMap;

/// The cases of one kind.
#[derive(Debug, Default, Clone, Copy)]
struct Line {
    cases: u64,
    hit: u64,
    kills: u64,
    with_helper: u64,
    restored: u64,
    wrong: u64,
}

/// All cases so far.
#[derive(Debug, Default)]
pub struct Tally {
    lines: BTreeMap<String, Line>,
    roles: BTreeMap<String, u64>,
}

impl Tally {
    /// Adds an outcome.
    pub fn add(&mut self, outcome: &Outcome) {
        let kills = !matches!(outcome.case.blow, Fault::Full { .. } | Fault::Fails { .. });
        for name in [kind(&outcome.case.blow), "all"] {
            let line = self.lines.entry(name.to_owned()).or_default();
            line.cases += 1;
            line.hit += u64::from(outcome.hit());
            line.kills += u64::from(kills && outcome.hit());
            line.with_helper += u64::from(outcome.victims.iter().any(|victim| victim == "helper"));
            line.restored += u64::from(outcome.restored);
            line.wrong += u64::from(!outcome.wrong.is_empty());
        }
        for victim in outcome.victims.iter().filter(|_| kills) {
            *self.roles.entry(victim.clone()).or_default() += 1;
        }
    }

    /// Number of cases that left something or went wrong.
    pub fn wrong(&self) -> u64 {
        self.lines.get("all").map_or(0, |line| line.wrong)
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{:<22} {:>6} {:>7} {:>7} {:>12} {:>9} {:>6}",
            "kind", "cases", "hit", "kills", "helper too", "restored", "wrong"
        )?;
        for (name, line) in &self.lines {
            writeln!(
                f,
                "{name:<22} {:>6} {:>7} {:>7} {:>12} {:>9} {:>6}",
                line.cases, line.hit, line.kills, line.with_helper, line.restored, line.wrong
            )?;
        }
        let roles = self.roles.iter().map(|(role, count)| format!("{role} {count}"));
        writeln!(f, "killed: {}", roles.collect::<Vec<_>>().join(", "))
    }
}

fn kind(blow: &Fault) -> &'static str {
    match blow {
        Fault::Moment { .. } => "random moment",
        Fault::Call { .. } => "n-th call",
        Fault::Restore { .. } => "restore, n-th call",
        Fault::Full { .. } => "full disk",
        Fault::Fails { .. } => "failing call",
    }
}
