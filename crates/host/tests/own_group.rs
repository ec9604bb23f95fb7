//! A group that this test process itself has joined, on this machine's kernel. The test is alone
//! in its file, since processes of other tests would start in that group.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use tailback_host::Roots;
use tailback_host::cgroup::{BandwidthGroup, CgroupError, ParentGroup};

#[test]
fn what_this_process_is_in_itself_stays_until_it_has_left() {
    let parent_group = match ParentGroup::find(&Roots::real()) {
        Ok(parent_group) => parent_group,
        Err(why) => return testing::skipped(format!("{why:?}")),
    };
    let group = BandwidthGroup::create(&parent_group).unwrap();
    let path = group.path().to_owned();
    let own = std::process::id().to_string();
    std::fs::write(path.join("cgroup.procs"), &own).unwrap();
    let error = group.remove().unwrap_err();
    std::fs::write(parent_group.path().join("cgroup.procs"), &own).unwrap();
    assert!(matches!(error, CgroupError::OwnProcess { .. }), "{error:?}");
    assert!(path.exists());
    std::fs::remove_dir(&path).unwrap();
}
