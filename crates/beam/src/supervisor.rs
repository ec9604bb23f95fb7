//! The process between the tool and a node, which makes sure that nothing is left running.
//!
//! Port programs have their own sessions and survive the VM if they do not read their input:
//! after a SIGKILL of the VM, a `sleep` continued. So the first child does not become the VM. It
//! stays as a subreaper, which adopts all orphans of the VM, and starts the VM. When the VM or
//! the tool has ended, it kills what is left and ends in the same way as the VM.
//!
//! It runs between fork and exec of a program with threads, so nothing here may allocate, lock or
//! panic: it may only use system calls and memory on the stack.

use os::death::die_with;
use os::stat::Stat;
use os::user::User;
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    set_child_subreaper, wait,
};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How long orphans of an ended VM may take to end by themselves.
const GRACE: Duration = Duration::from_millis(300);

/// How long to continue killing; processes that the kernel still holds are left to init.
const LIMIT: Duration = Duration::from_secs(4);

/// The supervisor of the calling process; it is the parent of that process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Supervisor(u32);

impl Supervisor {
    /// Makes the calling process run as this user, or keeps the caller's user. The supervisor
    /// keeps the caller's user, since it must be able to end the processes.
    ///
    /// # Errors
    /// If the kernel refuses, or the supervisor has died.
    pub fn hand_over(self, user: Option<User>) -> io::Result<()> {
        let Some(user) = user else { return Ok(()) };
        user.become_it()?;
        // The kernel drops the parent-death signal when the user changes.
        die_with(self.0, Signal::KILL)
    }
}

/// Splits into two processes. Returns in a new child that is to become the VM; the caller never
/// returns, but stays as the supervisor of that child.
///
/// The tool sends SIGTERM to make a supervisor kill everything. SIGTERM also comes when the tool
/// dies.
///
/// # Errors
/// If the tool has ended or no child can be made; then there is no supervisor either.
pub(crate) fn split(tool: u32) -> io::Result<Supervisor> {
    let before = block_signals();
    die_with(tool, Signal::TERM)?;
    let supervisor = std::process::id();
    set_child_subreaper(Some(getpid()))?;
    // SAFETY: both processes make only system calls afterwards.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: the set was filled by `block_signals`.
            unsafe { libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
            die_with(supervisor, Signal::KILL)?;
            Ok(Supervisor(supervisor))
        }
        vm => watch(vm),
    }
}

/// Blocks all signals; returns the previous mask.
fn block_signals() -> libc::sigset_t {
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets are valid for writing, and an all-zero set is an empty one.
    unsafe {
        // If the tool ignores this signal, the kernel would not keep the exit status of children.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

/// Waits for the end of the VM or of the tool, and ends the remaining processes.
fn watch(vm: libc::pid_t) -> ! {
    let _ = rustix::thread::set_name(c"tailback-superv");
    close_all();
    let mut ended = None;
    let asked_to_end = loop {
        reap(vm, &mut ended);
        if ended.is_some() {
            break false;
        }
        if wait_for_signal() == libc::SIGTERM {
            break true;
        }
    };
    let began = Instant::now();
    // Without a request to end, processes may end by themselves, since their input ends.
    let patience = if asked_to_end { Duration::ZERO } else { GRACE };
    while reap(vm, &mut ended) && began.elapsed() < LIMIT {
        if began.elapsed() >= patience {
            kill_children(vm, ended.is_none());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    exit_like(ended)
}

/// Closes all descriptors, so that no pipe stays open only because the supervisor has a copy.
fn close_all() {
    // SAFETY: afterwards, this process uses only descriptors that it has opened itself.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) != 0 {
            for descriptor in 0..4096 {
                libc::close(descriptor);
            }
        }
    }
}

fn wait_for_signal() -> libc::c_int {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is valid, and no information about the signal is requested.
    unsafe {
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        libc::sigwaitinfo(set.as_ptr(), std::ptr::null_mut())
    }
}

/// Reaps all ended children; returns whether children are left.
fn reap(vm: libc::pid_t, ended: &mut Option<WaitStatus>) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                if pid.as_raw_pid() == vm {
                    *ended = Some(status);
                }
            }
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Kills the VM's group and every child of this process, including adopted ones.
fn kill_children(vm: libc::pid_t, vm_lives: bool) {
    // Once the VM is reaped, its pid may belong to another process.
    if let Some(vm) = Pid::from_raw(vm).filter(|_| vm_lives) {
        let _ = kill_process_group(vm, Signal::KILL);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(proc) = openat(CWD, c"/proc", flags, Mode::empty()) else { return };
    let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
    let mut entries = RawDir::new(proc.as_fd(), &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let pid = entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else { continue };
        // The pid of a child is not reused before the child is reaped, which only this thread
        // does.
        if parent(proc.as_fd(), entry.file_name()) == Some(getpid()) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The parent of the process whose folder in /proc has this name.
fn parent(proc: BorrowedFd<'_>, name: &CStr) -> Option<Pid> {
    let folder = openat(proc, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = openat(folder, c"stat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = [0; 512];
    let length = rustix::io::read(stat, &mut text).ok()?;
    Stat::parse(text.get(..length)?)?.parent().and_then(Pid::from_raw)
}

/// Ends in the same way as the VM, so that the tool sees the VM's exit code or signal.
fn exit_like(status: Option<WaitStatus>) -> ! {
    // SAFETY: the process ends here without running exit handlers.
    unsafe {
        if let Some(signal) = status.and_then(WaitStatus::terminating_signal) {
            // It repeats the VM's end; a core dump of the supervisor itself would be misleading.
            libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
            libc::signal(signal, libc::SIG_DFL);
            let mut none = MaybeUninit::<libc::sigset_t>::zeroed();
            libc::sigprocmask(libc::SIG_SETMASK, none.as_mut_ptr(), std::ptr::null_mut());
            libc::kill(libc::getpid(), signal);
        }
        libc::_exit(status.and_then(WaitStatus::exit_status).unwrap_or(1))
    }
}
