use super::*;
use model::group::Controller;

/// A v2 group that has these controllers, enables some of them, and holds these processes.
fn group<'a>(has: &'a str, enables: &'a str, procs: &'a str) -> [(&'static str, &'a str); 4] {
    [
        ("cgroup.controllers", has),
        ("cgroup.subtree_control", enables),
        ("cgroup.type", "domain\n"),
        ("cgroup.procs", procs),
    ]
}

#[test]
fn a_parent_for_io_has_both_controllers_and_enables_what_is_off() {
    let tree = Tree::new(V2, "0::/user.slice/app\n");
    tree.group("/sys/fs/cgroup", &group("cpu io memory\n", "memory\n", ""));
    tree.group("/sys/fs/cgroup/user.slice", &group("cpu memory\n", "memory\n", ""));
    tree.group("/sys/fs/cgroup/user.slice/app", &group("memory\n", "", "77\n"));
    let parent_group = ParentGroup::find_io(&tree.roots).unwrap();
    assert_eq!(parent_group.path(), tree.path("/sys/fs/cgroup"));
    let control =
        || fs::read_to_string(parent_group.path().join("cgroup.subtree_control")).unwrap();
    assert_eq!(control(), "memory\n", "finding changes nothing");
    let made = IoGroup::create(&parent_group).unwrap();
    assert_eq!(control(), "+io");
    assert_eq!(made.limits(), made.path().join("io.max"));
    drop(made);
    drop(IoGroup::create(&parent_group).unwrap());
    assert_eq!(control(), "+io", "it stays until the end of the program");
    controller::take_back_in(parent_group.path());
    assert_eq!(control(), "-io", "memory was enabled before");
}

#[test]
fn both_controllers_are_enabled_and_taken_back() {
    let tree = Tree::new(V2, "0::/\n");
    tree.group("/sys/fs/cgroup", &group("io memory\n", "", ""));
    let parent_group = ParentGroup::find_io(&tree.roots).unwrap();
    let control = tree.path("/sys/fs/cgroup/cgroup.subtree_control");
    let made = IoGroup::create(&parent_group).unwrap();
    // A plain file keeps only what was written last.
    assert_eq!(fs::read_to_string(&control).unwrap(), "+io");
    controller::take_back_in(parent_group.path());
    assert_eq!(fs::read_to_string(&control).unwrap(), "+io", "a group needs it");
    drop(made);
    controller::take_back_in(parent_group.path());
    assert_eq!(fs::read_to_string(&control).unwrap(), "-io");
}

#[test]
fn the_reason_why_there_is_no_io_is_the_most_helpful_one() {
    let refusal = |has: &str, procs: &str| {
        let tree = Tree::new(V2, "0::/a\n");
        tree.group("/sys/fs/cgroup", &group("memory\n", "memory\n", ""));
        tree.group("/sys/fs/cgroup/a", &group(has, "memory\n", procs));
        (ParentGroup::find_io(&tree.roots).unwrap_err(), tree.shown("/sys/fs/cgroup/a"))
    };
    let (occupied, path) = refusal("io memory\n", "7\n8\n");
    assert_eq!(occupied, NoIo::Occupied { path, processes: 2 });
    let (lacking, path) = refusal("memory\n", "");
    assert_eq!(lacking, NoIo::NoController { path });
    let tree = Tree::new("", "");
    let path = tree.shown("/proc/self/cgroup");
    let nowhere = CgroupError::NoController { controller: Controller::Memory, path };
    assert_eq!(ParentGroup::find_io(&tree.roots), Err(NoIo::Group(nowhere)));
}

#[test]
fn cgroup_v1_has_no_write_back_of_groups() {
    let mount = "33 25 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let tree = Tree::new(mount, "1:memory:/\n");
    tree.group("/sys/fs/cgroup/memory", &[("cgroup.procs", "")]);
    let refused = ParentGroup::find_io(&tree.roots);
    assert_eq!(refused, Err(NoIo::Group(CgroupError::MemoryOfV1)));
}

#[test]
fn limits_of_all_disks_are_lifted() {
    let tree = Tree::new(V2, "0::/\n");
    tree.group("/sys/fs/cgroup", &group("io memory\n", "io memory\n", ""));
    let made = IoGroup::create(&ParentGroup::find_io(&tree.roots).unwrap()).unwrap();
    fs::write(made.limits(), "7:3 rbps=max wbps=1048576 riops=max wiops=max\n").unwrap();
    made.lift();
    let lifted = fs::read_to_string(made.limits()).unwrap();
    assert_eq!(lifted, "7:3 rbps=max wbps=max riops=max wiops=max");
    fs::remove_file(made.limits()).unwrap();
    made.remove().unwrap();
}
