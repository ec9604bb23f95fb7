use super::*;
use std::fs;
use std::path::Path;

const V2: &str = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1_CPU: &str = "33 25 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
const V1_MEMORY: &str = "34 25 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
const V1_NO_LIMIT: &str = "9223372036854771712\n";

struct Tree {
    roots: Roots,
    _dir: tempfile::TempDir,
}

impl Tree {
    fn new(mounts: &str, own: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree { roots: Roots::at(dir.path()), _dir: dir };
        tree.write("/proc/self/mountinfo", mounts);
        tree.write("/proc/self/cgroup", own);
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.roots.resolve(Path::new(path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn group(&self, dir: &str, files: &[(&str, &str)]) {
        fs::create_dir_all(self.roots.resolve(Path::new(dir))).unwrap();
        for (name, text) in files {
            self.write(&format!("{dir}/{name}"), text);
        }
    }

    fn facts(&self) -> CgroupFacts {
        cgroup_facts(&self.roots).unwrap()
    }
}

fn facts(version: &str, path: &str, cpu: Option<f64>, memory: Option<u64>) -> CgroupFacts {
    CgroupFacts {
        version: version.into(),
        path: Some(path.into()),
        cpu_limit: cpu,
        memory_limit_bytes: memory,
    }
}

#[test]
fn v2_takes_the_tightest_of_the_ancestors() {
    let tree = Tree::new(V2, "0::/user.slice/app\n");
    tree.group("/sys/fs/cgroup", &[]);
    tree.group(
        "/sys/fs/cgroup/user.slice",
        &[("cpu.max", "50000 100000\n"), ("memory.max", "max\n")],
    );
    tree.group(
        "/sys/fs/cgroup/user.slice/app",
        &[("cpu.max", "max 100000\n"), ("memory.max", "1048576\n")],
    );
    tree.group("/sys/fs/cgroup/other", &[("cpu.max", "1000 100000\n"), ("memory.max", "1\n")]);
    assert_eq!(tree.facts(), facts("v2", "/user.slice/app", Some(0.5), Some(1 << 20)));
}

#[test]
fn v1_reads_each_controller_in_its_own_hierarchy() {
    let own = "4:memory:/m\n3:cpu,cpuacct:/c/d\n1:name=systemd:/s\n";
    let tree = Tree::new(&format!("{V1_CPU}{V1_MEMORY}"), own);
    let quota = |quota| [("cpu.cfs_quota_us", quota), ("cpu.cfs_period_us", "100000\n")];
    tree.group("/sys/fs/cgroup/cpu,cpuacct", &quota("-1\n"));
    tree.group("/sys/fs/cgroup/cpu,cpuacct/c", &quota("150000\n"));
    tree.group("/sys/fs/cgroup/cpu,cpuacct/c/d", &quota("-1\n"));
    tree.group("/sys/fs/cgroup/memory", &[("memory.limit_in_bytes", V1_NO_LIMIT)]);
    tree.group("/sys/fs/cgroup/memory/m", &[("memory.limit_in_bytes", V1_NO_LIMIT)]);
    assert_eq!(tree.facts(), facts("v1", "/c/d", Some(1.5), None));

    let stat = "cache 5\nhierarchical_memory_limit 4096\n";
    tree.group("/sys/fs/cgroup/memory/m", &[("memory.stat", stat)]);
    assert_eq!(tree.facts().memory_limit_bytes, Some(4096));
}

#[test]
fn hybrid_takes_a_controller_from_where_the_kernel_lists_it() {
    let unified = V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ");
    let tree = Tree::new(&format!("{unified}{V1_CPU}"), "3:cpu,cpuacct:/one\n0::/two\n");
    let quota = [("cpu.cfs_quota_us", "20000\n"), ("cpu.cfs_period_us", "10000\n")];
    tree.group("/sys/fs/cgroup/cpu,cpuacct/one", &quota);
    tree.group(
        "/sys/fs/cgroup/unified/two",
        &[("cpu.max", "1 100000\n"), ("memory.max", "8192\n")],
    );
    assert_eq!(tree.facts(), facts("hybrid", "/one", Some(2.0), Some(8192)));
}

#[test]
fn a_container_sees_its_own_group_at_the_mount_point() {
    let mounts = V2.replace(" / /sys", " /docker/abc /sys");
    let tree = Tree::new(&mounts, "0::/docker/abc\n");
    tree.group("/sys/fs/cgroup", &[("cpu.max", "30000 100000\n"), ("memory.max", "max\n")]);
    assert_eq!(tree.facts(), facts("v2", "/docker/abc", Some(0.3), None));

    let namespaced = Tree::new(V2, "0::/\n");
    namespaced.group("/sys/fs/cgroup", &[("cpu.max", "max 100000\n"), ("memory.max", "512\n")]);
    assert_eq!(namespaced.facts(), facts("v2", "/", None, Some(512)));
}

#[test]
fn a_group_that_cannot_be_seen_leaves_the_limits_of_its_ancestors() {
    let tree = Tree::new(V2, "0::/pod/gone/deeper (deleted)\n");
    tree.group("/sys/fs/cgroup/pod", &[("cpu.max", "10000 100000\n")]);
    assert_eq!(tree.facts().cpu_limit, Some(0.1));

    let above = Tree::new(&V2.replace(" / /sys", " /../.. /sys"), "0::/\n");
    above.group("/sys/fs/cgroup", &[("memory.max", "4096\n")]);
    assert_eq!(above.facts().memory_limit_bytes, Some(4096));
}

#[test]
fn a_group_elsewhere_is_not_taken_for_ones_own() {
    let sibling = V2.replace(" / /sys", " /other /sys");
    let tree = Tree::new(&sibling, "0::/mine\n");
    tree.group("/sys/fs/cgroup", &[("cpu.max", "1000 100000\n")]);
    tree.group("/sys/fs/cgroup/mine", &[("cpu.max", "1000 100000\n")]);
    assert_eq!(tree.facts(), facts("v2", "/mine", None, None));
}

#[test]
fn the_mount_that_shows_the_most_is_used_wherever_it_is() {
    let part = V2.replace(" / /sys/fs/cgroup", " /a /part");
    let whole = V2.replace(" /sys/fs/cgroup", " /dev/my\\040groups");
    let tree = Tree::new(&format!("{part}{whole}"), "0::/a/b\n");
    tree.group("/part/b", &[("cpu.max", "90000 100000\n")]);
    tree.group("/dev/my groups/a/b", &[("cpu.max", "90000 100000\n")]);
    tree.group("/dev/my groups/a", &[("cpu.max", "70000 100000\n")]);
    assert_eq!(tree.facts().cpu_limit, Some(0.7));
    fs::remove_dir_all(tree.roots.resolve(Path::new("/dev"))).unwrap();
    assert_eq!(tree.facts().cpu_limit, Some(0.9));
}

#[test]
fn without_a_mount_the_version_is_what_the_kernel_lists() {
    let version = |own: &str| cgroup_facts(&Tree::new("", own).roots).map(|facts| facts.version);
    assert_eq!(version("0::/\n"), Some("v2".into()));
    assert_eq!(version("2:cpu:/\n0::/\n"), Some("v1".into()));
    assert_eq!(version(""), None);
    assert_eq!(version("nonsense\n:::\n99999999999:cpu:/\n"), None);
}

#[test]
fn limits_that_make_no_sense_are_none() {
    let tree = Tree::new(V2, "0::/\n");
    for cpu in ["", "max", "0 0", "100 0", "-5 100", "1e3 5", "99999999999999999999 1", "\u{0}"] {
        for memory in ["", "max", "-1", "9223372036854771712", "99999999999999999999999"] {
            tree.group("/sys/fs/cgroup", &[("cpu.max", cpu), ("memory.max", memory)]);
            assert_eq!(tree.facts(), facts("v2", "/", None, None), "{cpu} {memory}");
        }
    }
}

#[test]
fn headroom_is_what_the_tightest_group_leaves() {
    let tree = Tree::new(V2, "0::/a\n");
    tree.group("/sys/fs/cgroup", &[]);
    assert_eq!(memory_headroom(&tree.roots), None);
    tree.group("/sys/fs/cgroup/a", &[("memory.max", "1000\n")]);
    assert_eq!(memory_headroom(&tree.roots), Some(1000));
    let full = [("memory.current", "900\n"), ("memory.stat", "anon 1\ninactive_file 300\n")];
    tree.group("/sys/fs/cgroup/a", &full);
    assert_eq!(memory_headroom(&tree.roots), Some(400));
    tree.group("/sys/fs/cgroup", &[("memory.max", "500\n"), ("memory.current", "800\n")]);
    assert_eq!(memory_headroom(&tree.roots), Some(0));
}

#[test]
fn headroom_knows_the_limit_of_an_ancestor_that_cannot_be_seen() {
    let tree = Tree::new(V1_MEMORY, "4:memory:/\n");
    let stat = "hierarchical_memory_limit 4096\ntotal_inactive_file 24\n";
    tree.group(
        "/sys/fs/cgroup/memory",
        &[
            ("memory.limit_in_bytes", V1_NO_LIMIT),
            ("memory.usage_in_bytes", "1024\n"),
            ("memory.stat", stat),
        ],
    );
    assert_eq!(memory_headroom(&tree.roots), Some(3096));
}
