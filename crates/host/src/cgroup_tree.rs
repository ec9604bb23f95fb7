//! Where the control groups of this process are: its own group and the ancestors, for v1 and v2.

use crate::hierarchy::{Hierarchy, Interface, depth_outside};
use crate::roots::{self, Roots};
use procfs_core::process::MountInfo;
use procfs_core::{FromBufRead, ProcessCGroup, ProcessCGroups};
use std::path::{Path, PathBuf};

/// A mount of a hierarchy, or of a part of one.
#[derive(Debug, Clone)]
struct Mount {
    interface: Interface,
    /// Its options; for v1 these name the controllers.
    options: Vec<String>,
    /// The group at the root of the mount.
    root: PathBuf,
    /// Where it is mounted.
    point: PathBuf,
}

/// The mounted hierarchies, and the groups of this process in them.
#[derive(Debug, Clone)]
pub(crate) struct GroupTree {
    mounts: Vec<Mount>,
    own: Vec<ProcessCGroup>,
}

/// The groups whose limits apply to this process, its own first, up to the highest visible one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// How their files are named.
    pub(crate) interface: Interface,
    /// Their directories.
    pub(crate) groups: Vec<PathBuf>,
}

impl GroupTree {
    /// Reads the mount table and the groups of this process; lines that cannot be parsed are
    /// skipped.
    pub(crate) fn read(roots: &Roots) -> Self {
        let mounts = roots.mounts();
        let own = roots::read_text(&roots.proc.join("self/cgroup"));
        GroupTree {
            mounts: mounts.lines().filter_map(Mount::from_line).collect(),
            own: own.unwrap_or_default().lines().filter_map(own_group).collect(),
        }
    }

    /// `v1`, `v2` or `hybrid`, by what is mounted, otherwise by what the kernel lists; None if
    /// neither shows a version.
    pub(crate) fn version(&self) -> Option<&'static str> {
        let mounted = |interface| self.mounts.iter().any(|mount| mount.interface == interface);
        match (mounted(Interface::V1), mounted(Interface::V2)) {
            (true, true) => Some("hybrid"),
            (true, false) => Some("v1"),
            (false, true) => Some("v2"),
            (false, false) if self.own.iter().any(|group| group.hierarchy != 0) => Some("v1"),
            (false, false) => self.own.first().map(|_| "v2"),
        }
    }

    /// The group of this process under a controller, with the kernel's name for it.
    pub(crate) fn own_path(&self, controller: &str) -> Option<&str> {
        self.own_group(controller).map(|(_, group)| group.pathname.as_str())
    }

    /// The groups whose limits apply to this process under a controller; None if none is visible.
    pub(crate) fn lineage(&self, roots: &Roots, controller: &str) -> Option<Lineage> {
        let (interface, group) = self.own_group(controller)?;
        let own = Path::new(&group.pathname);
        let mut mounts: Vec<&Mount> =
            self.mounts.iter().filter(|mount| mount.serves(interface, controller)).collect();
        // The mount that shows the most ancestors comes first.
        mounts.sort_by_key(|mount| mount.depth());
        mounts.iter().find_map(|mount| {
            let groups = visible_groups(&roots.resolve(&mount.point), &mount.place_of(own)?);
            groups.map(|groups| Lineage { interface, groups })
        })
    }

    /// The hierarchy of a controller, from the mount in this tree that shows most of it.
    pub(crate) fn hierarchy(&self, roots: &Roots, controller: &str) -> Option<Hierarchy> {
        let (interface, own) = self.own_group(controller)?;
        let serving = self.mounts.iter().filter(|mount| mount.serves(interface, controller));
        let widest = serving.min_by_key(|mount| mount.depth())?;
        let (point, mounted) = (roots.resolve(&widest.point), widest.root.clone());
        Some(Hierarchy::new(interface, point, mounted, Path::new(&own.pathname)))
    }

    /// Every mount of a hierarchy that can have the controller, with its interface.
    pub(crate) fn mounts(&self, roots: &Roots, controller: &str) -> Vec<(Interface, PathBuf)> {
        let serving = self.mounts.iter().filter(|mount| mount.serves(mount.interface, controller));
        serving.map(|mount| (mount.interface, roots.resolve(&mount.point))).collect()
    }

    /// Every mounted hierarchy with controllers: its interface, the names of its controllers (v1
    /// only), and its mount point.
    pub(crate) fn hierarchies(&self) -> Vec<(Interface, String, PathBuf)> {
        let of_group = |group: &ProcessCGroup| {
            let named = group.controllers.iter().any(|name| name.starts_with("name="));
            let interface = match (group.hierarchy, group.controllers.first()) {
                (0, _) => Interface::V2,
                (_, Some(_)) if !named => Interface::V1,
                _ => return None,
            };
            let first = group.controllers.first().map_or("", String::as_str);
            let mount = self.mounts.iter().find(|mount| mount.serves(interface, first))?;
            Some((interface, group.controllers.join(","), mount.point.clone()))
        };
        self.own.iter().filter_map(of_group).collect()
    }

    /// A controller belongs to v1 if v1 lists it, otherwise to the unified hierarchy.
    fn own_group(&self, controller: &str) -> Option<(Interface, &ProcessCGroup)> {
        let listed = |group: &&ProcessCGroup| group.controllers.iter().any(|c| c == controller);
        let unified = |group: &&ProcessCGroup| group.hierarchy == 0 && group.controllers.is_empty();
        let v1 = self.own.iter().find(listed).map(|group| (Interface::V1, group));
        v1.or_else(|| self.own.iter().find(unified).map(|group| (Interface::V2, group)))
    }
}

