//! `tailback watch` as root, with programs, libraries and names that other users wrote.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{BINARY, Place, Ran, Running, turn};
use rustix::fs::inotify;
use rustix::process::Signal;
use serde_json::Value;
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testing::{has_or_skip, root_or_skip};

/// A program that waits actively.
const SPIN: &str = "int main(void) { for (;;) __asm__ volatile(\"pause\"); }";

/// A process with a thread that has the name of an Erlang VM scheduler and runs code of a
/// library. With a second path, it removes the library. Then it makes a link to that path, with
/// the name of the library that maps shows.
const NODE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
static void (*spin)(long);
/* Here the VM would count the passes of its schedulers. */
volatile unsigned long erts_thr_prgr__[8];
static void *scheduler(void *none) {
    prctl(PR_SET_NAME, "erts_sched_1");
    for (;;) spin(400000000L);
}
int main(int count, char **words) {
    pthread_t thread;
    void *library = dlopen(words[1], RTLD_NOW);
    if (!library) return 1;
    spin = (void (*)(long)) dlsym(library, "spin_here");
    prctl(PR_SET_NAME, "beam.smp");
    pthread_create(&thread, 0, scheduler, 0);
    if (count > 2) {
        char name[4096];
        snprintf(name, sizeof name, "%s (deleted)", words[1]);
        unlink(words[1]);
        if (symlink(words[2], name)) return 2;
    }
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}"#;

/// Its library.
const LIBRARY: &str = "void spin_here(long n) { volatile long x = 0; while (n--) x += n; }";

/// Users without privileges.
const EVE: u32 = 65_534;
const ADAM: u32 = 65_533;

/// A process of another user. It ends with the test.
struct Stranger(Child);

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Stranger {
    fn start(user: u32, program: &Path, words: &[&Path]) -> Self {
        let (uid, gid) = (format!("--reuid={user}"), format!("--regid={user}"));
        let mut command = Command::new("setpriv");
        command.args([&uid, &gid, "--clear-groups", program.to_str().unwrap()]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Stranger(command.spawn().unwrap())
    }

    /// Waits until it has printed that it is ready.
    fn ready(mut self) -> Self {
        let mut line = String::new();
        let mut out = std::io::BufReader::new(self.0.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert_eq!(line, "ready\n");
        self
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

/// Compiles a source into a file that every user may read and execute.
fn compile(place: &Place, source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let (text, program) = (place.path(&format!("{name}.c")), place.path(name));
    std::fs::write(&text, source).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.arg("-O1").args(flags).arg("-o").arg(&program).arg(&text).args(["-pthread", "-ldl"]);
    assert!(gcc.status().unwrap().success());
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn library(place: &Place, name: &str) -> PathBuf {
    compile(place, LIBRARY, name, &["-shared", "-fPIC"])
}

/// Turns a program into a file of 3 GiB. Its symbol table has nearly that size.
fn inflate(program: &Path) {
    let size: u64 = 3 << 30;
    let mut bytes = std::fs::read(program).unwrap();
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    let headers = bytes.len() as u64;
    bytes[40..48].copy_from_slice(&headers.to_le_bytes());
    let counts = [64_u16, 3, 2].map(u16::to_le_bytes).concat();
    bytes[58..64].copy_from_slice(&counts);
    let symbols = (size - 65_536) / 24 * 24 - 24_000;
    for (kind, offset, length, link, each) in
        [(0_u32, 0, 0, 0_u32, 0_u64), (2, 65_536, symbols, 2, 24), (3, 65_536, 4_096, 0, 0)]
    {
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        [0, 0, offset, length].iter().for_each(|word: &u64| bytes.extend(word.to_le_bytes()));
        bytes.extend(link.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        [8, each].iter().for_each(|word: &u64| bytes.extend(word.to_le_bytes()));
    }
    // Another process writes it, for the same reason as in `testing::write_program`.
    let start = program.with_extension("start");
    std::fs::write(&start, bytes).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat \"$1\" >\"$2\" && truncate -s \"$3\" \"$2\"", "sh"]);
    shell.arg(&start).arg(program).arg(size.to_string());
    assert!(shell.status().unwrap().success());
}

/// Watches until a line fits.
fn watch<'a>(place: &'a Place, words: &[&str], is_wanted: &dyn Fn(&Value) -> bool) -> Running<'a> {
    watch_and_look(place, words, is_wanted, &mut |_| {})
}

/// Watches until a line fits. Meanwhile calls `look` with the number of the process.
fn watch_and_look<'a>(
    place: &'a Place,
    words: &[&str],
    is_wanted: &dyn Fn(&Value) -> bool,
    look: &mut dyn FnMut(u32),
) -> Running<'a> {
    let mut command = place.program(BINARY);
    command.args(["watch", "--json"]).args(words);
    let running = place.start(command);
    common::wait_for("a line as wanted", || {
        look(running.pid());
        let lines = lines(place);
        lines.iter().any(|live| !has_scheduler(live) || is_wanted(live)).then_some(())
    });
    running
}

