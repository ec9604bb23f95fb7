//! Starts QEMU, with sockets for its ports.

use super::control::Control;
use super::share::share;
use super::{Guest, Received, Setup};
use crate::accel::Accel;
use crate::console::Console;
use crate::deadline::RunClock;
use crate::error::GuestError;
use crate::frame::Decoder;
use crate::kernel::{Kernel, image};
use crate::qemu::{QemuArgs, Root};
use debian::sha256_of;
use os::user::User;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// The tag of the shared root file system.
pub const ROOT_TAG: &str = "tailback-root";

/// The user that QEMU runs as if the caller is root. A guest kernel that has taken over QEMU then
/// has no privileges.
const NOBODY: u32 = 65_534;

impl Guest {
    /// Starts a guest.
    ///
    /// # Errors
    /// If QEMU cannot be started.
    pub fn start(setup: &Setup<'_>, accel: Accel) -> Result<Self, GuestError> {
        start(setup, accel)
    }
}

fn start(setup: &Setup<'_>, accel: Accel) -> Result<Guest, GuestError> {
    let system = |what| move |source| GuestError::System { what, source };
    let initramfs = in_memory(setup.initramfs).map_err(system("the initramfs"))?;
    let image = in_memory(&image_of(setup.kernel)?).map_err(system("the kernel's image"))?;
    let pair = || UnixStream::pair().map_err(system("a socket pair"));
    let (console_port, console_end) = pair()?;
    let (data_port, data_end) = pair()?;
    let (control_port, control_end) = pair()?;
    let shared = setup.root.as_deref().map(share).transpose()?;
    let (sharer, root_end) = shared.unzip();
    let args = QemuArgs {
        arch: setup.qemu.arch,
        accel,
        clock: setup.clock,
        cpus: setup.cpus,
        memory: setup.memory,
        kernel_fd: image.as_raw_fd(),
        initramfs_fd: initramfs.as_raw_fd(),
        console_fd: console_end.as_raw_fd(),
        data_fd: data_end.as_raw_fd(),
        control_fd: control_end.as_raw_fd(),
        root: root_end.as_ref().map(|end| Root { tag: ROOT_TAG, fd: end.as_raw_fd() }),
    };
    let mut tool = setup.qemu.tool(&args);
    // QEMU's own messages appear between the kernel's lines.
    let complaints = console_end.try_clone().map_err(system("a socket"))?;
    tool.stdout(Stdio::null()).stderr(Stdio::from(OwnedFd::from(complaints)));
    let sockets = [Some(console_end), Some(data_end), Some(control_end), root_end];
    let files = [image, initramfs].into_iter().map(OwnedFd::from);
    tool.keep_open(files.chain(sockets.into_iter().flatten().map(OwnedFd::from)).collect());
    if let Some(user) = user(accel, Path::new("/dev/kvm")) {
        tool.become_user(user);
    }
    let running = tool.spawn()?;
    for port in [&console_port, &data_port] {
        port.set_nonblocking(true).map_err(system("a socket"))?;
    }
    Ok(Guest {
        running,
        console_port,
        data_port,
        control: Control::new(control_port),
        console: Console::default(),
        decoder: Decoder::default(),
        clock: RunClock::start(),
        limits: setup.limits,
        received: Received::default(),
        panicked: None,
        asked: false,
        overtime: None,
        events: VecDeque::new(),
        started: Instant::now(),
        boot: None,
        _root: sharer,
    })
}

/// The user and group that QEMU runs as. None if it has to run as the caller: the caller is not
/// root, or only root may open the KVM device.
fn user(accel: Accel, device: &Path) -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    if accel == Accel::Tcg {
        return User::new(NOBODY, NOBODY);
    }
    let device = device.metadata().ok()?;
    let (mode, group) = (device.mode(), device.gid());
    match group {
        _ if mode & 0o006 == 0o006 => User::new(NOBODY, NOBODY),
        group if mode & 0o060 == 0o060 => User::new(NOBODY, group),
        _ => None,
    }
}

/// The unpacked image of a kernel, which must be unchanged since it was found.
fn image_of(kernel: &Kernel) -> Result<Vec<u8>, GuestError> {
    let path = &kernel.image;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(image::MOST).read_to_end(&mut bytes));
    read.map_err(|source| GuestError::File { path: path.clone(), source })?;
    let not = |why: String| GuestError::NotKernel { path: path.clone(), why };
    match sha256_of(&bytes) == kernel.sha256 {
        true => image::unpacked(bytes).map_err(not),
        false => Err(not("it has changed since it was checked".to_owned())),
    }
}

/// A file without a name, which disappears with the last process that has it open.
fn in_memory(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = os::memory_file::create("tailback-initramfs")?;
    file.write_all(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_qemu_boots_is_made_as_every_file_in_memory() {
        let mode = |file: &File| file.metadata().unwrap().mode();
        let file = in_memory(b"bytes").unwrap();
        // A kernel with vm.memfd_noexec = 2 refuses files that somebody could execute.
        assert_eq!(mode(&file), mode(&os::memory_file::create("other").unwrap()));
        assert_eq!(file.metadata().unwrap().len(), 5);
    }

    #[test]
    fn qemu_is_nobody_where_kvm_lets_it() {
        if !rustix::process::geteuid().is_root() {
            return testing::skipped("only root has something to drop");
        }
        let device = tempfile::NamedTempFile::new().unwrap();
        let of = |mode: u32, group: u32| {
            std::fs::set_permissions(device.path(), PermissionsExt::from_mode(mode)).unwrap();
            std::os::unix::fs::chown(device.path(), None, Some(group)).unwrap();
            user(Accel::Kvm, device.path()).map(|user| (user.uid(), user.gid()))
        };
        assert_eq!(of(0o666, 0), Some((NOBODY, NOBODY)));
        assert_eq!(of(0o660, 106), Some((NOBODY, 106)));
        assert_eq!([of(0o660, 0), of(0o600, 106)], [None, None]);
        assert_eq!(user(Accel::Tcg, device.path()), User::new(NOBODY, NOBODY));
    }
}
