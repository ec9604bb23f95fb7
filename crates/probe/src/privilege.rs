//! Checks whether this process and this kernel can load programs, before anything is tried.

use host::roots::{Roots, read_start};
use model::not_seen::NoPrograms;

const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// Checks the capabilities, the lockdown mode, and that the kernel describes its types (BTF).
///
/// # Errors
/// The first requirement that is missing.
pub fn check(roots: &Roots) -> Result<(), NoPrograms> {
    let effective = capabilities(roots).unwrap_or(u64::MAX);
    let all = |wanted: u64| effective & wanted == wanted;
    if !all(CAP_SYS_ADMIN) && !all(CAP_BPF | CAP_PERFMON) {
        return Err(NoPrograms::Privilege);
    }
    let lockdown = text(roots, "security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return Err(NoPrograms::Lockdown { mode: "confidentiality".to_owned() });
    }
    let btf = roots.sys.join("kernel/btf/vmlinux");
    if !btf.exists() {
        return Err(NoPrograms::NoBtf { file: btf.display().to_string() });
    }
    Ok(())
}

/// The name of the first PID namespace, which the machine starts with; the kernel fixes its inode
/// (`PROC_PID_INIT_INO`).
const FIRST_PIDS: &str = "pid:[4026531836]";

/// Checks that this process sees the same PIDs as the programs in the kernel.
///
/// # Errors
/// If this process is in another PID namespace than the first one.
pub fn same_pids(roots: &Roots) -> Result<(), NoPrograms> {
    match std::fs::read_link(roots.proc.join("self/ns/pid")) {
        Ok(namespace) if namespace.as_os_str() != FIRST_PIDS => Err(NoPrograms::PidNamespace),
        _ => Ok(()),
    }
}

/// The inode of the PID namespace whose PIDs /proc shows; None for the first namespace.
///
/// # Errors
/// If the namespace cannot be determined.
pub fn shown_pids(roots: &Roots) -> Result<Option<u32>, NoPrograms> {
    let status = read_start(&roots.proc.join("self/status"), 1 << 16);
    let status = status.map_err(|_| NoPrograms::PidNamespace)?;
    let status = String::from_utf8_lossy(&status);
    // A kernel without namespaces has no such line.
    let Some(own) = status.lines().find_map(|line| line.strip_prefix("NSpid:")) else {
        return Ok(None);
    };
    // A process has a number in its own namespace and in each namespace above it. /proc lists
    // them, from the namespace of /proc down to that of the process. If there is more than one,
    // /proc belongs to a namespace above; its process 1 is then in the namespace of /proc.
    let whose = if own.split_ascii_whitespace().count() == 1 { "self" } else { "1" };
    let link = std::fs::read_link(roots.proc.join(whose).join("ns/pid"));
    let link = link.map_err(|_| NoPrograms::PidNamespace)?;
    if link.as_os_str() == FIRST_PIDS {
        return Ok(None);
    }
    let inode = link.to_str().and_then(|link| link.strip_prefix("pid:[")?.strip_suffix(']'));
    inode.and_then(|inode| inode.parse().ok()).map(Some).ok_or(NoPrograms::PidNamespace)
}

fn capabilities(roots: &Roots) -> Option<u64> {
    let status = read_start(&roots.proc.join("self/status"), 1 << 16).ok()?;
    let status = String::from_utf8_lossy(&status).into_owned();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn text(roots: &Roots, path: &str) -> Option<String> {
    let bytes = read_start(&roots.sys.join("kernel").join(path), 4096).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(capabilities: &str, lockdown: &str, btf: bool) -> testing::Tree {
        let root = testing::Tree::new(&[("sys/kernel/security/lockdown", lockdown)]);
        root.put("proc/self/status", format!("Name:\tx\nCapEff:\t{capabilities}\n"));
        if btf {
            root.put("sys/kernel/btf/vmlinux", "");
        }
        root
    }

    #[test]
    fn the_namespace_is_that_of_proc() {
        let shown = |status: &str, own: &str, first: &str| {
            let tree = testing::Tree::new(&[("proc/self/status", status)]);
            for (whose, link) in [("self", own), ("1", first)] {
                std::fs::create_dir_all(tree.path(&format!("proc/{whose}/ns"))).unwrap();
                let at = tree.path(&format!("proc/{whose}/ns/pid"));
                if !link.is_empty() {
                    std::os::unix::fs::symlink(link, at).unwrap();
                }
            }
            shown_pids(&Roots::at(tree.root()))
        };
        let (first, other) = (FIRST_PIDS, "pid:[4026532201]");
        assert_eq!(shown("Pid:\t7\nNSpid:\t7\n", first, first), Ok(None));
        assert_eq!(shown("Pid:\t7\nNSpid:\t7\n", other, ""), Ok(Some(4_026_532_201)));
        // In a namespace, with the /proc of the machine or of an outer container.
        assert_eq!(shown("Pid:\t7\nNSpid:\t7\t2\n", "pid:[9]", first), Ok(None));
        assert_eq!(shown("Pid:\t7\nNSpid:\t7\t2\n", "pid:[9]", other), Ok(Some(4_026_532_201)));
        assert_eq!(shown("Pid:\t7\n", "", ""), Ok(None));
        for (own, whose) in [("7\t2", ""), ("7", ""), ("7", "pid:[x]"), ("7", "pid:[-1]")] {
            let refused = shown(&format!("NSpid:\t{own}\n"), whose, "");
            assert_eq!(refused, Err(NoPrograms::PidNamespace), "{own} {whose}");
        }
        let none = testing::Tree::new(&[("proc/7/status", "NSpid:\t7\n")]);
        assert_eq!(shown_pids(&Roots::at(none.root())), Err(NoPrograms::PidNamespace));
    }

    #[test]
    fn each_thing_that_is_missing_is_named() {
        let open = "[none] integrity confidentiality";
        let checked = |capabilities, lockdown, btf| {
            check(&Roots::at(tree(capabilities, lockdown, btf).root()))
        };
        assert_eq!(checked("000001fffeffffff", open, true), Ok(()));
        assert_eq!(checked("000000c000000000", open, true), Ok(()));
        assert_eq!(checked("0000008000000000", open, true), Err(NoPrograms::Privilege));
        assert_eq!(checked("0000000000000000", open, true), Err(NoPrograms::Privilege));
        assert!(matches!(
            checked("000001ffffffffff", "none integrity [confidentiality]", true),
            Err(NoPrograms::Lockdown { .. })
        ));
        assert!(matches!(checked("000001ffffffffff", open, false), Err(NoPrograms::NoBtf { .. })));
    }
}
