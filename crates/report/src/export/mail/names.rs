//! Names of kernels in a report. They do not reveal the folders of the user.

use crate::repro;
use model::Judged;
use model::change::ChangeReason;
use model::ladder::{Ladder, Step};
use model::machine::ROOT_OF_HOST;
use std::collections::BTreeMap;

/// Short names by full name.
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// Short names for the versions of a ladder: the last part of each path, with a number if
    /// several versions have the same last part.
    pub fn of(ladder: &Ladder) -> Self {
        let alike =
            |name: &str| ladder.rungs.iter().filter(|rung| last(&rung.name) == last(name)).count();
        let short = |(place, name): (usize, &String)| match alike(name) {
            0 | 1 => (name.clone(), last(name)),
            _ => (name.clone(), format!("{} ({})", last(name), place + 1)),
        };
        Names(ladder.rungs.iter().map(|rung| &rung.name).enumerate().map(short).collect())
    }

    /// The short name.
    pub fn short(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| last(name))
    }

    /// The ladder with its names shortened.
    pub fn ladder(&self, ladder: &Ladder) -> Ladder {
        let mut ladder = ladder.clone();
        ladder.rungs.iter_mut().for_each(|rung| rung.name = self.short(&rung.name));
        let rename = |step: &mut Step| {
            (step.from, step.to) = (self.short(&step.from), self.short(&step.to));
            for reason in &mut step.reasons {
                if let ChangeReason::Untrustworthy { record } | ChangeReason::NoTrials { record } =
                    reason
                {
                    *record = self.short(record);
                }
            }
        };
        ladder.steps.iter_mut().chain(&mut ladder.whole).for_each(rename);
        ladder
    }
}

/// A record whose guest has names without folders.
pub fn without_folders(record: &Judged) -> Judged {
    let program = repro::program(record).map(|path| format!("./{}", last(path)));
    let mut record = record.clone();
    if let (Some(program), Some(first)) = (program, record.facts.tool.argv.first_mut()) {
        *first = program;
    }
    if let Some(guest) = &mut record.facts.machine.guest {
        guest.kernel_name = last(&guest.kernel_name);
        if let Some(root) = guest.root.as_mut().filter(|root| *root != ROOT_OF_HOST) {
            *root = last(root);
        }
    }
    record
}

fn last(name: &str) -> String {
    let name = name.trim_end_matches('/');
    name.rsplit('/').next().unwrap_or(name).to_owned()
}
