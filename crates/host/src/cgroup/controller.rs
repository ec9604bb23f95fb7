//! Enables a v2 controller for the children of a group, makes a group there, and disables the
//! controller again.
//!
//! Disabling a controller removes its settings, such as `cpu.max`, from all children. So this is
//! done only if no child was added since then and no child has a setting of its own. Otherwise
//! somebody may rely on the controller, and it stays enabled.

use super::error::{self, CgroupError};
use super::kind::settings;
use super::left_group;
use super::parent_group::ParentGroup;
use super::place::{HeldGroup, NoGroup};
use super::sweep::groups_of_tailback;
use crate::group_controller::GroupController;
use crate::journal::{self, Change, Noted, Undone, write_existing};
use crate::owner::Owner;
use crate::roots::{self, Roots};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file that enables controllers for a group's children.
const CONTROL: &str = "cgroup.subtree_control";

/// A group for whose children this process has enabled the controller.
#[derive(Debug)]
struct PassedOn {
    controller: GroupController,
    group: PathBuf,
    children: Vec<String>,
    noted: Noted,
}

impl PassedOn {
    /// Whether groups below this parent need it.
    fn is_of(&self, parent_group: &ParentGroup) -> bool {
        self.group == parent_group.folder && parent_group.controllers.contains(&self.controller)
    }

    /// Disables it. If that fails, it stays in the journal, and the next start tries again.
    fn end(self) {
        if let Undone::Now | Undone::Before | Undone::Left(_) =
            switch_off(self.controller, &self.group, &self.children)
        {
            self.noted.undone();
        }
    }
}

/// Groups for whose children this process enabled a controller. This is a static, since the
/// kernel has only one such setting per group: the last group of this process that needs it
/// undoes it.
static PASSED_ON: Mutex<Vec<PassedOn>> = Mutex::new(Vec::new());

fn passed_on() -> MutexGuard<'static, Vec<PassedOn>> {
    // Elements are pushed and removed whole, so a panic elsewhere leaves nothing half done.
    PASSED_ON.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes an empty group, named `tailback-PID-STARTTIME-N` after this process, below `parent`.
/// First enables the controllers for the parent's children, if necessary. If there is a journal,
/// the group is recorded there until it is removed.
pub(super) fn make_group(parent: &ParentGroup) -> Result<(PathBuf, Option<Noted>), CgroupError> {
    let stat = parent.roots.proc.join("self/stat");
    let malformed = || error::io(&stat, std::io::ErrorKind::InvalidData.into());
    let name = Owner::this(&parent.roots).ok_or_else(malformed)?.next_name();
    pass_on(parent).inspect_err(|_| take_back(parent))?;
    let folder = parent.folder.join(name);
    let made = left_group::make(&parent.roots, &folder).inspect_err(|_| take_back(parent));
    made.map(|noted| (folder, noted))
}

/// Enables the controllers for the children of the parent group, if necessary.
fn pass_on(parent_group: &ParentGroup) -> Result<(), CgroupError> {
    parent_group.enable.iter().try_for_each(|controller| pass_on_one(parent_group, *controller))
}

fn pass_on_one(parent_group: &ParentGroup, controller: GroupController) -> Result<(), CgroupError> {
    let group = parent_group.folder.clone();
    let mut all = passed_on();
    if all.iter().any(|one| one.group == group && one.controller == controller) {
        return Ok(());
    }
    let children = children(&group).map_err(|error| error::io(&group, error))?;
    let children: Vec<String> = children.iter().map(|child| shown(child)).collect();
    let change =
        Change::Controller { controller, group: group.clone(), children: children.clone() };
    let noted = journal::note(&parent_group.roots, change)?;
    let control = group.join(CONTROL);
    if let Err(error) = write_existing(&control, &format!("+{}", controller.name())) {
        noted.undone();
        return Err(error::io(&control, error));
    }
    all.push(PassedOn { controller, group, children, noted });
    Ok(())
}

/// Disables the controllers that this process has enabled, once no group of tailback needs them.
///
/// The io controller and those enabled with it stay until [`take_back_all`]. For each change, the
/// kernel stops the start and the end of all processes while it moves the tasks of the groups below
/// (`cgroup_update_dfl_csses`). For cpu and memory a change is rare, since most machines have them
/// enabled; for io it would come twice in a trial.
pub(super) fn take_back(parent_group: &ParentGroup) {
    if parent_group.controllers.contains(&GroupController::Io) {
        return;
    }
    take_back_where(|one| one.is_of(parent_group));
}

/// Disables all controllers that this process has enabled and no group of tailback needs, for the
/// end of the program.
pub fn take_back_all() {
    take_back_where(|_| true);
}