impl Mount {
    fn from_line(line: &str) -> Option<Self> {
        // Parsing builds maps of all options, so lines of other file systems are skipped early.
        if !line.contains(" - cgroup") {
            return None;
        }
        let mount = MountInfo::from_line(line).ok()?;
        let interface = match mount.fs_type.as_str() {
            "cgroup" => Interface::V1,
            "cgroup2" => Interface::V2,
            _ => return None,
        };
        Some(Mount {
            interface,
            options: mount.super_options.into_keys().collect(),
            root: PathBuf::from(unescape(&mount.root)),
            point: PathBuf::from(unescape(&mount.mount_point.to_string_lossy())),
        })
    }

    fn serves(&self, interface: Interface, controller: &str) -> bool {
        self.interface == interface
            && (interface == Interface::V2 || self.options.iter().any(|name| name == controller))
    }

    /// How far the mounted group is below the top of this process's cgroup namespace. Negative if
    /// it is above the top; the maximum if it is beside the top.
    fn depth(&self) -> isize {
        let (outside, all) = (depth_outside(&self.root), self.root.components().count());
        match outside {
            0 => all.cast_signed(),
            above if all == above + 1 => -above.cast_signed(),
            _ => isize::MAX,
        }
    }

    /// The path of a group below the mount point; None if the mount does not show it.
    ///
    /// Both paths start at the root of this process's cgroup namespace. They leave it with `..`
    /// if necessary.
    fn place_of(&self, own: &Path) -> Option<PathBuf> {
        if let Ok(rest) = own.strip_prefix(&self.root) {
            return (depth_outside(rest) == 0).then(|| rest.to_owned());
        }
        // The mount shows an ancestor of the namespace. The names in between are not known, but
        // the limits of the ancestor apply nevertheless.
        let outside = depth_outside(&self.root);
        let climbs_only = self.root.components().count() == outside + 1;
        (climbs_only && depth_outside(own) < outside).then(PathBuf::new)
    }
}

