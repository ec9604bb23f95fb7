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
    use std::process::Stdio;

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it() {
        let asked = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("60").stdin(Stdio::null());
            death::bind(&mut command, Signal::KILL);
            spawn_as_is(command).unwrap()
        });
        let mut child = asked.join().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_cannot_be_executed_is_an_error() {
        let error = spawn_as_is(Command::new("/nonexistent/program")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
