//! A hierarchy of control groups as this process sees it, and the names of groups in it.

use crate::roots;
use std::collections::VecDeque;
use std::path::{Component, Path, PathBuf};

/// Most group folders that are searched. On a machine with more, the rest is left out.
const MOST_FOLDERS: usize = 8_192;

/// Most folders of one parent that are searched for the top of a namespace. Without this limit, a
/// user who may make groups could make so many that no other group is searched.
const MOST_BELOW: usize = 512;

/// The same limit where all groups are searched: an engine keeps its containers below one parent.
const MOST_SIBLINGS: usize = 2_048;

/// The interface of a hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interface {
    /// Separate hierarchies, each for one or a few controllers.
    V1,
    /// The unified hierarchy.
    V2,
}

/// A mounted hierarchy, or the part of it that this process may see.
#[derive(Debug, Clone)]
pub(crate) struct Hierarchy {
    /// The interface, which determines the names of the files.
    pub(crate) interface: Interface,
    /// The mount point.
    pub(crate) point: PathBuf,
    /// The group at the mount point, by the name that this program uses: `/` if it is the highest
    /// visible group.
    mounted: PathBuf,
    /// The top of this process's cgroup namespace, if the mount also shows groups above it. The
    /// kernel names groups relative to this top, with `..` for those above.
    top: Option<PathBuf>,
}

impl Hierarchy {
    /// A hierarchy with the group `mounted` at `point`; this process is in the group `own`. Both
    /// are the kernel's names.
    pub(crate) fn new(interface: Interface, point: PathBuf, mounted: PathBuf, own: &Path) -> Self {
        let top = top_of_namespace(&point, &mounted, own);
        let mounted = if top.is_some() { PathBuf::from("/") } else { mounted };
        Hierarchy { interface, point, mounted, top }
    }

    /// The group at the mount point, by the name that this program uses.
    pub(crate) fn mounted(&self) -> &Path {
        &self.mounted
    }

    /// Whether this process is in a namespace, but sees the groups of the whole machine. In v1
    /// only the top group of the machine has `release_agent`; in v2 only the top group has no
    /// `cgroup.type`.
    pub(crate) fn is_of_machine(&self) -> bool {
        let has = |file: &str| self.point.join(file).try_exists();
        self.top.is_some()
            && match self.interface {
                Interface::V1 => matches!(has("release_agent"), Ok(true)),
                Interface::V2 => matches!(has("cgroup.type"), Ok(false)),
            }
    }

    /// The name that this program uses for the group that the kernel calls `name`; None if the
    /// group is above the highest visible one.
    pub(crate) fn name(&self, name: &str) -> Option<String> {
        let Some(top) = &self.top else { return Some(name.to_owned()) };
        let mut path = top.clone();
        for part in Path::new(name).components() {
            match part {
                Component::RootDir => {}
                Component::Normal(part) => path.push(part),
                Component::ParentDir if path.pop() => {}
                _ => return None,
            }
        }
        path.to_str().map(str::to_owned)
    }

    /// The folder of a group; None if the group is not visible.
    pub(crate) fn folder(&self, group: &str) -> Option<PathBuf> {
        below(&self.point, &self.mounted, group)
    }

    /// The groups whose folders satisfy `wanted`, sorted by name. On a machine with very many
    /// groups some are left out.
    pub(crate) fn walk(&self, wanted: &dyn Fn(&Path) -> bool) -> Vec<String> {
        walk(&self.point, &self.mounted, wanted)
    }
}

