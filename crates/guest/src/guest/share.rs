//! Shares a folder of the host with a guest, so that no guest kernel can change it.

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

/// Paths of the program that shares a folder, in Debian.
const SHARERS: &[&str] = &["/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"];

/// Path of the folder in the mount namespace of the program. It exists on every machine, and the
/// program does not need its content. Options are split at commas; this path has none.
const VIEW: &CStr = c"/tmp";

/// Starts the program that shares a folder. Returns it and the socket for QEMU.
///
/// Whatever a guest's kernel requests, the host's kernel enforces the limits. The program sees
/// the folder through a separate mount, which is read-only, has no devices and ignores
/// set-user-ID bits. File systems that are mounted below the folder are not visible.
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

/// Rejects a folder that cannot be shared.
fn check(folder: &Path) -> Result<(), GuestError> {
    let shown = folder.display();
    if folder.as_os_str().as_bytes().contains(&b',') {
        return Err(GuestError::Size(format!(
            "--root {shown}: a comma would end the folder's name; rename the folder"
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

/// Gives the program a separate mount namespace in which [`VIEW`] is the folder.
fn see_only(tool: &mut Tool, folder: &Path) -> Result<(), GuestError> {
    let failed = |source| GuestError::File { path: folder.to_owned(), source };
    let folder = folder.canonicalize().map_err(failed)?;
    let folder =
        CString::new(folder.as_os_str().as_bytes()).map_err(|error| failed(error.into()))?;
    let prepare = move || {
        // SAFETY: a child that has not yet started its program has one thread, and no descriptor
        // is shared or closed.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change(c"/", private)?;
        // Not recursive: the file systems mounted below were not asked for.
        mount_bind(folder.as_c_str(), VIEW)?;
        let flags =
            MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount_remount(VIEW, MountFlags::BIND | flags, c"")?;
        Ok(())
    };
    // SAFETY: between fork and exec it makes only system calls and allocates nothing: all words
    // are already C strings.
    unsafe { tool.command().pre_exec(prepare) };
    Ok(())
}

/// A listening socket, and the one connection that waits for it. The name of the socket is
/// already removed, so no other process can connect.
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
