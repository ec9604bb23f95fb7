//! Showing a folder of the host to a guest so that no kernel can change it.

use crate::error::GuestError;
use host::tool::{Tool, ToolError};
use host::{Roots, Temporary};
use os::child::Child;
use rustix::mount::{MountFlags, MountPropagationFlags, mount_bind, mount_change, mount_remount};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::{CStr, CString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

/// Where Debian has the program that shares a folder.
const SHARERS: &[&str] = &["/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"];

/// Where the program finds the folder, in a mount namespace of its own: a place that is on every
/// machine and that it needs for nothing. Options are split at commas, and this has none.
const VIEW: &CStr = c"/tmp";

/// Starts the program that shares a folder; it, and the end that QEMU talks to.
///
/// Whatever a guest's kernel asks of it, it is the host's kernel that refuses: the program sees the
/// folder by a mount of its own, which is read-only, opens no device and honours no set-user-ID
/// bit, and the file systems that are mounted below the folder are not there.
pub(super) fn share(folder: &Path) -> Result<(Child, UnixStream), GuestError> {
    check(folder)?;
    let program = SHARERS.iter().find(|path| Path::new(path).exists()).unwrap_or(&"virtiofsd");
    let (ours, theirs) = listening_pair()
        .map_err(|source| GuestError::System { what: "a socket for --root", source })?;
    let mut tool = Tool::new(*program, "install it for --root: apt-get install virtiofsd");
    tool.arg(format!("--fd={}", theirs.as_raw_fd()));
    tool.arg("-o").arg(format!("source={}", VIEW.to_string_lossy()));
    tool.arg("-o").arg("cache=always,sandbox=namespace");
    tool.stdout(Stdio::null()).stderr(Stdio::null());
    tool.keep_open(vec![theirs.into()]);
    see_only(&mut tool, folder)?;
    let running = tool.spawn().map_err(|error| match error {
        error @ ToolError::NotStarted { .. } => GuestError::NotShared(error),
        other => other.into(),
    })?;
    Ok((running, ours))
}

/// Refuses a folder that cannot be shown.
fn check(folder: &Path) -> Result<(), GuestError> {
    let shown = folder.display();
    if folder.as_os_str().as_bytes().contains(&b',') {
        return Err(GuestError::Size(format!(
            "--root {shown}: a comma would end the folder's name; give it another"
        )));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(GuestError::Room(format!(
            "--root {shown}: only root can mount it read-only for a guest; run as root, or without \
             --root"
        )));
    }
    Ok(())
}

/// Gives the program a mount namespace of its own in which [`VIEW`] is the folder.
fn see_only(tool: &mut Tool, folder: &Path) -> Result<(), GuestError> {
    let failed = |source| GuestError::File { path: folder.to_owned(), source };
    let folder = folder.canonicalize().map_err(failed)?;
    let folder =
        CString::new(folder.as_os_str().as_bytes()).map_err(|error| failed(error.into()))?;
    let prepare = move || {
        // SAFETY: a child that has not yet started its program has one thread, and no descriptor is
        // shared or closed.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change(c"/", private)?;
        // Not recursive: what is mounted below was not asked for.
        mount_bind(folder.as_c_str(), VIEW)?;
        let flags =
            MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount_remount(VIEW, MountFlags::BIND | flags, c"")?;
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls only, and allocates nothing: all words
    // are C strings already.
    unsafe { tool.command().pre_exec(prepare) };
    Ok(())
}

/// A socket that listens, and the one connection that waits for it. The name by which they met is
/// gone, so no other process can connect.
fn listening_pair() -> std::io::Result<(UnixStream, UnixListener)> {
    let folder = Temporary::folder(&Roots::real(), &std::env::temp_dir(), "tailback-root-")?;
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path)?;
    Ok((UnixStream::connect(&path)?, listener))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_the_folder_adds_no_option() {
        let error = share(Path::new("/srv/x,sandbox=chroot")).unwrap_err();
        assert!(error.to_string().contains("comma"), "{error}");
    }
}
