//! Runs a program to its end, with limits on its time and its output.

use crate::{spawner, supervisor};
use os::child::{Child, Ran};
use os::user::User;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Most bytes of each stream that are kept; the rest is read and dropped.
const MOST: usize = 256 << 10;

/// Runs a program as `user`, or as the caller, without input. Kills it with its process group
/// after `limit`. When it ends, kills everything that it has left running.
///
/// # Errors
/// If it cannot be started.
pub fn run(mut command: Command, user: Option<User>, limit: Duration) -> io::Result<Ran> {
    let deadline = Instant::now() + limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    supervised(command, user)?.run_to_end(MOST, deadline, &|| false)
}

/// Starts a program behind a supervisor. When the tool has ended, the supervisor ends everything
/// that the program has started: a compiler's own passes would otherwise outlive it.
fn supervised(mut command: Command, user: Option<User>) -> io::Result<Child> {
    command.process_group(0);
    let tool = std::process::id();
    // SAFETY: the supervisor makes system calls only, and neither allocates nor locks.
    unsafe { command.pre_exec(move || supervisor::split(tool)?.hand_over(user)) };
    Ok(Child::leading(spawner::spawn_as_is(command)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_never_ends_is_killed_with_its_children() {
        let script = "sleep 300 & echo $!; sleep 300 & echo $!; wait";
        let tried = |seconds| {
            let ran = run(shell(script), None, Duration::from_secs(seconds)).unwrap();
            assert!(ran.status.is_none());
            let said = String::from_utf8(ran.stdout).unwrap();
            let children: Vec<u32> = said.lines().map(|line| line.parse().unwrap()).collect();
            (children.len() == 2).then_some(children)
        };
        // On a busy machine the shell may need longer until it has started both.
        let children = [1, 10, 60].into_iter().find_map(tried).unwrap();
        // A dead process has no command line.
        let is_alive = |child: &u32| {
            std::fs::read(format!("/proc/{child}/cmdline"))
                .is_ok_and(|words| words.starts_with(b"sleep\0"))
        };
        let until = Instant::now() + Duration::from_secs(100);
        while children.iter().any(is_alive) {
            assert!(Instant::now() < until, "they live: {children:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_daemon_that_keeps_the_pipe_open_holds_nobody_up() {
        let script = "setsid sleep 300 & echo done";
        let began = Instant::now();
        let ran = run(shell(script), None, Duration::from_secs(60)).unwrap();
        assert!(ran.status.unwrap().success());
        assert_eq!(ran.stdout, b"done\n");
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
