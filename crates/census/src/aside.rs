//! Records that do not count, or count with a doubt.

use model::census::{Example, SetAside, Why};
use std::collections::BTreeMap;

/// Most examples that are kept for each reason.
pub(crate) const MOST_EXAMPLES: usize = 20;

/// The number of records for each reason, and the first examples.
#[derive(Debug, Default)]
pub(crate) struct Aside(BTreeMap<Why, (u64, Vec<Example>)>);

impl Aside {
    /// Adds `more` records for a reason. `examples` are some of them; only as many are taken as
    /// are kept.
    pub(crate) fn add(&mut self, why: Why, more: u64, examples: impl Iterator<Item = Example>) {
        let (count, kept) = self.0.entry(why).or_default();
        *count += more;
        kept.extend(examples.take(MOST_EXAMPLES.saturating_sub(kept.len())));
    }

    /// Whether an example of this reason would be kept.
    pub(crate) fn wants(&self, why: Why) -> bool {
        self.0.get(&why).is_none_or(|(_, kept)| kept.len() < MOST_EXAMPLES)
    }

    /// The numbers and examples of all reasons.
    pub(crate) fn all(&self) -> Vec<SetAside> {
        let each = self.0.iter().map(|(why, (count, examples))| SetAside {
            why: *why,
            count: *count,
            examples: examples.clone(),
        });
        each.collect()
    }
}
