//! Reads all threads of a process once.

use super::class::Class;
use os::stat::Stat;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Most threads that are sampled; a VM has at most about three thousand.
const MOST_THREADS: usize = 8192;

/// Most bytes of a file that are read.
const MOST_BYTES: u64 = 4096;

/// The result of sampling one thread once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub class: Class,
    pub times: Times,
}

/// The three numbers of `schedstat`, counted since the thread's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// Time on a CPU, in nanoseconds.
    pub cpu_ns: u64,
    /// Time in a run queue, in nanoseconds.
    pub waited_ns: u64,
    /// Number of times that it was put on a CPU.
    pub timeslices: u64,
}

/// The threads that a process has now.
pub(super) fn threads(task: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(task).into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.take(MOST_THREADS).collect()
}

/// The thread's name.
pub(super) fn name(task: &Path, tid: u32) -> Option<String> {
    text(&task.join(format!("{tid}/comm"))).map(|name| name.trim_end().to_owned())
}

/// The files of one thread that are read repeatedly.
///
/// Opening a file of /proc costs several times as much as reading it. So the files stay open,
/// unless there are too many.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    open: Option<[File; 2]>,
}

/// The names of the files that are kept open; the order matters.
const KEPT: [&str; 2] = ["wchan", "schedstat"];

impl Files {
    /// The files of a thread; `keep` says whether they may stay open.
    pub fn of(task: &Path, tid: u32, keep: bool) -> Self {
        let folder = task.join(tid.to_string());
        let [wchan, schedstat] = KEPT.map(|name| File::open(folder.join(name)).ok());
        let open = wchan.zip(schedstat).filter(|_| keep).map(<[File; 2]>::from);
        Files { folder, open }
    }

    /// A sample of the thread; None if it has ended.
    pub fn look(&self) -> Option<Look> {
        let class = match Class::of_wchan(&self.read(0).unwrap_or_default()) {
            Some(class) => class,
            None => Class::of_state(self.state()?),
        };
        // A kernel without scheduler information has no such file; then there are no times.
        let times = self.read(1).and_then(|text| times_of(&text));
        Some(Look { class, times: times.unwrap_or_default() })
    }

    /// The letter of the thread's state; None if it has ended.
    fn state(&self) -> Option<u8> {
        let stat = text(&self.folder.join("stat"))?;
        Some(Stat::parse(stat.as_bytes())?.state())
    }

    fn read(&self, which: usize) -> Option<String> {
        let Some(open) = &self.open else { return text(&self.folder.join(KEPT[which])) };
        let mut bytes = [0; 256];
        let count = open[which].read_at(&mut bytes, 0).ok()?;
        Some(String::from_utf8_lossy(&bytes[..count]).into_owned())
    }
}

/// Voluntary and involuntary context switches of a thread since its start.
pub(super) fn switches(task: &Path, tid: u32) -> Option<(u64, u64)> {
    let status = text(&task.join(format!("{tid}/status")))?;
    let number = |key: &str| {
        status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok())
    };
    Some((number("voluntary_ctxt_switches:")?, number("nonvoluntary_ctxt_switches:")?))
}

fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::with_capacity(512);
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn times_of(schedstat: &str) -> Option<Times> {
    let mut numbers = schedstat.split_ascii_whitespace().map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(Times { cpu_ns: next()?, waited_ns: next()?, timeslices: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_read() {
        let times = Times { cpu_ns: 5, waited_ns: 6, timeslices: 7 };
        assert_eq!(times_of("5 6 7\n"), Some(times));
        assert_eq!(times_of("5 6"), None);
        assert_eq!(times_of("5 -6 7"), None);
    }

    #[test]
    fn this_very_process_can_be_looked_at() {
        let task = Path::new("/proc/self/task");
        let own = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
        assert!(threads(task).contains(&own));
        for keep in [true, false] {
            assert_eq!(Files::of(task, own, keep).look().unwrap().class, Class::Running);
        }
        assert!(switches(task, own).is_some() && name(task, own).is_some());
        assert_eq!(Files::of(task, u32::MAX, true).look(), None);
    }

    proptest! {
        #[test]
        fn nonsense_is_absent(text in ".{0,60}") {
            let _ = times_of(&text);
        }
    }
}
