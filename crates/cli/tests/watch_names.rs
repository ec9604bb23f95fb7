//! `tailback watch` gives a container the name that the kubelet uses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::watching::{Load, finding, has_programs, seen};
use common::{Place, turn};
use host::cgroup::{Bandwidth, BandwidthGroup, ParentGroup};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use testing::{has_or_skip, root_or_skip};

/// The files of the kubelet about a container, and a group for it below one with a quota. They
/// are removed when this is dropped.
struct InPod {
    group: BandwidthGroup,
    folders: Vec<PathBuf>,
    link: PathBuf,
}

impl InPod {
    fn create(parent: &ParentGroup) -> Self {
        let group = BandwidthGroup::create(parent).unwrap();
        let id = format!("{:064x}", std::process::id());
        let below = ["kubepods", "kubepods/pod6f1b", &format!("kubepods/pod6f1b/{id}")];
        let groups = below.map(|name| group.path().join(name));
        let logs = PathBuf::from("/var/log/containers");
        let folders: Vec<PathBuf> =
            groups.into_iter().chain([logs.clone()]).filter(|it| !it.exists()).collect();
        let link = logs.join(format!("orders-0_shop_db-{id}.log"));
        let made = InPod { group, folders, link };
        made.folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        std::os::unix::fs::symlink("/dev/null", &made.link).unwrap();
        made
    }

    fn add(&self, pid: u32) {
        let inner = format!("kubepods/pod6f1b/{:064x}", std::process::id());
        let inner = self.group.path().join(inner);
        fs::write(inner.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for InPod {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.link);
        self.folders.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

#[test]
fn a_container_is_called_what_the_kubelet_calls_it() {
    // Below a unit or a container, other users may own groups.
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let is_of_cpu = |line: &&str| {
        let controllers = line.split(':').nth(1).unwrap_or_default();
        controllers.is_empty() || controllers.split(',').any(|one| one == "cpu")
    };
    let is_top = own.lines().filter(is_of_cpu).all(|line| line.ends_with(":/"));
    let parent = ParentGroup::find(&host::Roots::real());
    let (Ok(parent), true) = (parent, has_or_skip(is_top, "this test runs in a group")) else {
        return;
    };
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let pod = InPod::create(&parent);
    pod.group.set(&Bandwidth { quota_us: 5_000, period_us: 50_000, burst_us: 0 }).unwrap();
    let hog = Load::start(&["sh", "-c", "while :; do :; done"]);
    pod.add(hog.0.id());
    let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json", "--pid", &hog.pid()]));
    if !has_programs(&live) {
        return;
    }
    let found = finding(&live, "cpu-quota").unwrap_or_else(|| panic!("{live:#}"));
    let container = &found["victim"]["workload"]["container"];
    assert_eq!(container["name"], "db", "{found:#}");
    assert_eq!(container["pod"], json!({"uid": "6f1b", "namespace": "shop", "name": "orders-0"}));
    let named: Vec<&String> = found["workloads"].as_object().unwrap().keys().collect();
    assert!(named.iter().any(|group| group.ends_with("/pod6f1b")), "{named:?}");
}
