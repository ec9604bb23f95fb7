use super::*;
use model::group::Controller;

#[test]
fn v2_never_enables_where_processes_are_unless_it_is_the_root() {
    let tree = Tree::new(V2, "0::/\n");
    tree.group("/sys/fs/cgroup", &v2("", "1\n2\n"));
    let path = tree.shown("/sys/fs/cgroup");
    assert_eq!(
        tree.refusal(),
        CgroupError::Occupied { controller: Controller::Cpu, path, processes: 2 }
    );
    fs::remove_file(tree.path("/sys/fs/cgroup/cgroup.type")).unwrap();
    assert_eq!(tree.parent_group().path(), tree.path("/sys/fs/cgroup"));
}

#[test]
fn a_mount_table_that_was_read_is_not_read_again() {
    let tree = split_v1();
    let roots = tree.roots.clone().with_mounts_read();
    fs::remove_file(tree.path("/proc/self/mountinfo")).unwrap();
    let found = ParentGroup::find(&roots).unwrap();
    assert_eq!(found.path(), tree.path("/sys/fs/cgroup/cpu/a"));
    assert_eq!(found.usage, Some(tree.path("/sys/fs/cgroup/cpuacct/b")));
    // Others see what is mounted now.
    assert!(tree.find().is_err());
}

#[test]
fn v2_passes_over_threaded_groups() {
    let tree = Tree::new(V2, "0::/t\n");
    tree.group("/sys/fs/cgroup/t", &v2("cpu\n", ""));
    fs::write(tree.path("/sys/fs/cgroup/t/cgroup.type"), "threaded\n").unwrap();
    let path = tree.shown("/sys/fs/cgroup/t");
    assert_eq!(tree.refusal(), CgroupError::Threaded { path });
    tree.group("/sys/fs/cgroup", &v2("cpu\n", ""));
    assert_eq!(tree.parent_group().path(), tree.path("/sys/fs/cgroup"));
}

#[test]
fn hybrid_takes_the_hierarchy_that_has_the_controller() {
    let unified = V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ");
    let tree = Tree::new(&format!("{unified}{V1_CPU}"), "1:cpu:/\n0::/x\n");
    tree.group("/sys/fs/cgroup/cpu", V1_FILES);
    tree.group("/sys/fs/cgroup/unified/x", &[("cgroup.controllers", "")]);
    assert_eq!(tree.parent_group().version(), "v1");

    let moved = Tree::new(&format!("{unified}{V1_CPUACCT}"), "1:cpuacct:/\n0::/x\n");
    moved.group("/sys/fs/cgroup/cpuacct", &[]);
    moved.group("/sys/fs/cgroup/unified/x", &v2("cpu\n", ""));
    let parent_group = moved.parent_group();
    assert_eq!(parent_group.path(), moved.path("/sys/fs/cgroup/unified/x"));
    assert_eq!(BandwidthGroup::create(&parent_group).unwrap().join_paths().len(), 1);
}

#[test]
fn no_controller_anywhere_is_said() {
    let tree = Tree::new(V2, "0::/a\n");
    tree.group("/sys/fs/cgroup", &[("cgroup.controllers", "memory pids\n")]);
    tree.group("/sys/fs/cgroup/a", &[("cgroup.controllers", "")]);
    let path = tree.shown("/sys/fs/cgroup/a");
    assert_eq!(tree.refusal(), CgroupError::NoController { controller: Controller::Cpu, path });
    let tree = Tree::new("", "");
    let path = tree.shown("/proc/self/cgroup");
    assert_eq!(tree.refusal(), CgroupError::NoController { controller: Controller::Cpu, path });
    assert!(Tree::new("nonsense\n", ":::\n").find().is_err());
}

