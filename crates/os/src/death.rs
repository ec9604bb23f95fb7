//! Programs that end when their parent ends, for whatever reason, and children that end at once.

use crate::user::User;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the kernel send this process a signal when the thread that started it ends.
///
/// Makes two system calls and allocates nothing, so it may run between fork and exec.
///
/// # Errors
/// If the parent has died already, or the kernel does not know the signal.
pub fn die_with(parent: u32, signal: Signal) -> io::Result<()> {
    set_parent_process_death_signal(Some(signal))?;
    // A parent that died before that call will not trigger the signal.
    let now = getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    if now == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
}

/// Makes the kernel send the started program a signal when the thread that starts it ends.
pub fn bind(command: &mut Command, signal: Signal) {
    let parent = std::process::id();
    // SAFETY: between fork and exec it makes two system calls, and allocates nothing.
    unsafe { command.pre_exec(move || die_with(parent, signal)) };
}

/// Like [`bind`] with SIGKILL, for a program that first becomes this user, if any, and keeps no
/// privilege. A signal set by [`bind`] would be lost when the user changes.
pub fn bind_as(command: &mut Command, user: Option<User>) {
    let parent = std::process::id();
    let prepare = move || {
        user.map_or(Ok(()), User::become_it)?;
        die_with(parent, Signal::KILL)
    };
    // SAFETY: between fork and exec it makes system calls, and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}

/// Keeps these descriptors open in this program. Other programs started meanwhile do not get
/// them.
pub fn keep_open(command: &mut Command, descriptors: Vec<OwnedFd>) {
    let keep = move || {
        let mut all = descriptors.iter();
        all.try_for_each(|one| Ok(fcntl_setfd(one, FdFlags::empty())?))
    };
    // SAFETY: between fork and exec it makes system calls, and allocates nothing.
    unsafe { command.pre_exec(keep) };
}

/// The flag of clone3 by which a child begins in a control group. That of the crate libc is cut to
/// 32 bits.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Makes a child of this process in a control group of v2, whose folder is open. The child ends at
/// once. The caller has to wait for its end.
///
/// The child is never in another group, so the kernel moves no process.
///
/// # Errors
/// If it is no folder of such a group, the caller may not move processes into it, or the kernel
/// is older than Linux 5.7.
pub fn short_lived_in(group: BorrowedFd<'_>) -> io::Result<Pid> {
    let arguments = libc::clone_args {
        flags: CLONE_INTO_CGROUP,
        pidfd: 0,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: u64::from(libc::SIGCHLD.cast_unsigned()),
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: u64::from(group.as_raw_fd().cast_unsigned()),
    };
    let size = size_of::<libc::clone_args>();
    // SAFETY: the call reads the arguments, which live until it returns. The child has a copy of
    // this process's memory, and only makes the system call below.
    let made = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size) };
    if made == 0 {
        // SAFETY: this ends the child at once, without the exit handlers of its parent.
        unsafe { libc::_exit(0) }
    }
    let child = i32::try_from(made).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    child.ok_or_else(io::Error::last_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Stdio};

    fn sleeper() -> Child {
        let mut command = Command::new("sleep");
        command.arg("60").stdin(Stdio::null());
        bind(&mut command, Signal::TERM);
        command.spawn().unwrap()
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let mut child = std::thread::spawn(sleeper).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    }

    #[test]
    fn no_child_can_begin_in_a_folder_that_is_no_group() {
        let folder = std::fs::File::open("/proc/self").unwrap();
        assert!(short_lived_in(folder.as_fd()).is_err());
    }

    #[test]
    fn a_parent_that_is_gone_is_an_error_and_the_program_does_not_start() {
        // If the parent's number is not the number of the test, the parent counts as dead.
        let other = std::process::id() + 1;
        let mut command = Command::new("sleep");
        // SAFETY: two system calls.
        unsafe { command.pre_exec(move || die_with(other, Signal::KILL)) };
        let error = command.arg("60").spawn().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::SRCH.raw_os_error()));
    }
}
