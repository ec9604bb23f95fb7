//! The online CPUs, with their cores, packages and nodes.

use crate::roots::{self, Roots};
use crate::text;
use model::machine::Cpu;
use std::collections::BTreeMap;
use std::path::Path;

/// All online CPUs, in ascending order; empty if sysfs does not list them.
pub(crate) fn cpus(roots: &Roots) -> Vec<Cpu> {
    let base = roots.sys.join("devices/system/cpu");
    let nodes = nodes(roots);
    list_in(&base.join("online"))
        .unwrap_or_default()
        .into_iter()
        .map(|id| {
            let topology = base.join(format!("cpu{id}/topology"));
            let package = number(&topology.join("physical_package_id"));
            Cpu { id, core: core(&topology, id), package, node: nodes.get(&id).copied() }
        })
        .collect()
}

/// The core of a CPU, identified by the lowest number of the CPUs that share it.
///
/// The kernel's `core_id` repeats in each package, and on some processors in each die of a
/// package, so it does not identify siblings.
fn core(topology: &Path, id: u32) -> Option<u32> {
    ["core_cpus_list", "thread_siblings_list"]
        .iter()
        .filter_map(|name| list_in(&topology.join(name)))
        .find(|siblings| siblings.contains(&id))
        .and_then(|siblings| siblings.first().copied())
        .or_else(|| number(&topology.join("core_id")))
}

/// The NUMA node of each CPU; empty without NUMA.
fn nodes(roots: &Roots) -> BTreeMap<u32, u32> {
    let base = roots.sys.join("devices/system/node");
    let mut node_of = BTreeMap::new();
    for node in list_in(&base.join("online")).unwrap_or_default() {
        for cpu in list_in(&base.join(format!("node{node}/cpulist"))).unwrap_or_default() {
            node_of.insert(cpu, node);
        }
    }
    node_of
}

fn list_in(path: &Path) -> Option<Vec<u32>> {
    os::cpulist::parse(&roots::read_text(path).ok()?)
}

/// A number from sysfs, where -1 means unknown.
fn number(path: &Path) -> Option<u32> {
    text::number_in(path).and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::Tree;

    fn write(tree: &Tree, path: &str, text: &str) {
        tree.put(&format!("sys/devices/system/{path}"), text);
    }

    #[test]
    fn threads_of_a_core_share_its_lowest_number() {
        let tree = Tree::new::<&str>(&[]);
        let roots = Roots::at(tree.root());
        write(&tree, "cpu/online", "0-3\n");
        write(&tree, "node/online", "0-1\n");
        write(&tree, "node/node0/cpulist", "0,2\n");
        write(&tree, "node/node1/cpulist", "1,3\n");
        for (cpu, siblings, package) in [(0, "0,2", "0"), (1, "1,3", "1"), (2, "0,2", "0")] {
            write(&tree, &format!("cpu/cpu{cpu}/topology/core_cpus_list"), siblings);
            write(&tree, &format!("cpu/cpu{cpu}/topology/core_id"), "0");
            write(&tree, &format!("cpu/cpu{cpu}/topology/physical_package_id"), package);
        }
        let cpu = |id, core, package, node| Cpu { id, core, package, node };
        let expected = [
            cpu(0, Some(0), Some(0), Some(0)),
            cpu(1, Some(1), Some(1), Some(1)),
            cpu(2, Some(0), Some(0), Some(0)),
            cpu(3, None, None, Some(1)),
        ];
        assert_eq!(cpus(&roots), expected);
    }

    #[test]
    fn nonsense_is_unknown() {
        let tree = Tree::new::<&str>(&[]);
        let roots = Roots::at(tree.root());
        assert_eq!(cpus(&roots), []);
        write(&tree, "cpu/online", "1");
        write(&tree, "cpu/cpu1/topology/thread_siblings_list", "0-99999999");
        write(&tree, "cpu/cpu1/topology/core_id", "18446744073709551616");
        write(&tree, "cpu/cpu1/topology/physical_package_id", "-1");
        write(&tree, "node/online", "0-4294967295");
        assert_eq!(cpus(&roots), [Cpu { id: 1, core: None, package: None, node: None }]);
        write(&tree, "cpu/online", "0-4294967295");
        assert_eq!(cpus(&roots), []);
    }
}
