//! The thread from which all children are started.
//!
//! The kernel sends a parent-death signal when the *thread* that made the child dies. So one
//! thread that lives as long as the tool starts all children, and callers may use short-lived
//! threads.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};

type Request = (Command, SyncSender<io::Result<Child>>);

/// A static, since no shorter-lived value may own the thread.
static SPAWNER: OnceLock<Mutex<Sender<Request>>> = OnceLock::new();

/// Starts a child from the spawner without any preparation.
///
/// # Errors
/// If the process cannot be made.
pub(crate) fn spawn_as_is(command: Command) -> io::Result<Child> {
    let (answer, spawned) = sync_channel(1);
    let gone = |()| io::Error::other("the thread that starts child processes has ended");
    let spawner = SPAWNER.get_or_init(|| Mutex::new(start()));
    let spawner = spawner.lock().unwrap_or_else(PoisonError::into_inner);
    spawner.send((command, answer)).map_err(|_| gone(()))?;
    drop(spawner);
    spawned.recv().map_err(|_| gone(()))?
}

fn start() -> Sender<Request> {
    let (sender, requests) = channel::<Request>();
    // If no thread can be started, the caller gets the error from the closed channel.
    let _ = std::thread::Builder::new().name("spawner".to_owned()).spawn(move || {
        for (mut command, answer) in requests {
            let child = command.spawn();
            // This closes its ends of the pipes before the caller continues.
            drop(command);
            let _ = answer.send(child);
        }
    });
    sender
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::death;
    use rustix::process::Signal;
    use std::io::{BufRead, BufReader, Write};
    use std::path::PathBuf;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it() {
        let asked = std::thread::spawn(|| {
            let mut command = Command::new("cat");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            death::bind(&mut command, Signal::KILL);
            (spawn_as_is(command).unwrap(), rustix::thread::gettid().as_raw_pid())
        });
        let (mut child, thread) = asked.join().unwrap();
        // The kernel sends the signals of a thread after its end is seen by `join`, and before its
        // folder is gone.
        let folder = PathBuf::from(format!("/proc/self/task/{thread}"));
        let until = Instant::now() + Duration::from_secs(60);
        while folder.exists() {
            assert!(Instant::now() < until, "not within a minute: thread {thread} is gone");
            std::thread::sleep(Duration::from_millis(1));
        }
        // A child that got the signal does not answer.
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"here\n").unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        assert_eq!(answer, "here\n");
        drop(input);
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn what_cannot_be_executed_is_an_error() {
        let error = spawn_as_is(Command::new("/nonexistent/program")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
