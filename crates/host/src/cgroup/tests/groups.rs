use super::*;

#[test]
fn v1_makes_twins_below_the_own_groups_of_both_hierarchies() {
    let tree = split_v1();
    let parent_group = tree.parent_group();
    assert_eq!(
        (parent_group.path(), parent_group.version()),
        (&*tree.path("/sys/fs/cgroup/cpu/a"), "v1")
    );
    let group = BandwidthGroup::create(&parent_group).unwrap();
    let parents: Vec<_> = group.join_paths().iter().map(|p| p.parent().unwrap()).collect();
    let expected = ["/sys/fs/cgroup/cpu/a", "/sys/fs/cgroup/cpuacct/b"].map(|p| tree.path(p));
    assert_eq!(parents, expected);

    populate(&group, &[V1_FILES, &[("cpuacct.usage", "77\n")]].concat());
    group.set(&TEN_PERCENT).unwrap();
    let set = ["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us"];
    assert_eq!(set.map(|file| read(&group, file)), ["10000", "100000", "5000"]);
    group.add(4321).unwrap();
    for dir in group.join_paths() {
        assert_eq!(fs::read_to_string(dir.join("cgroup.procs")).unwrap(), "4321");
        fs::write(dir.join("cgroup.procs"), "").unwrap();
    }
    let usage = group.usage();
    assert_eq!((usage.usage_ns, usage.nr_periods), (Some(77), Some(3)));

    let paths: Vec<PathBuf> = group.join_paths().into_iter().map(Path::to_owned).collect();
    depopulate(&group);
    group.remove().unwrap();
    assert!(paths.iter().all(|path| !path.exists()));
}

#[test]
fn v1_with_both_controllers_in_one_hierarchy_makes_one_group() {
    let mount = V1_CPU.replace("rw,cpu", "rw,cpu,cpuacct").replace("/cpu rw", "/cpu,cpuacct rw");
    let tree = Tree::new(&mount, "1:cpu,cpuacct:/\n");
    tree.group("/sys/fs/cgroup/cpu,cpuacct", V1_FILES);
    let group = BandwidthGroup::create(&tree.parent_group()).unwrap();
    let same = group.join_paths();
    assert_eq!(same.last(), Some(&group.path()));
    populate(&group, &[("cpuacct.usage", "8\n")]);
    assert_eq!(group.usage().usage_ns, Some(8));
    depopulate(&group);
}

#[test]
fn v1_without_counting_still_has_quotas() {
    let tree = Tree::new(V1_CPU, "1:cpu:/\n");
    tree.group("/sys/fs/cgroup/cpu", V1_FILES);
    let group = BandwidthGroup::create(&tree.parent_group()).unwrap();
    assert_eq!((group.join_paths().len(), group.usage().usage_ns), (1, None));
}

#[test]
fn v2_goes_up_to_the_first_group_that_passes_the_controller_on() {
    let tree = Tree::new(V2, "0::/user.slice/session.scope\n");
    tree.group("/sys/fs/cgroup", &v2("cpu memory\n", "1\n"));
    tree.group("/sys/fs/cgroup/user.slice", &v2("memory cpu\n", ""));
    tree.group("/sys/fs/cgroup/user.slice/session.scope", &v2("", "77\n78\n"));
    let parent_group = tree.parent_group();
    assert_eq!(
        (parent_group.path(), parent_group.version()),
        (&*tree.path("/sys/fs/cgroup/user.slice"), "v2")
    );
    let group = BandwidthGroup::create(&parent_group).unwrap();
    populate(&group, V2_FILES);
    group.set(&TEN_PERCENT).unwrap();
    assert_eq!(
        (read(&group, "cpu.max"), read(&group, "cpu.max.burst")),
        ("10000 100000".into(), "5000".into())
    );
    let usage = group.usage();
    assert_eq!((usage.usage_ns, usage.throttled_ns), (Some(5_000), Some(9_000)));
    depopulate(&group);
    drop(group);
    let passed = fs::read_to_string(parent_group.path().join("cgroup.subtree_control")).unwrap();
    assert_eq!(passed, "memory cpu\n", "what was there before is not taken away");
}

#[test]
fn v2_enables_the_controller_where_it_can_and_takes_it_back() {
    let tree = Tree::new(V2, "0::/empty\n");
    tree.group("/sys/fs/cgroup/empty", &v2("memory\n", ""));
    let parent_group = tree.parent_group();
    let control =
        || fs::read_to_string(parent_group.path().join("cgroup.subtree_control")).unwrap();
    assert_eq!(control(), "memory\n", "finding changes nothing");
    let first = BandwidthGroup::create(&parent_group).unwrap();
    let second = BandwidthGroup::create(&parent_group).unwrap();
    assert_eq!(control(), "+cpu");
    drop(first);
    assert_eq!(control(), "+cpu", "another group needs it");
    drop(second);
    assert_eq!(control(), "-cpu");
}

