//! Process 1 of a guest: sets up the machine, runs one command, reports, and ends the machine.

mod command;
mod events;
mod loopback;
mod modules;
mod mounts;
mod port;
mod reap;
mod root;

use crate::frame::{END, FrameKind, MOST_UNPACKED, pack};
use crate::job::{EVENTS, FACTS, Hello, Job, PLACE};
use command::Running;
use port::Port;
use std::fs::DirEntry;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// The interval of the heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The longest progress line that is passed on, in bytes.
const LONGEST_LINE: u64 = 4 << 10;

/// The folder for the command's state, including its record.
const STATE: &str = "/run/state";

/// The folder for the command's cache.
const CACHE: &str = "/run/cache";

/// Whether this process is the init of a guest from tailback.
///
/// In a container tailback may also be process 1, but only a guest has a job.
pub fn is_init() -> bool {
    std::process::id() == 1 && Path::new(PLACE).exists()
}

/// Runs as the init of a guest until its end.
pub fn run() -> ! {
    let warnings = mounts::mount_all();
    match Port::open() {
        Ok(port) => serve(&port, &warnings),
        // Only the console is left for messages.
        Err(error) => println!("tailback: the guest's second serial port: {error}"),
    }
    end_machine()
}

/// Runs the job and reports its result.
fn serve(port: &Port, warnings: &[String]) {
    let hello = Hello { release: release(), cpus: cpus() };
    port.send(FrameKind::Hello, &serde_json::to_vec(&hello).unwrap_or_default());
    for warning in warnings {
        port.send(FrameKind::Warning, warning.as_bytes());
    }
    let heartbeat = port.clone();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(HEARTBEAT);
            heartbeat.send(FrameKind::Heartbeat, b"");
        }
    });
    let running = Running::default();
    let unwanted = running.clone();
    let listening = port.listen(move |byte| {
        if byte == END {
            unwanted.end();
        }
    });
    if let Err(error) = listening {
        port.send(
            FrameKind::Warning,
            format!("the guest cannot read from the host: {error}").as_bytes(),
        );
    }
    let code = match job().and_then(|job| run_job(port, &job, &running)) {
        Ok(code) => code,
        Err(why) => {
            port.send(FrameKind::Warning, why.as_bytes());
            4
        }
    };
    port.send(FrameKind::Exit, &[code]);
    port.drain();
}

fn job() -> Result<Job, String> {
    let text = std::fs::read(PLACE).map_err(|error| format!("{PLACE}: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("{PLACE}: {error}"))
}

fn run_job(port: &Port, job: &Job, running: &Running) -> Result<u8, String> {
    // Few loads need it, and they report a missing device themselves.
    if let Err(error) = loopback::set_up() {
        port.send(
            FrameKind::Warning,
            format!("the loopback device stays down: {error}").as_bytes(),
        );
    }
    for warning in modules::load_all(&job.modules) {
        port.send(FrameKind::Warning, warning.as_bytes());
    }
    if job.loop_devices {
        mounts::give_io();
    }
    if let Some(tag) = &job.root {
        root::enter(tag)?;
        root::copy_compiled(job, Path::new(CACHE));
        root::show_otps(job, Path::new(CACHE));
    }
    if let Err(error) = events::pass_on(port.clone()) {
        // Only the progress is lost then.
        port.send(FrameKind::Warning, format!("{}: {error}", events::PIPE).as_bytes());
    }
    let mut child = start(job).map_err(|error| format!("tailback in the guest: {error}"))?;
    running.started(&child);
    let output = child.stdout.take().map(read_output);
    let lines = child.stderr.take().map(|stderr| pass_lines(stderr, port.clone()));
    // Reaps every process, so that orphans of a trial do not stay in /proc.
    let end = reap::until_gone(child.id());
    running.gone();
    let mut output = output.and_then(|reader| reader.join().ok()).unwrap_or_default();
    if let Some(lines) = lines {
        let _ = lines.join();
    }
    if let Some(why) = &end.why {
        port.send(FrameKind::Warning, why.as_bytes());
    }
    if cut_to(&mut output, MOST_UNPACKED as usize) {
        let why = format!("standard output: cut after {} bytes", output.len());
        port.send(FrameKind::Warning, why.as_bytes());
    }
    port.send(FrameKind::Output, &pack(&output));
    if let Some(record) = record() {
        port.send(FrameKind::Record, &pack(&record));
    }
    Ok(end.code)
}

fn start(job: &Job) -> std::io::Result<Child> {
    Command::new("/proc/self/exe")
        .args(&job.args)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .env("TMPDIR", "/tmp")
        .env("XDG_STATE_HOME", STATE)
        .env("XDG_CACHE_HOME", CACHE)
        .env(EVENTS, events::PIPE)
        .env(FACTS, serde_json::to_string(&job.guest).unwrap_or_default())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn read_output(mut stdout: std::process::ChildStdout) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut output = Vec::new();
        // One byte more shows that the output is too long for the host.
        let _ = stdout.by_ref().take(MOST_UNPACKED + 1).read_to_end(&mut output);
        // Output beyond the limit is still read, so that the command can end.
        let _ = std::io::copy(&mut stdout, &mut std::io::sink());
        output
    })
}

