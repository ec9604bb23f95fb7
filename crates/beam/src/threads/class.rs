//! What a thread was doing at one moment.

/// What a thread was doing when it was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// On a CPU or runnable: it works or spins.
    Running,
    /// Asleep on a futex: a scheduler without work, or one that waits for a lock.
    Futex,
    /// Asleep for a time, in native code: a scheduler of the VM never does this by itself.
    Sleep,
    /// Waiting for input or output to be possible, possibly with a timeout.
    Poll,
    /// Reading, writing, or waiting for something else in the kernel.
    Other,
    /// In uninterruptible sleep: mostly a disk, or the kernel's memory.
    Disk,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// Does not exist: not yet started, or ended.
    Gone,
}

impl Class {
    /// All classes, in the order of [`Shares`](super::Shares).
    pub const ALL: [Class; 8] = [
        Class::Running,
        Class::Futex,
        Class::Sleep,
        Class::Poll,
        Class::Other,
        Class::Disk,
        Class::Stopped,
        Class::Gone,
    ];

    /// The class by the kernel function that a thread waits in; None if the function does not
    /// determine it.
    ///
    /// A runnable thread waits in no function, even if it is throttled or has not run since it
    /// was woken.
    pub(super) fn of_wchan(wchan: &str) -> Option<Self> {
        let is = |parts: &[&str]| parts.iter().any(|part| wchan.contains(part));
        if is(&["futex"]) {
            Some(Class::Futex)
        } else if is(&["nanosleep", "nsleep"]) {
            Some(Class::Sleep)
        } else if is(&["poll", "select", "schedule_hrtimeout"]) {
            Some(Class::Poll)
        } else {
            None
        }
    }

    /// The class by the letter of a thread's state, if the function did not determine it.
    pub(super) fn of_state(state: u8) -> Self {
        match state {
            b'R' => Class::Running,
            b'D' => Class::Disk,
            b'T' | b't' => Class::Stopped,
            b'Z' | b'X' | b'x' => Class::Gone,
            _ => Class::Other,
        }
    }

    pub(super) fn index(self) -> usize {
        Self::ALL.iter().position(|class| *class == self).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_functions_are_told_apart() {
        for (wchan, class) in [
            ("futex_do_wait", Some(Class::Futex)),
            ("futex_wait_queue_me", Some(Class::Futex)),
            ("hrtimer_nanosleep", Some(Class::Sleep)),
            ("do_nanosleep", Some(Class::Sleep)),
            ("common_nsleep", Some(Class::Sleep)),
            ("poll_schedule_timeout.constprop.0", Some(Class::Poll)),
            ("do_epoll_wait", Some(Class::Poll)),
            ("ep_poll", Some(Class::Poll)),
            ("do_select", Some(Class::Poll)),
            ("anon_pipe_read", None),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(Class::of_wchan(wchan), class, "{wchan}");
        }
        for (state, class) in [
            (b'R', Class::Running),
            (b'S', Class::Other),
            (b'D', Class::Disk),
            (b'T', Class::Stopped),
            (b'Z', Class::Gone),
            (b'?', Class::Other),
        ] {
            assert_eq!(Class::of_state(state), class);
        }
    }

    #[test]
    fn each_class_has_its_place() {
        for (place, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class.index(), place);
        }
    }
}