/// The group at `place` below a mount point, and its ancestors up to the mount point.
///
/// A group that does not exist any more, or that the mount does not show, is left out: its
/// ancestors still count.
fn visible_groups(point: &Path, place: &Path) -> Option<Vec<PathBuf>> {
    let groups: Vec<PathBuf> =
        place.ancestors().map(|ancestor| point.join(ancestor)).filter(|dir| dir.is_dir()).collect();
    (!groups.is_empty()).then_some(groups)
}

/// A line of `/proc/self/cgroup`.
fn own_group(line: &str) -> Option<ProcessCGroup> {
    let groups = ProcessCGroups::from_buf_read(line.as_bytes()).ok()?;
    groups.into_iter().next().filter(|group| group.pathname.starts_with('/'))
}

/// Undoes the kernel's escapes in a mount table: blanks and backslashes as octal numbers.
pub(crate) fn unescape(field: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    let mut plain = String::new();
    let mut rest = field;
    while let Some(start) = rest.find('\\') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let found = escapes.iter().find_map(|(code, c)| Some((rest.strip_prefix(code)?, *c)));
        let (after, c) = found.unwrap_or((&rest[1..], "\\"));
        plain.push_str(c);
        rest = after;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mount(root: &str) -> Mount {
        Mount {
            interface: Interface::V2,
            options: Vec::new(),
            root: root.into(),
            point: "/sys/fs/cgroup".into(),
        }
    }

    #[test]
    fn a_group_is_found_below_what_is_mounted() {
        let place = |root: &str, own: &str| mount(root).place_of(Path::new(own));
        assert_eq!(place("/", "/a/b"), Some("a/b".into()));
        assert_eq!(place("/docker/x", "/docker/x"), Some("".into()));
        assert_eq!(place("/docker/x", "/docker/x/y"), Some("y".into()));
        assert_eq!(place("/docker/x", "/docker/xy"), None);
        assert_eq!(place("/docker/x", "/"), None);
    }

    #[test]
    fn a_group_outside_the_namespace_is_never_guessed() {
        let place = |root: &str, own: &str| mount(root).place_of(Path::new(own));
        assert_eq!(place("/", "/../other"), None);
        assert_eq!(place("/../..", "/"), Some("".into()));
        assert_eq!(place("/../..", "/in/here"), Some("".into()));
        assert_eq!(place("/../..", "/../../other"), Some("other".into()));
        assert_eq!(place("/../other", "/"), None);
    }

    #[test]
    fn the_mount_that_shows_most_is_that_of_the_highest_group_above() {
        let depth = |root: &str| mount(root).depth();
        let all = ["/../..", "/..", "/", "/a", "/a/b", "/../x"].map(depth);
        assert!(all.is_sorted_by(|one, next| one < next), "{all:?}");
        assert_eq!(depth("/../../y/z"), depth("/../x"));
    }

    #[test]
    fn blanks_in_paths_are_put_back() {
        assert_eq!(unescape("/a\\040b\\134c\\011"), "/a b\\c\t");
        assert_eq!(unescape("\\04\\x\\"), "\\04\\x\\");
    }

    #[test]
    fn other_file_systems_are_no_hierarchy() {
        let line = "9 1 0:1 / /cgroup rw - cgroup3 none rw,cpu";
        assert!(Mount::from_line(line).is_none());
        let line = "9 1 0:1 / /a\\040b rw shared:7 - cgroup none rw,cpu,cpuacct";
        let mount = Mount::from_line(line).unwrap();
        assert_eq!(mount.point, Path::new("/a b"));
        assert!(mount.serves(Interface::V1, "cpuacct") && !mount.serves(Interface::V1, "memory"));
    }

    proptest! {
        #[test]
        fn no_line_makes_the_readers_panic(text in ".*", cut in 0usize..200) {
            let _ = (Mount::from_line(&text), own_group(&text), unescape(&text));
            let _ = Mount::from_line(&format!("1 1 0:1 / {text} - cgroup {text}"));
            let whole = "38 31 0:35 /a /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu";
            let _ = Mount::from_line(&whole[..cut.min(whole.len())]);
        }
    }
}