/// Cuts an output that is longer than `most` bytes at the end of a line. Returns whether it did.
fn cut_to(output: &mut Vec<u8>, most: usize) -> bool {
    let is_longer = output.len() > most;
    if is_longer {
        output.truncate(most);
        let end = output.iter().rposition(|byte| *byte == b'\n');
        output.truncate(end.map_or(0, |end| end + 1));
    }
    is_longer
}

fn pass_lines(stderr: std::process::ChildStderr, port: Port) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stderr);
        loop {
            let mut line = Vec::new();
            match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    if line.last() == Some(&b'\n') {
                        line.pop();
                    }
                    port.send(FrameKind::Line, &line);
                }
            }
        }
    })
}

/// The record of the command, if there is one.
fn record() -> Option<Vec<u8>> {
    std::fs::read(record_in(&Path::new(STATE).join("tailback"))?).ok()
}

/// The record in a folder: the first regular file whose name ends in `.json`. The folder of locks
/// and a record that was not written to its end may be there too, and kernels list them in
/// different orders.
fn record_in(folder: &Path) -> Option<PathBuf> {
    let is_record = |entry: &DirEntry| {
        let ends = entry.path().extension().is_some_and(|end| end == "json");
        ends && entry.file_type().is_ok_and(|kind| kind.is_file())
    };
    let mut entries = std::fs::read_dir(folder).ok()?.flatten();
    entries.find(is_record).map(|entry| entry.path())
}

fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

fn end_machine() -> ! {
    rustix::fs::sync();
    // QEMU runs with -no-reboot, so a restart ends it even if the power cannot be switched off.
    let _ = rustix::system::reboot(rustix::system::RebootCommand::Restart);
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_is_too_long_for_the_host_ends_with_a_whole_line() {
        let cut = |text: &str| {
            let mut output = text.as_bytes().to_vec();
            let is_cut = cut_to(&mut output, 8);
            (String::from_utf8(output).unwrap(), is_cut)
        };
        assert_eq!(cut("one\ntwo\n"), ("one\ntwo\n".to_owned(), false));
        assert_eq!(cut("one\nthree\n"), ("one\n".to_owned(), true));
        assert_eq!(cut("one\ntwo\n3"), ("one\ntwo\n".to_owned(), true));
        assert_eq!(cut("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"), (String::new(), true));
    }

    #[test]
    fn the_record_is_found_beside_locks_and_unfinished_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for other in ["locks-0", "folder.json"] {
            std::fs::create_dir(path(other)).unwrap();
        }
        std::fs::write(path(".mmap-lock.json.7.partial"), "{").unwrap();
        assert_eq!(record_in(folder.path()), None);
        std::fs::write(path("mmap-lock.json"), "{}").unwrap();
        assert_eq!(record_in(folder.path()), Some(path("mmap-lock.json")));
        assert_eq!(record_in(&path("missing")), None);
    }
}
