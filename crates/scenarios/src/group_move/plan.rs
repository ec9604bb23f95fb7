//! Turns parameters into arms, and into the settings of a trial, checked against the machine.

use super::mover::{MoverSpec, reap};
use super::params::{By, GroupMoveParams, MoveFix};
use super::sentences::GroupMoveFact;
use crate::params::Time;
use crate::{Arms, Host, ScenarioError};
use host::Roots;
use host::cgroup::{BandwidthGroup, CgroupError, ParentGroup, sweep};
use model::{Arm, Changed, LeftOut, Need, Plan, Problem, Role, WhyLeftOut};
use os::death;
use os::time;
use os::user::User;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

/// Estimated cost of the set-up of a trial, besides its duration. Used for the progress bar.
pub(super) const SET_UP: Duration = Duration::from_millis(150);

/// A trial must be as long as this many pauses. Otherwise it has too few calls.
const PAUSES: u32 = 5;

/// Most bytes of a mount table that are read.
const MOUNTS_LIMIT: u64 = 16 << 20;

/// The version of the interface in which groups have no `cgroup.max.depth`.
const V1: &str = "v1";

/// Id of the arm whose children begin in their group.
const CLONE_INTO: &str = "clone-into";

/// The shortest trial with this pause before each call.
pub(super) fn shortest_trial(gap: Time) -> Time {
    Time::from(gap.get() * PAUSES)
}

/// Refuses parameters that leave too few calls in a trial.
///
/// # Errors
/// If the pause is too long for the trial.
pub(super) fn check(params: &GroupMoveParams) -> Result<(), ScenarioError> {
    if params.duration >= shortest_trial(params.gap) {
        return Ok(());
    }
    let most = Time::from(params.duration.get() / PAUSES);
    Err(ScenarioError::unusable(GroupMoveFact::GapTooLong {
        gap: (&params.gap).into(),
        duration: (&params.duration).into(),
        most: (&most).into(),
    }))
}

/// The group below which the groups of a trial are made. The error is what is missing.
///
/// It is a group with the cpu controller, as for quotas. No quota is set.
pub(super) fn home(host: &Host) -> Result<ParentGroup, Need> {
    ParentGroup::find(host.roots).map_err(need_of)
}

/// What this machine lacks for the scenario.
pub(super) fn missing(host: &Host) -> Option<Need> {
    home(host).err()
}

fn need_of(error: CgroupError) -> Need {
    match error {
        CgroupError::Denied { path } | CgroupError::ReadOnly { path } => {
            let what = GroupMoveFact::NoGroup { path: (&path).into() }.into();
            Need::Scenario { what, grant: GroupMoveFact::BeRoot.into() }
        }
        other => Need::Quota(other),
    }
}

/// Converts a group error into a scenario error.
pub(super) fn refused(error: CgroupError) -> ScenarioError {
    if error.is_privilege() {
        ScenarioError::Missing(need_of(error))
    } else {
        ScenarioError::Broken(Problem::Group(error))
    }
}

/// The arms: a write that moves nothing, the move, and the fixes.
pub(super) fn arms(
    params: &GroupMoveParams,
    host: &Host,
) -> Result<Arms<GroupMoveParams>, ScenarioError> {
    check(params)?;
    let home = home(host).map_err(ScenarioError::Missing)?;
    // First removes what an earlier, killed run left behind.
    sweep(&home);
    let no_clone = try_out(&home)?;
    match no_clone {
        Some(why) if params.by == By::CloneInto => Err(ScenarioError::Missing(need_of_clone(why))),
        no_clone => Ok(arms_for(params, no_clone)),
    }
}

/// The need of a case whose children cannot begin in a group for this reason.
fn need_of_clone(why: GroupMoveFact) -> Need {
    let grant = match why {
        // No privilege changes the version of the groups.
        GroupMoveFact::NoCloneInV1 => GroupMoveFact::InAGuest,
        _ => GroupMoveFact::BeRoot,
    };
    Need::Scenario { what: why.into(), grant: grant.into() }
}

