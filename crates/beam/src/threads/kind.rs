//! The purpose of a VM thread, determined by its name.

/// The purpose of a VM thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThreadKind {
    /// A normal scheduler, with its number.
    Scheduler(u32),
    /// A dirty CPU scheduler, with its number.
    DirtyCpu(u32),
    /// A dirty IO scheduler, with its number.
    DirtyIo(u32),
    /// A thread for asynchronous drivers.
    Async,
    /// The auxiliary thread.
    Aux,
    /// A thread that polls for input and output.
    Poll,
    /// The main thread, a thread that passes on signals or messages, or a thread of a NIF or
    /// driver.
    Other,
}

impl ThreadKind {
    /// The kind, from the name in `/proc/PID/task/TID/comm`.
    ///
    /// OTP 25 uses `1_scheduler`, `1_dirty_cpu_sch` and `10_dirty_io_sch`, since names have at
    /// most 15 characters; OTP 26 and later use `erts_sched_1`, `erts_dcpus_1` and
    /// `erts_dios_10`.
    pub fn of(name: &str) -> Self {
        let name = name.trim_end();
        match name.strip_prefix("erts_") {
            Some(rest) => Self::since_26(rest),
            None => Self::until_25(name),
        }
    }

    fn since_26(name: &str) -> Self {
        let Some((word, number)) = name.rsplit_once('_') else { return ThreadKind::Other };
        let Ok(number) = number.parse() else { return ThreadKind::Other };
        match word {
            "sched" => ThreadKind::Scheduler(number),
            "dcpus" => ThreadKind::DirtyCpu(number),
            "dios" => ThreadKind::DirtyIo(number),
            "async" => ThreadKind::Async,
            "aux" => ThreadKind::Aux,
            "poll" => ThreadKind::Poll,
            _ => ThreadKind::Other,
        }
    }

    fn until_25(name: &str) -> Self {
        if name.strip_prefix("async_").is_some_and(|number| number.parse::<u32>().is_ok()) {
            return ThreadKind::Async;
        }
        let Some((number, word)) = name.split_once('_') else { return ThreadKind::Other };
        let Ok(number) = number.parse() else { return ThreadKind::Other };
        // The more digits the number has, the less of the word remains.
        let is = |whole: &str, least: usize| word.len() >= least && whole.starts_with(word);
        if is("scheduler", 3) {
            ThreadKind::Scheduler(number)
        } else if is("dirty_cpu_scheduler", 7) {
            ThreadKind::DirtyCpu(number)
        } else if is("dirty_io_scheduler", 7) {
            ThreadKind::DirtyIo(number)
        } else {
            match word {
                "aux" => ThreadKind::Aux,
                "poller" => ThreadKind::Poll,
                _ => ThreadKind::Other,
            }
        }
    }

    /// Whether it runs Erlang processes, as schedulers of any kind do.
    pub fn is_scheduler(self) -> bool {
        matches!(self, ThreadKind::Scheduler(_) | ThreadKind::DirtyCpu(_) | ThreadKind::DirtyIo(_))
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadKind::{self, *};
    use proptest::prelude::*;

    #[test]
    fn names_of_every_otp_are_known() {
        for (name, kind) in [
            ("1_scheduler", Scheduler(1)),
            ("1024_scheduler\n", Scheduler(1024)),
            ("1_dirty_cpu_sch", DirtyCpu(1)),
            ("1024_dirty_cpu_", DirtyCpu(1024)),
            ("1_dirty_io_sche", DirtyIo(1)),
            ("10_dirty_io_sch", DirtyIo(10)),
            ("1024_dirty_io_s", DirtyIo(1024)),
            ("async_1", Async),
            ("1_aux", Aux),
            ("0_poller", Poll),
            ("erts_sched_1", Scheduler(1)),
            ("erts_sched_1024", Scheduler(1024)),
            ("erts_dcpus_2", DirtyCpu(2)),
            ("erts_dios_10", DirtyIo(10)),
            ("erts_async_3", Async),
            ("erts_aux_1", Aux),
            ("erts_poll_0", Poll),
            ("erts_smsg_disp", Other),
            ("sys_sig_dispatc", Other),
            ("sys_msg_dispatc", Other),
            ("beam.smp", Other),
            ("erts_sched_", Other),
            ("x_scheduler", Other),
            ("1_", Other),
            ("1_dirty_", Other),
            ("", Other),
        ] {
            assert_eq!(ThreadKind::of(name), kind, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_taken(name in ".{0,20}") {
            let _ = ThreadKind::of(&name);
        }
    }
}
