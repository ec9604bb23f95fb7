//! Which programs are watched.

use host::{CpuGroups, Roots};
use model::live::Scope;

/// What the user named does not exist, or cannot be known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeError(String);

impl std::fmt::Display for ScopeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScopeError {}

/// Checks that the processes and the group are there. Where no groups are mounted, no process is
/// known to be in one.
pub fn check(roots: &Roots, scope: &Scope, groups: Option<&CpuGroups>) -> Result<(), ScopeError> {
    if let Some(pid) = scope.pids.iter().find(|pid| !roots.proc.join(pid.to_string()).exists()) {
        return Err(ScopeError(format!("--pid {pid}: no such process; see ps")));
    }
    match (&scope.cgroup, groups) {
        (Some(group), Some(groups)) if !groups.is_there(group) => Err(ScopeError(format!(
            "--cgroup {group}: no such group below {}; /proc/PID/cgroup shows that of a process",
            groups.point().display()
        ))),
        (Some(group), None) => Err(ScopeError(format!(
            "--cgroup {group}: the cpu controller is not mounted, so the groups of processes are \
             not known; mount cgroup2 (v1: cgroup with -o cpu), or use --comm or --pid instead"
        ))),
        _ => Ok(()),
    }
}

/// What the user named, if that is a group or a program name, and no process.
pub fn named(scope: &Scope) -> Option<Scope> {
    (scope.pids.is_empty() && *scope != Scope::default()).then(|| scope.clone())
}

/// Whether a process is in scope.
pub fn holds(scope: &Scope, pid: u32, name: &str, group: Option<&str>) -> bool {
    let is_below = |above: &String| {
        let own = group.unwrap_or("/");
        let rest = own.strip_prefix(above.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    (scope.pids.is_empty() || scope.pids.contains(&pid))
        && scope.comm.as_ref().is_none_or(|comm| comm == name)
        && scope.cgroup.as_ref().is_none_or(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_refused_where_it_does_not_exist_or_no_groups_are_mounted() {
        let refusal = |tree: &testing::Tree, group: &str| {
            let roots = Roots::at(tree.root());
            let scope = Scope { cgroup: Some(group.to_owned()), ..Scope::default() };
            let checked = check(&roots, &scope, CpuGroups::find(&roots).as_ref());
            checked.err().map(|error| error.to_string())
        };
        let tree = testing::Tree::new(&testing::CGROUP2);
        tree.put("sys/fs/cgroup/a/cgroup.procs", "");
        assert_eq!(refusal(&tree, "/a"), None);
        assert!(refusal(&tree, "/b").unwrap().starts_with("--cgroup /b: no such group below "));
        let bare = testing::Tree::new(&[("proc/stat", "")]);
        let said = refusal(&bare, "/a").unwrap();
        assert!(said.starts_with("--cgroup /a: the cpu controller is not mounted"), "{said}");
        assert_eq!(check(&Roots::at(bare.root()), &Scope::default(), None), Ok(()));
    }

    #[test]
    fn a_scope_holds_what_it_names_and_nothing_else() {
        let all = Scope::default();
        assert!(holds(&all, 1, "x", None));
        let group = Scope { cgroup: Some("/a".into()), ..Scope::default() };
        assert!(holds(&group, 1, "x", Some("/a")) && holds(&group, 1, "x", Some("/a/b")));
        assert!(!holds(&group, 1, "x", Some("/ab")) && !holds(&group, 1, "x", None));
        let root = Scope { cgroup: Some("/".into()), ..Scope::default() };
        assert!(holds(&root, 1, "x", None) && holds(&root, 1, "x", Some("/a")));
        let pid = Scope { pids: vec![7], comm: Some("x".into()), ..Scope::default() };
        assert!(holds(&pid, 7, "x", None) && !holds(&pid, 7, "y", None));
        assert!(!holds(&pid, 8, "x", None));
        assert_eq!([&all, &group, &pid].map(named), [None, Some(group.clone()), None]);
    }
}
