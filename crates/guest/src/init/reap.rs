//! Reaps processes: process 1 inherits every orphan.

use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus, wait};

/// Reaps all processes until this one has ended. Returns its exit code as a shell reports it.
pub(super) fn until_gone(pid: u32) -> u8 {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((gone, status))) if gone.as_raw_nonzero().get() as u32 == pid => {
                return code(status);
            }
            Ok(_) | Err(Errno::INTR) => {}
            // There is no child: the process is gone, and its exit code is not known.
            Err(_) => return 4,
        }
    }
}

fn code(status: WaitStatus) -> u8 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(4)
}
