//! What `status` says about a process, if the process is not reaped meanwhile.
//!
//! Linux writes this text for a process that ends, too. The parent may reap the process during
//! the write. Then its session and its parent are 0, as for a kernel thread.

use host::Roots;
use host::roots::read_start;
use os::terminal;

/// Most bytes that are read; the text lists the groups of the user.
const MOST: u64 = 16_384;

/// The number of kthreadd, the parent of the kernel's other threads.
const KTHREADD: u32 = 2;

/// What is used of `status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub name: String,
    /// 0 if it began outside the PID namespace of /proc, and for kernel threads.
    pub session: u32,
    pub is_of_kernel: bool,
    /// Whether its first thread has ended, or has begun to.
    pub first_ends: bool,
    /// The list of CPUs that its first thread may use, also of those that are offline. None if the
    /// text has no such list, or was cut before the end of the list.
    pub cpu_list: Option<String>,
    threads: u32,
}

impl Status {
    /// Whether the whole process ends. If only its first thread has ended, other threads still
    /// run.
    pub fn ends(&self) -> bool {
        self.first_ends && self.threads <= 1
    }
}

/// Reads the status of a process; None if the process is gone.
pub fn read(roots: &Roots, pid: u32) -> Option<Status> {
    let file = roots.proc.join(pid.to_string()).join("status");
    settled(|| parse(&String::from_utf8_lossy(&read_start(&file, MOST).ok()?)))
}

/// A process without a session is read twice. If it was reaped meanwhile, it is gone the second
/// time.
fn settled(mut look: impl FnMut() -> Option<Status>) -> Option<Status> {
    let first = look()?;
    if first.session == 0 { look() } else { Some(first) }
}

/// Reads the text of a `status` file. Its first line is the name, which contains no line feed.
pub fn parse(text: &str) -> Option<Status> {
    let name = text.strip_prefix("Name:\t")?.split('\n').next()?;
    let value = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)?.split_ascii_whitespace().next())
    };
    let parent = value("PPid:")?.parse().ok()?;
    // The first number belongs to the namespace of /proc.
    let session = value("NSsid:").and_then(|number| number.parse().ok()).unwrap_or(0);
    let has_memory = value("VmSize:").is_some();
    let is_dead = value("State:").is_some_and(|state| state == "Z" || state == "X");
    let is_of_kernel = match value("Kthread:") {
        Some(flag) => flag == "1",
        // Older kernels do not tell. Kernel threads have no memory of their own.
        None => [0, KTHREADD].contains(&parent) && !has_memory && !is_dead,
    };
    let threads = value("Threads:").and_then(|number| number.parse().ok()).unwrap_or(1);
    let first_ends = !is_of_kernel && (is_dead || !has_memory);
    let name = terminal::line(name);
    let cpu_list = cpu_list(text);
    Some(Status { name, session, is_of_kernel, first_ends, cpu_list, threads })
}