/// The complete lines of the output.
fn lines(place: &Place) -> Vec<Value> {
    let text = std::fs::read_to_string(place.path("out")).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap()["live"].clone();
    whole.lines().map(read).collect()
}

fn has_scheduler(live: &Value) -> bool {
    live["sources"][0]["missing"].is_null()
}

/// Whether a finding names this function.
fn names(live: &Value, function: &str) -> bool {
    let mut findings = live["findings"].as_array().unwrap().iter();
    findings.any(|finding| finding["facts"]["place"]["symbol"] == function)
}

/// The PIDs of the nodes in a line.
fn nodes(live: &Value) -> Vec<u64> {
    let nodes = live["nodes"].as_array().into_iter().flatten();
    nodes.filter_map(|node| node["program"]["pid"].as_u64()).collect()
}

fn last(ran: &Ran) -> Value {
    ran.assert_no_panic();
    let last = ran.out.lines().last().unwrap_or_else(|| panic!("{ran:?}"));
    serde_json::from_str::<Value>(last).unwrap()["live"].clone()
}

fn end(running: Running) -> Value {
    running.signal(Signal::TERM);
    last(&running.end())
}

fn has_programs(live: &Value) -> bool {
    has_or_skip(live["sources"][0]["missing"].is_null(), &live["sources"][0])
}

/// A line of `status` of a process or a thread.
fn status(of: &str, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{of}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_default().trim().to_owned()
}

/// The peak memory of a process, in KiB.
fn peak(pid: u32) -> u64 {
    let text = status(&pid.to_string(), "VmHWM:");
    text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[test]
fn a_huge_program_that_spins_takes_neither_memory_nor_time() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let program = compile(&place, SPIN, "spin", &[]);
    inflate(&program);
    let spinner = Stranger::start(EVE, &program, &[]);
    let spins = |live: &Value| live["over_ns"].as_u64() > Some(3_500_000_000);
    // The reader, and the workers that it starts to read a file.
    let mut readers = Vec::new();
    let mut most_below = 0_u64;
    let mut look = |pid: u32| {
        for process in common::processes::below(pid) {
            most_below = most_below.max(peak(process.pid));
            let is_reader = process.parent == pid && process.name == "tailback-reader";
            if is_reader && !readers.contains(&process.pid) {
                readers.push(process.pid);
            }
        }
    };
    let running = watch_and_look(&place, &[], &spins, &mut look);
    look(running.pid());
    let most = peak(running.pid()).max(most_below);
    let last = readers.last().copied().and_then(common::processes::at);
    let live = end(running);
    drop(spinner);
    assert!(has_programs(&live) && most < 256 << 10, "{most} KiB");
    assert!(most_below > 0 && readers.len() == 1 && last.is_some(), "{readers:?} {last:?}");
}

