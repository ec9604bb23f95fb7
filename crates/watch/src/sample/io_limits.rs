//! The limits of I/O (io.max) of groups with a program for whose handle a commit of a journal
//! waited.

use crate::tick::{IoMax, Tick};
use host::CpuGroups;
use host::roots::read_start;
use probe::live::Slept;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

/// Most groups that are looked up in an interval, each with the groups above it. Those for which
/// others slept longest come first.
const MOST: usize = 8;

/// Most devices of a group whose limits are kept.
const MOST_DEVICES: usize = 3;

/// Most bytes that are read of a file.
const MOST_BYTES: u64 = 4_096;

/// Reads the limits.
pub struct IoLimits(CpuGroups);

impl IoLimits {
    /// For this hierarchy; None if it is v1, which has no io.max.
    pub fn of(groups: CpuGroups) -> Option<Self> {
        (groups.version() == "v2").then_some(IoLimits(groups))
    }

    /// Adds the limits to a tick.
    pub fn add(&self, tick: &mut Tick) {
        for group in holders(tick) {
            if let Some(limit) = self.nearest(&group) {
                tick.io_max.insert(group, limit);
            }
        }
    }

    /// The limit of a group, or of the nearest one above it that has one.
    fn nearest(&self, group: &str) -> Option<IoMax> {
        let all = Path::new(group).ancestors().filter_map(Path::to_str);
        let mut visible = all.take_while(|group| self.0.is_there(group));
        visible.find_map(|group| self.limit(group))
    }

    /// In a container whose groups have the machine's paths, the file is not found.
    fn limit(&self, group: &str) -> Option<IoMax> {
        let file = self.0.point().join(group.trim_start_matches('/')).join("io.max");
        let text = read_start(&file, MOST_BYTES).ok()?;
        let text = String::from_utf8_lossy(&text);
        let limits: Vec<String> = text.lines().filter_map(device).take(MOST_DEVICES).collect();
        (!limits.is_empty()).then(|| IoMax { group: group.to_owned(), limits })
    }
}

/// A device and what is limited; None if nothing is.
fn device(line: &str) -> Option<String> {
    let (device, keys) = line.split_once(' ')?;
    let limited: Vec<&str> = keys.split_whitespace().filter(|key| !key.ends_with("=max")).collect();
    (!limited.is_empty()).then(|| format!("{device} {}", limited.join(" ")))
}

/// The groups of programs for whose handle commits waited.
fn holders(tick: &Tick) -> Vec<String> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for chain in tick.chains.iter().filter(|chain| chain.key.slept == Slept::Journal) {
        let process = tick.processes.get(&chain.key.holder);
        let Some(group) = process.and_then(|process| process.group.as_deref()) else { continue };
        let ns = sums.entry(group).or_default();
        *ns = ns.saturating_add(chain.ns);
    }
    let mut all: Vec<(Reverse<u64>, String)> =
        sums.into_iter().map(|(group, ns)| (Reverse(ns), group.to_owned())).collect();
    all.sort();
    all.into_iter().take(MOST).map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, second};
    use host::Roots;
    use probe::live::{ChainCounts, ChainKey};
    use testing::{CGROUP2, Tree};

    fn chain(holder: u32, slept: Slept, ms: u64) -> ChainCounts {
        let key = ChainKey { sleeper: 1, holder, slept, steps: 1, ..ChainKey::default() };
        ChainCounts { key, name: "w".to_owned(), ns: ms * MS, wakes: 1, worst_ns: ms * MS }
    }

    fn limits(files: &[(&str, &str)], tick: &mut Tick) {
        let tree = Tree::new(&[&CGROUP2[..], files].concat());
        let groups = CpuGroups::find(&Roots::at(tree.root())).unwrap();
        IoLimits::of(groups).unwrap().add(tick);
    }

    #[test]
    fn the_limit_of_the_nearest_group_is_read_without_a_cpu_controller() {
        let mut tick = second();
        process(&mut tick, 2, "writer", Some("/jobs/backup/one"));
        process(&mut tick, 3, "other", Some("/free"));
        tick.chains = vec![chain(2, Slept::Journal, 90), chain(3, Slept::Journal, 90)];
        let limit = "254:0 rbps=max wbps=1048576 riops=max wiops=120\n8:0 rbps=max wbps=max \
                     riops=max wiops=max\n";
        let files = [
            ("sys/fs/cgroup/jobs/io.max", "8:0 rbps=7 wbps=max riops=max wiops=max\n"),
            ("sys/fs/cgroup/jobs/backup/io.max", limit),
            ("sys/fs/cgroup/jobs/backup/one/io.max", ""),
            ("sys/fs/cgroup/free/io.max", ""),
        ];
        limits(&files, &mut tick);
        let expected = IoMax {
            group: "/jobs/backup".to_owned(),
            limits: vec!["254:0 wbps=1048576 wiops=120".to_owned()],
        };
        assert_eq!(tick.io_max.get("/jobs/backup/one"), Some(&expected));
        assert_eq!(tick.io_max.len(), 1, "{:?}", tick.io_max);
    }

    #[test]
    fn only_groups_for_which_others_slept_longest_are_looked_up() {
        let mut tick = second();
        let groups: Vec<String> = (0..20).map(|number| format!("/g{number}")).collect();
        for (pid, group) in (100..).zip(&groups) {
            process(&mut tick, pid, "w", Some(group.as_str()));
            tick.chains.push(chain(pid, Slept::Journal, 200 - u64::from(pid)));
        }
        process(&mut tick, 7, "w", Some("/lock"));
        tick.chains.push(chain(7, Slept::Futex, 900));
        let mut found = holders(&tick);
        assert_eq!(found[0], "/g0");
        found.sort();
        assert_eq!(found, groups[..MOST].to_vec());
    }
}
