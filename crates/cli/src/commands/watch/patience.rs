//! Says that something takes long while it does, for a step that cannot be asked how far it is.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Does the work; `say` is called once if that takes longer than `late`. The thread that waits for
/// it has ended when this returns.
pub fn named_after<T>(late: Duration, say: impl FnOnce() + Send, work: impl FnOnce() -> T) -> T {
    let (ends, ended) = channel::<()>();
    thread::scope(|scope| {
        let watcher = thread::Builder::new().spawn_scoped(scope, move || {
            if ended.recv_timeout(late) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        });
        let done = work();
        drop(ends);
        // Where no thread could be started, nothing is said, and the work is done all the same.
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
        let quick = named_after(Duration::from_secs(3600), || said.send(()).unwrap(), || 7);
        assert_eq!((quick, hears.try_recv().is_ok()), (7, false));
        let (said, hears) = channel();
        let slow = named_after(
            Duration::ZERO,
            || said.send(()).unwrap(),
            // Ends only once it was named.
            || hears.recv().is_ok(),
        );
        assert!(slow);
    }
}