#[test]
fn a_library_is_the_file_that_is_mapped_and_not_what_its_name_means_now() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let program = compile(&place, NODE, "node", &["-rdynamic"]);
    let shared = place.path("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o777)).unwrap();
    let file = library(&place, "shared/t.so");
    // Only root may open the pipe, and the test sees who opens it.
    let pipe = place.path("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let events = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&events, &pipe, inotify::WatchFlags::OPEN).unwrap();
    let node = Stranger::start(EVE, &program, &[&file, &pipe]).ready();
    // The name of the library is gone, but its function is still named.
    let running = watch(&place, &[], &|live| names(live, "spin_here"));
    let live = end(running);
    drop(node);
    if !has_programs(&live) {
        return;
    }
    let mut room = [MaybeUninit::uninit(); 4096];
    let mut seen = inotify::Reader::new(&events, &mut room);
    assert!(seen.next().is_err(), "the pipe behind the link was opened");
}

#[test]
fn nodes_that_one_user_pretends_keep_no_other_out() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let program = compile(&place, NODE, "node", &["-rdynamic"]);
    let file = library(&place, "t.so");
    let many: Vec<Stranger> =
        (0..20).map(|_| Stranger::start(EVE, &program, &[&file]).ready()).collect();
    let one = Stranger::start(ADAM, &program, &[&file]).ready();
    let one_of_many = |pids: &[u64]| many.iter().any(|it| pids.contains(&u64::from(it.pid())));
    let both = |live: &Value| {
        let pids = nodes(live);
        pids.contains(&u64::from(one.pid())) && one_of_many(&pids)
    };
    end(watch(&place, &[], &both));
}

#[test]
fn once_it_watches_it_has_the_privileges_of_its_programs_and_no_other() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let running = watch(&place, &["--listen", "127.0.0.1:0"], &|_| true);
    let pid = running.pid();
    let of_programs: u64 = 1 << 38 | 1 << 39;
    let tasks: Vec<_> = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten().collect();
    assert!(tasks.len() >= 3, "{tasks:?}");
    for task in tasks {
        let of = format!("{pid}/task/{}", task.file_name().to_str().unwrap());
        let has = u64::from_str_radix(&status(&of, "CapEff:"), 16).unwrap();
        let allowed = if status(&of, "Name:") == "sampler" { of_programs } else { 0 };
        assert_eq!(has & !allowed, 0, "{of}: {has:x}");
        assert_eq!((status(&of, "NoNewPrivs:"), status(&of, "Seccomp:")), ("1".into(), "2".into()));
    }
    let mut below = common::processes::below(pid);
    // While another program spins, the reader now and then has a worker, which ends by itself.
    below.retain(|process| process.parent == pid);
    let [reader] = &below[..] else { panic!("not one reader: {below:?}") };
    let reader = reader.pid;
    let has = u64::from_str_radix(&status(&reader.to_string(), "CapEff:"), 16).unwrap();
    let needed = [2, 5, 6, 7, 19, 21, 40].iter().fold(0_u64, |all, bit| all | 1 << bit);
    assert_eq!(has & !needed, 0, "{has:x}");
    assert_ne!(has & 1 << 5, 0, "without CAP_KILL it cannot kill a worker that became nobody");
    // It continues without the reader, and leaves no reader behind.
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(reader.cast_signed()).unwrap(),
        Signal::KILL,
    )
    .unwrap();
    let before = lines(&place).len();
    common::wait_for("more lines", || (lines(&place).len() > before + 2).then_some(()));
    let family = [below, common::processes::below(pid)].concat();
    end(running);
    common::processes::wait_until_all_gone(&family);
}

#[test]
fn without_proc_nothing_is_said_to_be_well() {
    if !root_or_skip() {
        return;
    }
    let place = Place::new();
    let mut command = place.program("unshare");
    let script = "mount -t tmpfs none /proc && exec \"$0\" watch --for 1s";
    command.args(["-m", "sh", "-c", script, BINARY]);
    let ran = place.run(command);
    assert!(ran.code() == 3 && ran.err.contains("/proc") && ran.out.is_empty(), "{ran:?}");
}