fn take_back_where(is_meant: impl Fn(&PassedOn) -> bool) {
    let mut all = passed_on();
    let ends = |one: &PassedOn| is_meant(one) && groups_of_tailback(&one.group).is_empty();
    let (ending, others): (Vec<PassedOn>, Vec<PassedOn>) =
        std::mem::take(&mut *all).into_iter().partition(ends);
    *all = others;
    ending.into_iter().for_each(PassedOn::end);
}

/// [`take_back_all`] for one group: other tests run in this process.
#[cfg(test)]
pub(super) fn take_back_in(group: &Path) {
    take_back_where(|one| one.group == group);
}

/// Disables a controller that a dead run has enabled for the children of `group`.
pub(crate) fn withdraw(
    roots: &Roots,
    controller: GroupController,
    group: &Path,
    before: &[String],
) -> Undone {
    match HeldGroup::open_v2(roots, controller, group) {
        Ok(held) => match withdraw_in(controller, &held.path(), before) {
            // The error names the group by its own path.
            Undone::Failed(_, why) => Undone::Failed(group.join(CONTROL), why),
            undone => undone,
        },
        Err(NoGroup::Gone) => Undone::Before,
        Err(NoGroup::Foreign(why)) => Undone::Refused(why),
    }
}

fn withdraw_in(controller: GroupController, group: &Path, before: &[String]) -> Undone {
    let is_on = |text: &str| text.split_whitespace().any(|name| name == controller.name());
    let control = group.join(CONTROL);
    match text_of(&control) {
        Err(error) => Undone::Failed(control, error.to_string()),
        Ok(text) if text.as_deref().is_none_or(|text| !is_on(text)) => Undone::Before,
        Ok(_) if !groups_of_tailback(group).is_empty() => Undone::Later,
        Ok(_) => switch_off(controller, group, before),
    }
}

/// Disables a controller, unless that could take a setting from a child: a child that cannot be
/// looked at may have one.
fn switch_off(controller: GroupController, group: &Path, before: &[String]) -> Undone {
    let control = group.join(CONTROL);
    let children = match children(group) {
        Ok(children) => children,
        Err(error) => return Undone::Failed(control, format!("the groups below: {error}")),
    };
    if let Some(new) = children.iter().map(|child| shown(child)).find(|new| !before.contains(new)) {
        return Undone::Left(format!("the group {new} was made later and may need the controller"));
    }
    for child in &children {
        let name = shown(child);
        match own_setting(controller, &group.join(child)) {
            Ok(None) => {}
            Ok(Some(file)) => {
                return Undone::Left(format!("the group {name} has its own {file}"));
            }
            Err(error) => return Undone::Failed(control, format!("the group {name}: {error}")),
        }
    }
    match write_existing(&control, &format!("-{}", controller.name())) {
        Ok(()) => Undone::Now,
        Err(error) if Errno::from_io_error(&error) == Some(Errno::BUSY) => {
            Undone::Left("a group below enables the controller, too".to_owned())
        }
        Err(error) => Undone::Failed(control, error.to_string()),
    }
}

/// The first setting of a group that would be lost.
fn own_setting(controller: GroupController, group: &Path) -> io::Result<Option<&'static str>> {
    for &(file, default) in settings(controller) {
        let text = text_of(&group.join(file))?.unwrap_or_default();
        let is_other = text.split_whitespace().next().is_some_and(|value| value != default);
        if is_other && text.trim() != default {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// The text of a file of a group; None if the kernel has no such file, or the group is gone.
fn text_of(file: &Path) -> io::Result<Option<String>> {
    match os::file::read_start(file, roots::FILE_LIMIT) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) => match Errno::from_io_error(&error) {
            // The kernel answers NODEV for an open file of a group that was removed.
            Some(Errno::NOENT | Errno::NODEV) => Ok(None),
            _ => Err(error),
        },
    }
}