#[test]
fn a_hierarchy_that_is_not_mounted_is_said() {
    let tree = Tree::new("", "1:cpu:/docker/abc\n");
    let group = "/docker/abc".to_owned();
    assert_eq!(tree.refusal(), CgroupError::NotVisible { controller: Controller::Cpu, group });
    let elsewhere = Tree::new(&V2.replace(" / /sys", " /other /sys"), "0::/mine\n");
    elsewhere.group("/sys/fs/cgroup", &v2("cpu\n", ""));
    assert!(matches!(elsewhere.find(), Err(CgroupError::NotVisible { .. })));
}

#[test]
fn a_container_with_a_bind_mount_of_its_group_uses_it() {
    let mount = V1_CPU.replace(" / /sys", " /docker/abc /sys");
    let tree = Tree::new(&mount, "1:cpu:/docker/abc\n");
    tree.group("/sys/fs/cgroup/cpu", V1_FILES);
    assert_eq!(tree.parent_group().path(), tree.path("/sys/fs/cgroup/cpu"));
}

#[test]
fn a_read_only_mount_is_said_with_what_helps() {
    for mounts in [
        V2.replace(" rw,nosuid", " ro,nosuid"),
        V2.replace("cgroup2 rw", "cgroup2 ro"),
        format!("{V2}{}", V2.replace(" rw,nosuid", " ro,nosuid")),
    ] {
        let tree = Tree::new(&mounts, "0::/\n");
        tree.group("/sys/fs/cgroup", &v2("cpu\n", ""));
        let path = tree.shown("/sys/fs/cgroup");
        assert_eq!(tree.refusal(), CgroupError::ReadOnly { path }, "{mounts}");
        assert!(tree.refusal().is_privilege());
    }
    let below = "10 1 0:9 / /sys ro - sysfs sysfs ro\n";
    let tree = Tree::new(&format!("{V2}{below}"), "0::/\n");
    tree.group("/sys/fs/cgroup", &v2("cpu\n", ""));
    assert!(tree.find().is_ok(), "the mount on top counts");
}

#[test]
fn a_user_makes_groups_where_they_were_delegated_and_nowhere_else() {
    let nobody = rustix::thread::Uid::from_raw(65_534);
    if !testing::root_or_skip() {
        return;
    }
    let tree = Tree::new(V2, "0::/user.slice/own/app\n");
    tree.group("/sys/fs/cgroup", &v2("cpu\n", ""));
    tree.group("/sys/fs/cgroup/user.slice", &v2("cpu\n", ""));
    tree.group("/sys/fs/cgroup/user.slice/own", &v2("cpu\n", ""));
    tree.group("/sys/fs/cgroup/user.slice/own/app", &v2("", "77\n"));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tree.dir.path(), mode).unwrap();
    let as_nobody = || {
        std::thread::scope(|scope| {
            let found = scope.spawn(|| {
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                tree.find()
            });
            found.join().unwrap()
        })
    };
    let refusal = as_nobody().unwrap_err();
    let path = tree.shown("/sys/fs/cgroup/user.slice/own/app");
    assert_eq!(refusal, CgroupError::Denied { path });
    for dir in ["own", "own/app"] {
        let dir = tree.path(&format!("/sys/fs/cgroup/user.slice/{dir}"));
        for path in [dir.clone(), dir.join("cgroup.procs"), dir.join("cgroup.subtree_control")] {
            std::os::unix::fs::chown(path, Some(65_534), None).unwrap();
        }
    }
    let own = tree.path("/sys/fs/cgroup/user.slice/own");
    assert_eq!(as_nobody().unwrap().path(), own);
    std::os::unix::fs::chown(own.join("cgroup.procs"), Some(0), None).unwrap();
    assert!(as_nobody().is_err(), "processes could not be moved out of app");
}

#[test]
fn a_kernel_without_quotas_is_said() {
    let tree = Tree::new(V1_CPU, "1:cpu:/\n");
    tree.group("/sys/fs/cgroup/cpu", &[("cpu.shares", "1024\n")]);
    let path = tree.shown("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    assert_eq!(tree.refusal(), CgroupError::NoBandwidth { path });
}
