//! The view of a process in a container: its own group is the root of every hierarchy.

use crate::cgroup_tree::GroupTree;
use crate::hierarchy::Interface;
use crate::roots::Roots;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Puts this process, which must have one thread, into new cgroup and mount namespaces. As in a
/// container, its current groups become the roots of the hierarchies that it sees. The machine's
/// own mounts do not change.
///
/// # Errors
/// If the kernel refuses, as it does without root.
pub fn enter_namespace(roots: &Roots) -> io::Result<()> {
    let hierarchies = GroupTree::read(roots).hierarchies();
    let flags = UnshareFlags::NEWCGROUP | UnshareFlags::NEWNS;
    // SAFETY: neither flag shares or closes descriptors; the caller has one thread.
    unsafe { unshare_unsafe(flags) }?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change(c"/", private)?;
    for (interface, controllers, point) in &hierarchies {
        let mounted = mount_anew(*interface, controllers, point);
        let is_ours = *interface == Interface::V2 || controllers.split(',').any(|c| c == "cpu");
        match mounted {
            // Another file system is mounted there, and nobody reads a quota from it.
            Err(_) if !is_ours => {}
            mounted => mounted?,
        }
    }
    Ok(())
}

/// Mounts a hierarchy over its old mount, which shows groups above the namespace.
fn mount_anew(interface: Interface, controllers: &str, point: &Path) -> io::Result<()> {
    let place = CString::new(point.as_os_str().as_bytes())?;
    unmount(place.as_c_str(), UnmountFlags::DETACH)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let options = CString::new(controllers)?;
    match interface {
        Interface::V1 => mount(c"cgroup", place.as_c_str(), c"cgroup", flags, options.as_c_str())?,
        Interface::V2 => mount(c"cgroup2", place.as_c_str(), c"cgroup2", flags, None)?,
    }
    Ok(())
}