/// The children of a group, without those that tailback made.
fn children(group: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(group)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours = name.to_str().and_then(Owner::parse).is_some();
        if !is_ours && entry.file_type()?.is_dir() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The name of a group in the journal. The kernel allows names that are no text.
fn shown(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use testing::Tree;

    fn withdrawn(files: &[(&str, &str)], before: &[&str]) -> (bool, String) {
        let dir = Tree::new(files);
        let before: Vec<String> = before.iter().map(|name| (*name).to_owned()).collect();
        let undone = withdraw_in(GroupController::Cpu, dir.root(), &before);
        (matches!(undone, Undone::Now), fs::read_to_string(dir.path(CONTROL)).unwrap())
    }

    const ON: (&str, &str) = (CONTROL, "cpu memory\n");

    #[test]
    fn a_controller_that_nobody_uses_is_taken_back() {
        assert_eq!(withdrawn(&[ON], &[]), (true, "-cpu".to_owned()));
        let plain = [
            ON,
            ("a/cpu.max", "max 100000\n"),
            ("a/cpu.max.burst", "0\n"),
            ("a/cpu.weight", "100\n"),
            ("a/cpu.uclamp.min", "0.00\n"),
            ("a/cpu.uclamp.max", "max\n"),
        ];
        assert_eq!(withdrawn(&plain, &["a"]), (true, "-cpu".to_owned()));
    }

    #[test]
    fn a_group_whose_name_is_no_text_keeps_its_quota() {
        let dir = Tree::new(&[ON]);
        let child = dir.root().join(OsStr::from_bytes(b"a\xff"));
        fs::create_dir(&child).unwrap();
        fs::write(child.join("cpu.max"), "50000 100000\n").unwrap();
        let undone = |before: &[String]| withdraw_in(GroupController::Cpu, dir.root(), before);
        let quota = undone(&["a\u{fffd}".to_owned()]);
        assert!(matches!(quota, Undone::Left(why) if why.contains("cpu.max")));
        assert!(matches!(undone(&[]), Undone::Left(why) if why.contains("made later")));
        assert_eq!(fs::read_to_string(dir.path(CONTROL)).unwrap(), ON.1);
    }

    #[test]
    fn a_group_that_cannot_be_looked_at_keeps_the_controller_for_later() {
        // A folder has the name of the file, so that root cannot read it either.
        let hidden = Tree::new(&[("cgroup.subtree_control/x", "")]);
        assert!(matches!(
            withdraw_in(GroupController::Cpu, hidden.root(), &[]),
            Undone::Failed(..)
        ));
        let dir = Tree::new(&[("a/cpu.max/x", ""), ON]);
        let undone = withdraw_in(GroupController::Cpu, dir.root(), &["a".to_owned()]);
        assert!(matches!(undone, Undone::Failed(_, why) if why.starts_with("the group a: ")));
        assert_eq!(fs::read_to_string(dir.path(CONTROL)).unwrap(), ON.1);
    }

    #[test]
    fn the_quota_of_another_group_is_never_taken() {
        let kept = (false, ON.1.to_owned());
        let quota = [ON, ("a/cpu.max", "50000 100000\n")];
        assert_eq!(withdrawn(&quota, &["a"]), kept);
        assert_eq!(withdrawn(&[ON, ("a/cpu.weight", "200\n")], &["a"]), kept);
        assert_eq!(withdrawn(&[ON, ("a/cpu.max.burst", "5000\n")], &["a"]), kept);
        assert_eq!(withdrawn(&[ON, ("a/cpu.uclamp.min", "20.00\n")], &["a"]), kept);
        // A child that was made since then may be about to get a setting.
        assert_eq!(withdrawn(&[ON, ("a/cpu.max", "max 100000\n")], &[]), kept);
    }

    #[test]
    fn a_group_of_another_run_keeps_it_for_later() {
        let dir = Tree::new(&[ON, ("tailback-1-2-3/cpu.max", "max 100000\n")]);
        assert!(matches!(withdraw_in(GroupController::Cpu, dir.root(), &[]), Undone::Later));
    }

    #[test]
    fn each_controller_is_taken_back_alone() {
        let dir = Tree::new(&[ON, ("a/cpu.max", "50000 100000\n"), ("a/memory.high", "max\n")]);
        let before = ["a".to_owned()];
        assert!(matches!(withdraw_in(GroupController::Cpu, dir.root(), &before), Undone::Left(_)));
        assert!(matches!(withdraw_in(GroupController::Memory, dir.root(), &before), Undone::Now));
        assert_eq!(fs::read_to_string(dir.path(CONTROL)).unwrap(), "-memory");
        let limited = Tree::new(&[ON, ("a/memory.high", "4096\n")]);
        assert!(matches!(
            withdraw_in(GroupController::Memory, limited.root(), &before),
            Undone::Left(_)
        ));
    }

    #[test]
    fn a_limit_or_a_weight_for_a_disk_is_a_setting() {
        let undone = |file: &str, text: &str| {
            let dir = Tree::new(&[(CONTROL, "io memory\n"), (file, text)]);
            withdraw_in(GroupController::Io, dir.root(), &["a".to_owned()])
        };
        for (file, text) in
            [("a/io.max", ""), ("a/io.weight", "default 100\n"), ("a/io.prio.class", "no-change\n")]
        {
            assert!(matches!(undone(file, text), Undone::Now), "{file}");
        }
        for (file, text) in [
            ("a/io.max", "7:0 rbps=max wbps=1048576 riops=max wiops=max\n"),
            ("a/io.weight", "default 200\n"),
            ("a/io.weight", "default 100\n8:0 50\n"),
        ] {
            let kept = matches!(undone(file, text), Undone::Left(why) if why.contains(&file[2..]));
            assert!(kept, "{text}");
        }
    }

    #[test]
    fn one_that_is_off_already_is_left() {
        assert!(!withdrawn(&[(CONTROL, "memory\n")], &[]).0);
    }
}
