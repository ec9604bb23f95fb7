//! Reports a step that takes long while it still runs. For steps that have no progress to show.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Does the work. Calls `say` once if the work takes longer than `late`. The thread that waits
/// for that has ended when this function returns.
pub fn report_if_late<T>(late: Duration, say: impl FnOnce() + Send, work: impl FnOnce() -> T) -> T {
    let (ends, ended) = channel::<()>();
    thread::scope(|scope| {
        let watcher = thread::Builder::new().spawn_scoped(scope, move || {
            if ended.recv_timeout(late) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        });
        let done = work();
        drop(ends);
        // If the thread could not be started, nothing is reported, but the work is done.
        drop(watcher);
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn only_what_takes_long_is_named() {
        let (said, hears) = channel();
        let quick = report_if_late(Duration::from_secs(3600), || said.send(()).unwrap(), || 7);
        assert_eq!((quick, hears.try_recv().is_ok()), (7, false));
        let (said, hears) = channel();
        let slow = report_if_late(
            Duration::ZERO,
            || said.send(()).unwrap(),
            // Ends only once it was reported.
            || hears.recv().is_ok(),
        );
        assert!(slow);
    }
}