/// The arms, if a child cannot begin in a group for the reason `no_clone`.
fn arms_for(params: &GroupMoveParams, no_clone: Option<GroupMoveFact>) -> Arms<GroupMoveParams> {
    // The control is no fix, so it states no change.
    let mut all = Arms::from(vec![
        arm("other-file", Role::Control, params.control(), None),
        arm("case", Role::Case, params.clone(), None),
    ]);
    for fix in params.fixes.parts() {
        let (id, change) = match fix {
            MoveFix::CloneInto => (CLONE_INTO, GroupMoveFact::CloneInto),
        };
        let settings = params.with(*fix);
        // A fix that the case already has is skipped.
        if no_clone.is_none() && settings != *params {
            all.arms.push(arm(id, Role::Fix, settings, Some(change)));
        }
    }
    if let Some(why) = no_clone {
        // Also if it was not requested: from this, the summary knows what cannot be suggested.
        let why = WhyLeftOut::Scenario(why.into());
        all.left_out.push(LeftOut { id: CLONE_INTO.to_owned(), why });
    }
    all
}

/// Whether the control groups of a study were of v1.
pub(super) fn is_of_v1(plan: &Plan) -> bool {
    let of_v1 = WhyLeftOut::Scenario(GroupMoveFact::NoCloneInV1.into());
    plan.left_out.iter().any(|one| one.why == of_v1)
}

fn arm(
    id: &str,
    role: Role,
    settings: GroupMoveParams,
    change: Option<GroupMoveFact>,
) -> Arm<GroupMoveParams> {
    let change = change.map(|fact| Changed::Scenario(fact.into()));
    Arm { id: id.to_owned(), role, against: None, settings, change }
}

/// Makes a group and a child in it, so that a refusal comes before anything is measured. Returns
/// why a child cannot begin in a group, if it cannot.
fn try_out(home: &ParentGroup) -> Result<Option<GroupMoveFact>, ScenarioError> {
    let group = BandwidthGroup::create(home).map_err(refused)?;
    let no_clone = match home.version() {
        V1 => Some(GroupMoveFact::NoCloneInV1),
        _ => child_in(&group).err().map(|error| GroupMoveFact::NoClone { error: (&error).into() }),
    };
    group.remove().map_err(refused)?;
    Ok(no_clone)
}

fn child_in(group: &BandwidthGroup) -> std::io::Result<()> {
    let folder = File::open(group.path())?;
    reap(death::short_lived_in(folder.as_fd())?)
}

/// The settings of the mover. `user` is the load's user.
pub(super) fn spec(
    params: &GroupMoveParams,
    home: &ParentGroup,
    groups: [PathBuf; 2],
    user: Option<User>,
) -> MoverSpec {
    // Writing the value that the file has takes no lock of moves and changes nothing.
    let other_file = match home.version() {
        V1 => "notify_on_release",
        _ => "cgroup.max.depth",
    };
    MoverSpec {
        by: params.by,
        groups,
        other_file: other_file.to_owned(),
        user: user.map(|user| user.to_string()),
        gap_ns: time::whole_ns(params.gap.get()),
        duration_ms: time::whole_ms(params.duration.get()),
    }
}