/// The top of this process's namespace, as a path from the mounted group. The mount is above the
/// namespace by a known number of levels. The top is the folder at this depth below the mount
/// whose group `own` lists this process. None if the mount shows no group above the namespace.
fn top_of_namespace(point: &Path, mounted: &Path, own: &Path) -> Option<PathBuf> {
    let climbs = depth_outside(mounted);
    let only_climbs = mounted.components().count() == climbs + 1;
    let within = own.strip_prefix("/").ok().filter(|within| depth_outside(within) == 0)?;
    if climbs == 0 || !only_climbs {
        return None;
    }
    let pid = std::process::id().to_string();
    let is_top = |folder: &Path| {
        let listed = roots::read_text(&folder.join(within).join("cgroup.procs"));
        listed.is_ok_and(|listed| listed.lines().any(|line| line.trim() == pid))
    };
    let mut waiting = VecDeque::from([PathBuf::from("/")]);
    for _ in 0..MOST_FOLDERS {
        let group = waiting.pop_front()?;
        let folder = below(point, Path::new("/"), group.to_str()?)?;
        if group.components().count() == climbs + 1 {
            if is_top(&folder) {
                return Some(group);
            }
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let room = MOST_FOLDERS.saturating_sub(waiting.len()).min(MOST_BELOW);
        waiting.extend(folders.take(room).map(|entry| group.join(entry.file_name())));
    }
    None
}

/// How many `..` a path has.
pub(crate) fn depth_outside(path: &Path) -> usize {
    path.components().filter(|component| *component == Component::ParentDir).count()
}

/// The groups below a mount of `mounted` at `point` whose folders satisfy `wanted`. Groups near the
/// top are searched first: a user may make groups only further down.
fn walk(point: &Path, mounted: &Path, wanted: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([(point.to_owned(), mounted.to_owned())]);
    let mut room = MOST_FOLDERS - 1;
    while let Some((folder, group)) = waiting.pop_front() {
        if wanted(&folder) {
            found.extend(group.to_str().map(str::to_owned));
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for entry in folders.take(MOST_SIBLINGS.min(room)) {
            room -= 1;
            waiting.push_back((entry.path(), group.join(entry.file_name())));
        }
    }
    found.sort();
    found
}

/// The folder of a group below a mount of `mounted` at `point`; None if the mount does not show
/// it.
fn below(point: &Path, mounted: &Path, group: &str) -> Option<PathBuf> {
    let rest = Path::new(group).strip_prefix(mounted).ok()?;
    let plain = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    plain.then(|| point.join(rest))
}

/// The group of a controller in the text of `/proc/PID/cgroup`.
pub(crate) fn group_in(text: &str, interface: Interface, controller: &str) -> Option<String> {
    let line = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let wanted = match interface {
            Interface::V1 => controllers.split(',').any(|name| name == controller),
            Interface::V2 => number == "0" && controllers.is_empty(),
        };
        // For a group that was removed while the process is in it, the kernel appends this to the
        // name.
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        (wanted && path.starts_with('/')).then(|| path.to_owned())
    };
    text.lines().find_map(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::Tree;

    /// A process in the group `own` of its namespace; `mounted` is the kernel's name of the
    /// mounted group.
    fn seen(files: &[(&str, &str)], mounted: &str, own: &str) -> (Tree, Hierarchy) {
        let tree = Tree::new(files);
        let point = tree.root().to_owned();
        let of = Hierarchy::new(Interface::V2, point, mounted.into(), Path::new(own));
        (tree, of)
    }

    #[test]
    fn many_groups_of_a_user_hide_no_other_group() {
        let (tree, groups) = seen(&[("system/web/cpu.max", "max 100000\n")], "/", "/");
        let user = tree.root().join("a/user");
        (0..=MOST_FOLDERS)
            .for_each(|at| std::fs::create_dir_all(user.join(at.to_string())).unwrap());
        assert_eq!(groups.walk(&|folder| folder.join("cpu.max").exists()), ["/system/web"]);
    }

    #[test]
    fn a_process_in_a_namespace_names_groups_as_the_machine_does() {
        let own = format!("1\n{}\n", std::process::id());
        let files = [
            ("pods/db/cgroup.procs", "7\n"),
            ("pods/watch/main/cgroup.procs", own.as_str()),
            ("pods/watch/main/sub/cgroup.procs", ""),
            ("other/x/cgroup.procs", ""),
        ];
        let (tree, groups) = seen(&files, "/../../..", "/");
        assert_eq!(groups.name("/").as_deref(), Some("/pods/watch/main"));
        assert_eq!(groups.name("/sub").as_deref(), Some("/pods/watch/main/sub"));
        assert_eq!(groups.name("/../../db").as_deref(), Some("/pods/db"));
        assert_eq!(groups.name("/../../..").as_deref(), Some("/"));
        assert_eq!(groups.name("/../../../.."), None);
        assert_eq!(groups.folder("/pods/db"), Some(tree.root().join("pods/db")));
        assert!(groups.is_of_machine());
        // The mounted group has other groups above it.
        tree.put("cgroup.type", "domain\n");
        assert!(!groups.is_of_machine());
    }

    #[test]
    fn groups_of_v1_are_those_of_the_machine_where_their_top_has_its_file() {
        let own = format!("{}\n", std::process::id());
        let tree = Tree::new(&[("a/cgroup.procs", own.as_str())]);
        let point = tree.root().to_owned();
        let of = Hierarchy::new(Interface::V1, point, "/..".into(), Path::new("/"));
        assert!(of.name("/").as_deref() == Some("/a") && !of.is_of_machine());
        tree.put("release_agent", "");
        assert!(of.is_of_machine());
    }

    #[test]
    fn many_groups_of_one_parent_do_not_hide_the_others() {
        let own = format!("{}\n", std::process::id());
        let tree = Tree::new(&[("pods/own/cgroup.procs", own.as_str())]);
        for number in 0..2 * MOST_BELOW {
            std::fs::create_dir_all(tree.root().join(format!("eve/{number}"))).unwrap();
        }
        let point = tree.root().to_owned();
        let of = Hierarchy::new(Interface::V2, point, "/../..".into(), Path::new("/"));
        assert_eq!(of.name("/").as_deref(), Some("/pods/own"));
    }

    #[test]
    fn a_group_below_the_top_of_its_namespace_is_found_too() {
        let own = format!("{}\n", std::process::id());
        let files = [("a/b/in/here/cgroup.procs", own.as_str()), ("a/c/cgroup.procs", "")];
        let (_tree, groups) = seen(&files, "/../..", "/in/here");
        assert_eq!(groups.name("/../c").as_deref(), Some("/a/c"));
    }

    #[test]
    fn names_stay_as_they_are_where_nothing_above_is_mounted_or_the_top_is_not_found() {
        let files = [("a/cgroup.procs", "1\n")];
        for (mounted, own) in [("/", "/"), ("/pod/x", "/pod/x"), ("/..", "/"), ("/../x", "/")] {
            let (_tree, groups) = seen(&files, mounted, own);
            assert_eq!(groups.name("/../other").as_deref(), Some("/../other"), "{mounted}");
            assert!(!groups.is_of_machine(), "{mounted}");
        }
    }
}
