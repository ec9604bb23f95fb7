//! The kernel series that have their own folders.

use census::Verdicts;
use std::collections::{BTreeMap, HashMap};

/// Most kernel series with their own folders, since a hostile fleet may have any number of
/// series.
const MOST: usize = 200;

/// The folder of hosts whose kernel release has no series.
const UNKNOWN: &str = "unknown";

/// The folder of hosts with further series.
const OTHERS: &str = "others";

/// The folder name for each kind of hosts.
///
/// Names are like `linux-6.10` and not `6.10`: readers that guess types would parse that as the
/// number 6.1.
pub(crate) struct Series {
    by_kind: Vec<u32>,
    names: Vec<String>,
}

impl Series {
    /// The folders of all kinds. The series with the most answers have their own folders.
    pub(crate) fn of(verdicts: &Verdicts) -> Self {
        let kinds = verdicts.kinds();
        let series = |kind: u32| kinds.get(kind as usize)?.identity.series.as_deref();
        let mut answers: HashMap<u32, u64> = HashMap::new();
        for verdict in verdicts.iter() {
            if let Some(kind) = verdict.kind_number {
                *answers.entry(kind).or_default() += 1;
            }
        }
        let mut by_series: BTreeMap<&str, u64> = BTreeMap::new();
        for (kind, count) in &answers {
            if let Some(name) = series(*kind) {
                *by_series.entry(name).or_default() += count;
            }
        }
        let mut order: Vec<(&str, u64)> = by_series.into_iter().collect();
        order.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then(a.cmp(b)));
        let own = order.iter().take(MOST).map(|(name, _)| *name);
        let places: HashMap<&str, u32> = own.zip(2..).collect();
        let mut names = vec![UNKNOWN.to_owned(), OTHERS.to_owned()];
        names.extend(order.iter().take(MOST).map(|(name, _)| format!("linux-{name}")));
        let place = |kind: &census::HostKind| match kind.identity.series.as_deref() {
            Some(name) => places.get(name).copied().unwrap_or(1),
            None => 0,
        };
        Series { by_kind: kinds.iter().map(place).collect(), names }
    }

    /// The index of a kind's folder.
    pub(crate) fn place(&self, kind: Option<u32>) -> u32 {
        kind.and_then(|kind| self.by_kind.get(kind as usize).copied()).unwrap_or(0)
    }

    /// The name of the folder with this index.
    pub(crate) fn name(&self, place: u32) -> &str {
        self.names.get(place as usize).map_or(UNKNOWN, |name| name)
    }
}
