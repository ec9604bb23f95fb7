//! Starting QEMU with its ends of our pipes.

use super::control::Control;
use super::{Guest, Heard, Setup};
use crate::accel::Accel;
use crate::console::Console;
use crate::deadline::RunClock;
use crate::error::GuestError;
use crate::frame::Decoder;
use crate::qemu::{Root, Words};
use crate::tool::{Running, Tool};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// The tag of the shared root file system.
pub const ROOT_TAG: &str = "tailback-root";

/// Where Debian has the program that shares a folder.
const SHARERS: &[&str] = &["/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"];

pub(super) fn begin(setup: &Setup<'_>, accel: Accel) -> Result<Guest, GuestError> {
    let system = |what| move |source| GuestError::System { what, source };
    let initramfs = in_memory(setup.initramfs).map_err(system("the initramfs"))?;
    let pair = || UnixStream::pair().map_err(system("a socket pair"));
    let (console_port, console_end) = pair()?;
    let (data_port, data_end) = pair()?;
    let (control_port, control_end) = pair()?;
    let shared = setup.root.as_deref().map(share).transpose()?;
    let (sharer, root_end) = shared.unzip();
    let words = Words {
        accel,
        clock: setup.clock,
        cpus: setup.cpus,
        memory: setup.memory,
        kernel: &setup.kernel.image,
        initramfs_fd: initramfs.as_raw_fd(),
        console_fd: console_end.as_raw_fd(),
        data_fd: data_end.as_raw_fd(),
        control_fd: control_end.as_raw_fd(),
        root: root_end.as_ref().map(|end| Root { tag: ROOT_TAG, fd: end.as_raw_fd() }),
    };
    let mut tool = setup.qemu.tool(&words);
    // What QEMU itself has to complain of stands between the words of the kernel.
    let complaints = console_end.try_clone().map_err(system("a socket"))?;
    tool.stdout(Stdio::null()).stderr(Stdio::from(OwnedFd::from(complaints)));
    let mut ends = vec![words.initramfs_fd, words.console_fd, words.data_fd, words.control_fd];
    ends.extend(words.root.map(|root| root.fd));
    inherit(&mut tool, ends);
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
        heard: Heard::default(),
        panicked: None,
        asked: false,
        overtime: None,
        events: VecDeque::new(),
        begun: Instant::now(),
        boot: None,
        _root: sharer,
    })
}

/// A file without a name, gone with the last process that has it open.
fn in_memory(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(memfd_create("tailback-initramfs", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

/// Keeps these descriptors open in the program that is about to be started, and only there.
fn inherit(tool: &mut Tool, descriptors: Vec<i32>) {
    let keep = move || {
        for &fd in &descriptors {
            // SAFETY: the caller holds them open until the program has been started.
            fcntl_setfd(unsafe { BorrowedFd::borrow_raw(fd) }, FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls only, and allocates nothing.
    unsafe { tool.command().pre_exec(keep) };
}

/// A socket that listens, and the one connection that waits for it. The name by which they met is
/// gone, so nobody else can connect.
fn listening_pair() -> std::io::Result<(UnixStream, UnixListener)> {
    let folder = std::env::temp_dir().join(format!("tailback-root-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let path = folder.join("socket");
    let met =
        UnixListener::bind(&path).and_then(|listener| Ok((UnixStream::connect(&path)?, listener)));
    let _ = std::fs::remove_file(&path);
    let _ = std::fs::remove_dir(&folder);
    met
}

/// Starts the program that shares a folder; it, and the end that QEMU talks to.
fn share(folder: &Path) -> Result<(Running, UnixStream), GuestError> {
    let program = SHARERS.iter().find(|path| Path::new(path).exists()).unwrap_or(&"virtiofsd");
    let (ours, theirs) = listening_pair()
        .map_err(|source| GuestError::System { what: "a socket for --root", source })?;
    let mut tool = Tool::new(*program, "install it for --root: apt-get install virtiofsd");
    tool.arg(format!("--fd={}", theirs.as_raw_fd()));
    let mut source = std::ffi::OsString::from("source=");
    source.push(folder);
    tool.arg("-o").arg(source).arg("-o").arg("cache=always,sandbox=chroot");
    tool.stdout(Stdio::null()).stderr(Stdio::null());
    inherit(&mut tool, vec![theirs.as_raw_fd()]);
    Ok((tool.spawn()?, ours))
}