#[test]
fn a_quota_above_the_parents_is_refused_by_name() {
    let tree = split_v1();
    tree.group(
        "/sys/fs/cgroup/cpu",
        &[("cpu.cfs_quota_us", "9000"), ("cpu.cfs_period_us", "100000")],
    );
    let group = BandwidthGroup::create(&tree.parent_group()).unwrap();
    let error = group.set(&TEN_PERCENT).unwrap_err();
    assert!(error.is_bad_value());
    let of_above = (9_000, 100_000, true);
    assert!(
        matches!(error, CgroupError::Value(BadQuota::QuotaAboveParent {
            above_quota_us, above_period_us, refused, ..
        }) if (above_quota_us, above_period_us, refused) == of_above),
        "{error:?}"
    );

    let tree = Tree::new(V2, "0::/a\n");
    tree.group(
        "/sys/fs/cgroup/a",
        &[&v2("cpu\n", "")[..], &[("cpu.max", "4000 50000\n")]].concat(),
    );
    let group = BandwidthGroup::create(&tree.parent_group()).unwrap();
    let error = group.set(&TEN_PERCENT).unwrap_err();
    let of_above = (4_000, 50_000, false);
    assert!(
        matches!(error, CgroupError::Value(BadQuota::QuotaAboveParent {
            above_quota_us, above_period_us, refused, ..
        }) if (above_quota_us, above_period_us, refused) == of_above),
        "{error:?}"
    );
    populate(&group, V2_FILES);
    assert!(group.set(&Bandwidth { quota_us: 8_000, burst_us: 0, ..TEN_PERCENT }).is_ok());
    depopulate(&group);
}

#[test]
fn a_kernel_without_burst_takes_quotas_without() {
    let tree = split_v1();
    let group = BandwidthGroup::create(&tree.parent_group()).unwrap();
    let error = group.set(&Bandwidth { burst_us: 0, ..TEN_PERCENT }).unwrap_err();
    assert!(
        matches!(&error, CgroupError::NoBandwidth { path } if path.ends_with("cpu.cfs_quota_us")),
        "{error:?}"
    );
    populate(&group, &V1_FILES[..2]);
    let error = group.set(&TEN_PERCENT).unwrap_err();
    assert!(
        matches!(&error, CgroupError::Value(BadQuota::NoBurst { path }) if path.ends_with("cpu.cfs_burst_us")),
        "{error:?}"
    );
    group.set(&Bandwidth { burst_us: 0, ..TEN_PERCENT }).unwrap();
    assert_eq!(read(&group, "cpu.cfs_quota_us"), "10000");
    depopulate(&group);
}

#[test]
fn sweeping_takes_the_groups_of_the_dead_alone() {
    let tree = split_v1();
    let parent_group = tree.parent_group();
    let alive = BandwidthGroup::create(&parent_group).unwrap();
    let recycled = format!("tailback-{}-1-0", std::process::id());
    let names =
        ["tailback-2000000000-5-0", recycled.as_str(), "tailback-2000000000-5-0-ns7", "docker"];
    for name in names {
        tree.group(&format!("/sys/fs/cgroup/cpu/a/{name}"), &[]);
    }
    tree.group("/sys/fs/cgroup/cpuacct/b/tailback-2000000000-5-0", &[]);
    let swept = sweep(&parent_group);
    assert!(swept.failed.is_empty(), "{:?}", swept.failed);
    let mut removed: Vec<_> =
        swept.removed.iter().map(|p| p.file_name().unwrap().to_owned()).collect();
    removed.sort();
    let mut expected = [names[0], names[0], names[1]];
    expected.sort();
    assert_eq!(removed, expected);
    assert!(alive.path().exists() && parent_group.path().join("docker").exists());
    assert!(parent_group.path().join(names[2]).exists(), "its pid is of another namespace");
}

#[test]
fn a_group_that_the_journal_cannot_take_is_not_made() {
    let tree = split_v1();
    let parent_group = tree.parent_group();
    // A folder has the name of the journal.
    let folder = crate::private::folder(&tree.roots.run.join("tailback")).unwrap();
    let own = crate::owner::Owner::this(&tree.roots).unwrap();
    fs::create_dir(folder.join(format!("{}.journal", own.name(0)))).unwrap();
    let error = BandwidthGroup::create(&parent_group).unwrap_err();
    assert!(matches!(error, CgroupError::Journal { .. }), "{error:?}");
    let entries = fs::read_dir(parent_group.path()).unwrap().flatten();
    assert!(entries.map(|entry| entry.path()).all(|path| path.is_file()));

    let without = split_v1();
    fs::write(&without.roots.run, "no folder").unwrap();
    let group = BandwidthGroup::create(&without.parent_group()).unwrap();
    assert!(group.path().exists());
}

#[test]
fn a_user_without_a_session_makes_groups_also_where_root_has_journals() {
    if !testing::root_or_skip() {
        return;
    }
    let tree = Tree::new(V1_CPU, "1:cpu:/\n");
    tree.group("/sys/fs/cgroup/cpu", V1_FILES);
    tree.group("/run", &[]);
    crate::private::folder(&tree.roots.run.join("tailback")).unwrap();
    let parent_group = tree.parent_group();
    for (path, mode) in [(tree.dir.path(), 0o755), (parent_group.path(), 0o777)] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(path, mode).unwrap();
    }
    let nobody = rustix::thread::Uid::from_raw(65_534);
    let made = std::thread::scope(|scope| {
        let made = scope.spawn(|| {
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            BandwidthGroup::create(&parent_group).map(|group| group.path().exists())
        });
        made.join().unwrap()
    });
    assert_eq!(made, Ok(true));
}

#[test]
fn a_group_that_holds_this_process_is_not_killed() {
    let tree = split_v1();
    let group = BandwidthGroup::create(&tree.parent_group()).unwrap();
    populate(&group, &[("cgroup.procs", &format!("{}\n", std::process::id()))]);
    let error = group.remove().unwrap_err();
    assert!(matches!(error, CgroupError::OwnProcess { .. }), "{error:?}");
}

#[test]
fn a_group_that_is_gone_is_removed() {
    let tree = split_v1();
    let group = BandwidthGroup::create(&tree.parent_group()).unwrap();
    group.join_paths().iter().for_each(|dir| fs::remove_dir(dir).unwrap());
    assert_eq!(group.usage(), Usage::default());
    assert!(matches!(group.add(1), Err(CgroupError::Io { .. })));
    group.remove().unwrap();
}
