//! The command of the guest, and how to end it early.

use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};

/// The state of the command.
#[derive(Debug, Default)]
struct State {
    /// Its process, from its start until process 1 has reaped it.
    pid: Option<Pid>,
    /// Whether the host wants it to end.
    unwanted: bool,
}

/// A handle for ending the command.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<Mutex<State>>);

impl Running {
    /// Records that the command was started. If the host already wants it to end, it is ended at
    /// once.
    pub fn started(&self, child: &Child) {
        self.change(|state| {
            state.pid = Pid::from_raw(child.id() as i32);
            if state.unwanted {
                interrupt(state);
            }
        });
    }

    /// Records that it is gone. Its PID may soon belong to another process.
    pub fn gone(&self) {
        self.change(|state| state.pid = None);
    }

    /// Ends it once, like Ctrl-C: it saves its results.
    pub fn end(&self) {
        self.change(|state| {
            // A second signal would end it before it has saved anything.
            if !std::mem::replace(&mut state.unwanted, true) {
                interrupt(state);
            }
        });
    }

    fn change(&self, how: impl FnOnce(&mut State)) {
        how(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn interrupt(state: &State) {
    if let Some(pid) = state.pid {
        // A command that has just ended by itself has written everything.
        let _ = kill_process(pid, Signal::INT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    /// A program that SIGINT ends, even if a shell made this process ignore SIGINT.
    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("100");
        // SAFETY: signal is one of the calls that are allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        command
    }

    #[test]
    fn a_command_is_interrupted_whether_the_wish_comes_before_or_after_it() {
        for before in [false, true] {
            let running = Running::default();
            if before {
                running.end();
            }
            let mut child = sleeper().spawn().unwrap();
            running.started(&child);
            running.end();
            assert_eq!(child.wait().unwrap().signal(), Some(Signal::INT.as_raw()));
            running.gone();
            running.end();
        }
    }
}
