//! What was read and does not count, or counts with a doubt.

use model::census::{Example, SetAside, Why};
use std::collections::BTreeMap;

/// Examples that are kept of each reason, at most.
pub(crate) const MOST_EXAMPLES: usize = 20;

/// How often each reason was given, and the first examples of it.
#[derive(Debug, Default)]
pub(crate) struct Aside(BTreeMap<Why, (u64, Vec<Example>)>);

impl Aside {
    /// Counts so many more; `examples` are some of them, of which no more are made than are kept.
    pub(crate) fn add(&mut self, why: Why, more: u64, examples: impl Iterator<Item = Example>) {
        let (count, kept) = self.0.entry(why).or_default();
        *count += more;
        kept.extend(examples.take(MOST_EXAMPLES.saturating_sub(kept.len())));
    }

    /// Whether an example of this reason would be kept.
    pub(crate) fn wants(&self, why: Why) -> bool {
        self.0.get(&why).is_none_or(|(_, kept)| kept.len() < MOST_EXAMPLES)
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<SetAside> {
        let each = self.0.iter().map(|(why, (count, examples))| SetAside {
            why: *why,
            count: *count,
            examples: examples.clone(),
        });
        each.collect()
    }
}
