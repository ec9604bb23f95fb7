//! The processes of the test: this same binary, executed again.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the spinner spins each time.
pub const SPIN: Duration = Duration::from_millis(200);

/// How long it sleeps between two spins.
const PAUSE: Duration = Duration::from_millis(300);

/// Environment variable that makes this binary a worker.
const PART: &str = "PROBE_TEST_PART";

/// A child process with a part.
pub struct Worker(Child);

impl Worker {
    /// Starts a worker on a CPU.
    pub fn start(part: &str, cpu: u32, other: Option<u32>) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .env(PART, part)
            .env("PROBE_TEST_CPU", cpu.to_string())
            .env("PROBE_TEST_OTHER", other.unwrap_or(0).to_string())
            // A worker ends when this pipe closes, so it ends with the test, however the test
            // ends.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut worker = Worker(child);
        let mut byte = [0];
        worker.0.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        worker
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn end(self) {}
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The CPUs that this process may use.
pub fn cpus() -> Vec<u32> {
    os::pin::allowed().unwrap()
}

/// Runs a worker's part if the environment names one.
pub fn worker_main() -> bool {
    let Ok(part) = std::env::var(PART) else { return false };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u32>().unwrap();
    os::pin::pin(number("PROBE_TEST_CPU")).unwrap();
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    match part.as_str() {
        "victim" => map_for_ever(),
        "reader" => read_for_ever(number("PROBE_TEST_OTHER")),
        _ => spin_now_and_then(),
    }
}

fn ready() {
    print!("r");
    std::io::Write::flush(&mut std::io::stdout()).unwrap();
}

/// Maps and unmaps a page every millisecond, beside so many mappings that reading them takes
/// long.
fn map_for_ever() -> ! {
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
    const PAGE: usize = 4096;
    const PAGES: usize = 8_000;
    let rw = ProtFlags::READ | ProtFlags::WRITE;
    let populated = MapFlags::PRIVATE | MapFlags::POPULATE;
    // SAFETY: pages of this process that nothing else uses.
    unsafe {
        let all = mmap_anonymous(std::ptr::null_mut(), PAGES * PAGE, rw, populated).unwrap();
        for page in (0..PAGES).step_by(2) {
            mprotect(all.cast::<u8>().add(page * PAGE).cast(), PAGE, MprotectFlags::READ).unwrap();
        }
        ready();
        loop {
            let page =
                mmap_anonymous(std::ptr::null_mut(), PAGE, ProtFlags::READ, MapFlags::PRIVATE);
            munmap(page.unwrap(), PAGE).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn read_for_ever(pid: u32) -> ! {
    rustix::process::setpriority_process(None, 10).unwrap();
    let mut buffer = vec![0; 1 << 17];
    ready();
    loop {
        let Ok(mut file) = std::fs::File::open(format!("/proc/{pid}/smaps")) else {
            std::process::exit(0)
        };
        while file.read(&mut buffer).is_ok_and(|read| read > 0) {}
    }
}

/// Spins as a real-time thread, so that nothing else runs on its CPU meanwhile.
fn spin_now_and_then() -> ! {
    let param = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel reads the parameter and keeps nothing.
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) };
    assert_eq!(refused, 0, "{}", std::io::Error::last_os_error());
    ready();
    loop {
        std::thread::sleep(PAUSE);
        let began = Instant::now();
        while began.elapsed() < SPIN {
            std::hint::spin_loop();
        }
    }
}

/// Checks that no program is attached any more: programs end with the descriptors of this
/// process.
pub fn nothing_is_left() {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let left: Vec<_> = targets.filter(|to| to.to_string_lossy().contains("bpf")).collect();
    assert!(left.is_empty(), "{left:?}");
}