/// Whether control groups are mounted with favordynmods. On Linux 6.18 and later, the option stays
/// in force after a mount without it, which this does not see.
pub(super) fn favors_moves(roots: &Roots) -> bool {
    let mounts = roots.proc.join("self/mountinfo");
    let mounts = host::roots::read_text_up_to(&mounts, MOUNTS_LIMIT).unwrap_or_default();
    mounts.lines().any(|line| {
        // The kind of the file system, its source, and its own options.
        let fields = line.split_once(" - ").map(|(_, fields)| fields).unwrap_or_default();
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let ["cgroup" | "cgroup2", _, options] = fields[..] else { return false };
        options.split(',').any(|option| option == "favordynmods")
    })
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::params::List;
    use crate::testing::{refused as refusal, told};
    use testing::{CGROUP2, Tree};

    #[test]
    fn the_control_differs_by_the_call_alone() {
        let case = GroupMoveParams::default();
        let control = case.control();
        assert_eq!(control, GroupMoveParams { by: By::OtherFile, ..case.clone() });
        // Control against control.
        assert_eq!(control.control(), control);
    }

    #[test]
    fn a_fix_that_is_there_already_or_cannot_be_had_is_not_tried() {
        let ids = |params: &GroupMoveParams, no_clone| {
            let all = arms_for(params, no_clone);
            let ids = all.arms.into_iter().map(|arm| arm.id).collect::<Vec<String>>().join(" ");
            (ids, all.left_out.len())
        };
        let usual = GroupMoveParams::default();
        assert_eq!(ids(&usual, None), ("other-file case clone-into".to_owned(), 0));
        let v1 = Some(GroupMoveFact::NoCloneInV1);
        assert_eq!(ids(&usual, v1.clone()), ("other-file case".to_owned(), 1));
        let no_fixes = GroupMoveParams { fixes: List::new(Vec::new()), ..usual.clone() };
        assert_eq!(ids(&no_fixes, v1), ("other-file case".to_owned(), 1));
        assert_eq!(ids(&no_fixes, None), ("other-file case".to_owned(), 0));
        let fixed = usual.with(MoveFix::CloneInto);
        assert_eq!(ids(&fixed, None), ("other-file case".to_owned(), 0));
        let control = arms_for(&usual, None).arms.remove(0);
        assert_eq!(control.change, None, "a write to another file is no advice");
    }

    #[test]
    fn a_trial_has_room_for_some_calls() {
        let gap = |ms| GroupMoveParams { gap: Time::ms(ms), ..GroupMoveParams::default() };
        assert!(check(&gap(200)).is_ok() && check(&gap(0)).is_ok());
        let refused = refusal(&META, check(&gap(201)));
        assert!(refused.starts_with("--gap 201ms: "), "{refused}");
        assert!(refused.contains("--duration of 1s") && refused.contains("take 200ms or less"));
        let quick = GroupMoveParams { duration: Time::ms(600), ..GroupMoveParams::default() };
        assert!(check(&quick).is_ok(), "the usual pause fits into a quick trial");
    }

    #[test]
    fn the_control_writes_to_a_file_that_the_version_has() {
        let other_file = |roots: &Roots| {
            let home = ParentGroup::find(roots).unwrap();
            let groups = ["/one", "/other"].map(PathBuf::from);
            spec(&GroupMoveParams::default(), &home, groups, None).other_file
        };
        let tree = Tree::new(&CGROUP2);
        tree.put("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        tree.put("sys/fs/cgroup/cgroup.subtree_control", "cpu\n");
        tree.put("sys/fs/cgroup/cgroup.procs", "");
        assert_eq!(other_file(&Roots::at(tree.root())), "cgroup.max.depth");
        let mount = "30 1 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let tree = Tree::new(&[
            ("proc/self/mountinfo", mount),
            ("proc/self/cgroup", "9:cpu:/\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cgroup.procs", ""),
        ]);
        assert_eq!(other_file(&Roots::at(tree.root())), "notify_on_release");
    }

    #[test]
    fn what_cannot_be_written_is_named_with_what_helps() {
        let missing = need_of(CgroupError::Denied { path: "/sys/x".to_owned() });
        let Need::Scenario { what, grant } = missing else { panic!("{missing:?}") };
        assert!(told(&META, &what).contains("/sys/x"));
        assert!(told(&META, &grant).ends_with("-- run group-move"));
        let grant_of = |why| match need_of_clone(why) {
            Need::Scenario { grant, .. } => told(&META, &grant),
            other => panic!("{other:?}"),
        };
        assert!(grant_of(GroupMoveFact::NoCloneInV1).starts_with("run it in a guest"));
        let no_clone = GroupMoveFact::NoClone { error: "x".into() };
        assert!(grant_of(no_clone).starts_with("run it as root"));
        let threaded = CgroupError::Threaded { path: "/sys/x".to_owned() };
        assert_eq!(need_of(threaded.clone()), Need::Quota(threaded));
    }

    #[test]
    fn favordynmods_is_an_option_of_a_mount_of_groups() {
        let favors = |mount: &str| {
            let tree = Tree::new(&[("proc/self/mountinfo", mount)]);
            favors_moves(&Roots::at(tree.root()))
        };
        let start = "30 1 0:30 / /sys/fs/cgroup rw shared:9";
        assert!(favors(&format!("{start} - cgroup2 cgroup2 rw,nsdelegate,favordynmods\n")));
        assert!(favors(&format!("{start} - cgroup cgroup rw,favordynmods,cpu\n")));
        assert!(!favors(&format!("{start} - cgroup2 cgroup2 rw,nsdelegate\n")));
        assert!(!favors(&format!("{start} - tmpfs favordynmods rw,favordynmods\n")) && !favors(""));
    }
}
