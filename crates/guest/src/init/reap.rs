//! Reaps processes: process 1 inherits every orphan.

use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};

/// The exit code of a command whose own one is not known.
const UNKNOWN: u8 = 4;

/// The signal with which the kernel ends a process if there is no memory left.
const SIGKILL: i32 = 9;

/// How the command ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Its exit code, as a shell reports it.
    pub code: u8,
    /// What ended it, if it did not end by itself: then it may have said nothing about it.
    pub why: Option<String>,
}

/// Reaps all processes until this one has ended. Returns how it ended.
pub(super) fn until_gone(pid: u32) -> End {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((gone, status))) if gone.as_raw_nonzero().get() as u32 == pid => {
                return end(status.exit_status(), status.terminating_signal());
            }
            Ok(_) | Err(Errno::INTR) => {}
            // There is no child: the process is gone.
            Err(error) => return unknown(&error.to_string()),
        }
    }
}

fn end(code: Option<i32>, signal: Option<i32>) -> End {
    if let Some(code) = code.and_then(|code| u8::try_from(code).ok()) {
        return End { code, why: None };
    }
    let shell = signal.and_then(|signal| u8::try_from(128 + signal).ok());
    let Some((signal, code)) = signal.zip(shell) else {
        return unknown("it neither exited nor was ended by a signal");
    };
    let hint = if signal == SIGKILL { "; its memory may be too small: see --memory" } else { "" };
    End { code, why: Some(format!("signal {signal} ended the command in the guest{hint}")) }
}

fn unknown(why: &str) -> End {
    let why = format!("the exit code of the command in the guest is not known: {why}");
    End { code: UNKNOWN, why: Some(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_a_command_is_said_unless_it_ended_by_itself() {
        assert_eq!(end(Some(4), None), End { code: 4, why: None });
        let killed = end(None, Some(SIGKILL));
        let why = killed.why.unwrap();
        assert_eq!(killed.code, 137);
        assert!(why.starts_with("signal 9 ended") && why.contains("--memory"), "{why}");
        assert!(!end(None, Some(11)).why.unwrap().contains("--memory"));
        let unknown = end(None, None);
        assert!(unknown.code == UNKNOWN && unknown.why.is_some(), "{unknown:?}");
    }
}