/// The list of CPUs in such a text, if the whole line is there.
fn cpu_list(text: &str) -> Option<String> {
    let mut lines = text.split_inclusive('\n');
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.ends_with('\n').then(|| list.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHELL: &str = "Name:\tsh\nState:\tS (sleeping)\nPPid:\t1\nNSsid:\t9\t3\nVmSize:\t9 kB\n";

    /// Reads these texts one after the other. Returns how many of them were read.
    fn settle(texts: &[&str]) -> (Option<Status>, usize) {
        let mut asked = 0;
        let status = settled(|| {
            asked += 1;
            texts.get(asked - 1).and_then(|text| parse(text))
        });
        (status, asked)
    }

    #[test]
    fn a_process_may_call_itself_anything() {
        let text = "Name:\tKthread:\t1 PPid:\t2\nState:\tS\nPPid:\t1\nNSsid:\t9\nKthread:\t0\n";
        let read = parse(text).unwrap();
        assert_eq!((read.name.as_str(), read.session), ("Kthread: 1 PPid: 2", 9));
    }

    #[test]
    fn a_thread_of_the_kernel_is_known_with_and_without_its_flag() {
        let is_of_kernel = |text: &str| parse(text).unwrap().is_of_kernel;
        assert!(!is_of_kernel(SHELL));
        let flagged = "Name:\tkworker/0:1\nPPid:\t2\nKthread:\t1\n";
        assert!(is_of_kernel(flagged));
        assert!(is_of_kernel("Name:\tksoftirqd/0\nPPid:\t2\nNSsid:\t0\n"));
        assert!(is_of_kernel("Name:\tkthreadd\nPPid:\t0\nNSsid:\t0\n"));
        // The first process of a container, and a child of its second.
        assert!(!is_of_kernel("Name:\tinit\nPPid:\t0\nNSsid:\t1\nVmSize:\t9 kB\n"));
        assert!(!is_of_kernel("Name:\tsh\nPPid:\t2\nNSsid:\t1\nVmSize:\t9 kB\n"));
    }

    #[test]
    fn a_list_of_cpus_is_read_if_it_is_whole() {
        let list = |rest: &str| parse(&format!("{SHELL}{rest}")).unwrap().cpu_list;
        let whole = list("Cpus_allowed_list:\t0-1,1500\nMems_allowed_list:\t0\n");
        assert_eq!(whole.as_deref(), Some("0-1,1500"));
        assert_eq!((list("Cpus_allowed_list:\t0-1,15"), list("")), (None, None));
    }

    #[test]
    fn a_real_status_is_read() {
        let own = std::fs::read_to_string("/proc/self/status").unwrap();
        let read = parse(&own).unwrap();
        // The session is 0 if it began outside this PID namespace, so `getsid` gives no Pid.
        let stat = std::fs::read("/proc/self/stat").unwrap();
        let session = os::stat::Stat::parse(&stat).unwrap().field(6).unwrap();
        assert_eq!((read.session, read.is_of_kernel), (session, false));
        assert!(own.starts_with(&format!("Name:\t{}", read.name)));
        assert!(os::cpulist::parse(&read.cpu_list.unwrap()).is_some_and(|cpus| !cpus.is_empty()));
    }

    #[test]
    fn a_process_that_is_taken_away_meanwhile_is_gone() {
        let taken = "Name:\tsh\nState:\tR (running)\nPPid:\t0\nNSsid:\t0\nVmSize:\t9 kB\n";
        assert_eq!(settle(&[taken]), (None, 2));
        // From an older kernel, which does not mark kernel threads.
        assert_eq!(settle(&["Name:\tsh\nState:\tR (running)\nPPid:\t0\nNSsid:\t0\n"]), (None, 2));
        // Its session began outside.
        assert_eq!(settle(&[taken, taken]), (parse(taken), 2));
        assert_eq!(settle(&[SHELL]), (parse(SHELL), 1));
    }

    #[test]
    fn a_process_ends_unless_threads_of_it_run_on() {
        let zombie = "Name:\tsh\nState:\tZ (zombie)\nPPid:\t0\nNSsid:\t9\nThreads:\t1\n";
        let without_memory = "Name:\tsh\nState:\tR (running)\nPPid:\t1\nNSsid:\t9\nThreads:\t1\n";
        for text in [zombie, without_memory] {
            let status = parse(text).unwrap();
            assert!(status.ends() && !status.is_of_kernel, "{text}");
        }
        let others = parse(&zombie.replace("Threads:\t1", "Threads:\t3")).unwrap();
        assert!(others.first_ends && !others.ends());
        assert!(!parse(SHELL).unwrap().first_ends);
    }

    #[test]
    fn a_thread_of_the_kernel_does_not_end_for_lack_of_memory() {
        let thread = "Name:\tksoftirqd/0\nState:\tS (sleeping)\nPPid:\t2\nNSsid:\t0\nThreads:\t1\n";
        let (status, asked) = settle(&[thread, thread]);
        assert!(status.is_some_and(|status| status.is_of_kernel && !status.first_ends));
        assert_eq!(asked, 2);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,80}", cut in 0usize..80) {
            let _ = parse(&text);
            let _ = parse(&format!("Name:\t{text}"));
            let _ = parse(&SHELL[..cut.min(SHELL.len())]);
        }
    }
}
