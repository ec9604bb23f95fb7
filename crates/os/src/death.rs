//! Programs that end when their parent ends, for whatever reason.

use crate::user::User;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io;
use std::os::fd::OwnedFd;
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

#[cfg(test)]
mod tests {
    use super::*;
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
