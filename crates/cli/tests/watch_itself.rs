//! The effects of `tailback watch` on the machine: what it refuses, calls, writes and leaves, and
//! its limits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::watching::{Load, assert_parts_add_up, has_programs, seen};
use common::{BINARY, Place, turn};
use host::cgroup::{BandwidthGroup, ParentGroup};
use libbpf_rs::query;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use testing::{has_or_skip, root_or_skip};

#[test]
fn wrong_words_are_refused_with_what_is_wrong() {
    common::assert_refused(
        &["watch"],
        &[
            (&["--for", "1s", "--pid", "4194305"], 2, "no such process"),
            (&["--for", "never"], 2, "never"),
            (&["--for", "1s", "--pid", "0"], 2, "0"),
            (&[], 2, "--for 30s"),
            (&["--for", "1s", "--ring", "1MiB"], 2, "--record FILE"),
        ],
    );
}

/// System calls that could stop or change a process or read it under its locks. Also system calls
/// whose effect outlives this process.
const FORBIDDEN: &[&str] = &[
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kill",
    "tgkill",
    "tkill",
    "rt_sigqueueinfo",
    "pidfd_send_signal",
    "pidfd_getfd",
    "setpriority",
    "sched_setscheduler",
    "sched_setattr",
    "ioprio_set",
    "mkdir",
    "mkdirat",
    "rmdir",
    "mknod",
    "mknodat",
    "symlink",
    "symlinkat",
    "truncate",
    "chmod",
    "fchmodat",
    "chown",
    "fchownat",
    "setxattr",
    "utimensat",
    "mount",
    "umount2",
    "fsopen",
    "execve",
    "connect",
    "sendto",
    "sendmsg",
    "init_module",
    "finit_module",
];

/// System calls that name a file.
const NAMING: &[&str] =
    &["link", "linkat", "rename", "renameat", "renameat2", "unlink", "unlinkat"];

/// Files of /proc/PID that the kernel produces under a lock of the process.
const UNDER_LOCK: &[&str] = &[
    "smaps",
    "smaps_rollup",
    "maps",
    "numa_maps",
    "cmdline",
    "environ",
    "pagemap",
    "mem",
    "auxv",
    "map_files",
    "clear_refs",
    "stack",
    "syscall",
];

/// Splits a line of strace into the call and its arguments.
fn call(line: &str) -> Option<(&str, &str)> {
    line.split_once(' ')?.1.trim_start().split_once('(')
}

/// Another process and its file in the arguments of a call, by its path or below an open folder.
fn file_of_process(given: &str, own: u32) -> Option<(u32, &str)> {
    let (folder, rest) = given.split_once('"')?;
    let name = rest.split_once('"')?.0;
    let (pid, file) = match name.strip_prefix("/proc/") {
        Some(path) => path.split_once('/')?,
        None => (folder.split_once("</proc/")?.1.split_once('>')?.0, name),
    };
    let pid: u32 = pid.parse().ok()?;
    (pid != own).then(|| (pid, file.rsplit('/').next().unwrap_or(file)))
}

/// Whether this process is an Erlang node. Its flags and its memory map are read.
fn is_node(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim_end() == "beam.smp")
}

/// The processes in a trace that are the reader or its workers. The reader is started as a
/// program, and it ends the workers that it forks.
fn readers(trace: &str) -> BTreeSet<&str> {
    let mut all = BTreeSet::new();
    for line in trace.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let call = rest.trim_start();
        if call.starts_with("execve(\"/proc/self/exe\", [\"tailback\", \"reader\"]") {
            all.insert(pid);
        }
        let forked = all.contains(pid) && ["clone(", "fork("].iter().any(|it| call.starts_with(it));
        if let (true, Some((_, child))) = (forked, call.rsplit_once("= ")) {
            all.insert(child);
        }
    }
    all
}

#[test]
fn it_writes_its_record_and_nothing_else() {
    let place = Place::new();
    let works = place.program("strace").arg("-V").output().is_ok();
    if !has_or_skip(works, "needs strace") || !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let (trace, record) = (place.path("trace"), place.path("kept.json"));
    let mut command = place.program("strace");
    command.args(["-f", "-y", "-qq", "-o", trace.to_str().unwrap(), BINARY, "watch"]);
    // With strace, the first interval takes long on a busy machine.
    command.args(["--for", "5s", "--record", record.to_str().unwrap()]);
    let ran = place.run(command);
    assert!([0, 1].contains(&ran.code()), "{ran:?}");
    let trace = std::fs::read_to_string(trace).unwrap();
    let own: u32 = trace.split(' ').next().unwrap().parse().unwrap();
    let folder = record.parent().unwrap().to_str().unwrap();
    let readers = readers(&trace);
    assert!(!readers.is_empty(), "no reader");
    let mut read = 0;
    // The first call starts the program itself.
    for line in trace.lines().skip(1) {
        let is_reader = line.split_once(' ').is_some_and(|(pid, _)| readers.contains(pid));
        let Some((call, given)) = call(line) else { continue };
        let fine = is_reader && ["execve", "kill"].contains(&call);
        // Messages to and from the reader. Nothing connects to anything else.
        let fine = fine || call == "sendto" && given.contains("<socket:");
        assert!(fine || !FORBIDDEN.contains(&call), "{call}({given}");
        assert!(!NAMING.contains(&call) || given.contains(folder), "{call}({given}");
        let creates = ["O_WRONLY", "O_RDWR", "O_CREAT"].iter().any(|flag| given.contains(flag));
        let creates = creates && !given.contains("\"/dev/null\"");
        let opens = ["open", "openat", "openat2", "creat"].contains(&call);
        assert!(!(opens && creates) || given.contains(folder), "{call}({given}");
        // A program that stays in the kernel would be pinned by this call.
        assert!(!(call == "bpf" && given.contains("BPF_OBJ_PIN")), "{call}({given}");
        if ["write", "pwrite64", "writev", "ftruncate"].contains(&call) {
            let to = given.split_once('<').map_or("", |(_, to)| to);
            let ways = ["pipe:", "anon_inode:", "socket:", "UNIX"];
            let fine = ways.iter().any(|way| to.starts_with(way));
            assert!(fine || to.starts_with(folder), "{call}({given}");
        }
        if opens && let Some((pid, file)) = file_of_process(given, own) {
            read += 1;
            assert!(!UNDER_LOCK.contains(&file) || is_node(pid), "{call}({given}");
        }
    }
    assert!(read > 0, "no file of a process was read");
    assert!(record.exists());
}

/// The eBPF programs, tables and links of a process, by number.
#[derive(Debug, Default, PartialEq, Eq)]
struct InKernel {
    programs: BTreeSet<u32>,
    tables: BTreeSet<u32>,
    links: BTreeSet<u32>,
}

impl InKernel {
    fn of(pid: u32) -> Self {
        let mut all = InKernel::default();
        for file in common::files(Path::new(&format!("/proc/{pid}/fdinfo"))) {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let number = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|number| number.trim().parse().ok())
            };
            // A link names its program too.
            match number("link_id:") {
                Some(link) => drop(all.links.insert(link)),
                None => all.programs.extend(number("prog_id:")),
            }
            all.tables.extend(number("map_id:"));
        }
        all
    }

    /// The ones that the kernel still has.
    fn left(&self) -> Self {
        let of = |mine: &BTreeSet<u32>, all: BTreeSet<u32>| mine & &all;
        InKernel {
            programs: of(&self.programs, query::ProgInfoIter::default().map(|it| it.id).collect()),
            tables: of(&self.tables, query::MapInfoIter::default().map(|it| it.id).collect()),
            links: of(&self.links, query::LinkInfoIter::default().map(|it| it.id).collect()),
        }
    }
}

#[test]
fn killed_it_leaves_nothing() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let mut command = place.program(BINARY);
    let record = place.path("kept.json");
    command.args(["watch", "--json", "--ring", "1MiB", "--record", record.to_str().unwrap()]);
    let running = place.start(command);
    let out = place.path("out");
    let is_whole = || std::fs::read_to_string(&out).unwrap().contains('\n');
    common::wait_for("a line", || is_whole().then_some(()));
    let had = InKernel::of(running.pid());
    let live: Value =
        serde_json::from_str(std::fs::read_to_string(&out).unwrap().lines().next().unwrap())
            .unwrap();
    if !has_programs(&live["live"]) {
        return;
    }
    assert!(!had.programs.is_empty() && !had.tables.is_empty() && !had.links.is_empty(), "{had:?}");
    assert_eq!(had.left(), had);
    running.signal(rustix::process::Signal::USR1);
    common::wait_for("a record", || running.err().contains("record: ").then_some(()));
    let journal = || common::files(Path::new("/run/tailback"));
    let before = journal();
    let family = common::processes::below(running.pid());
    assert!(!family.is_empty(), "no reader");
    running.signal(rustix::process::Signal::KILL);
    running.end();
    common::processes::wait_until_all_gone(&family);
    common::wait_for("the kernel to let go of it", || {
        (had.left() == InKernel::default()).then_some(())
    });
    assert_eq!(journal(), before);
    // A ring also writes when a finding begins, and never half a record.
    let mut names: Vec<_> = common::files(record.parent().unwrap());
    names.retain(|file| file.is_file() && !file.ends_with("out") && !file.ends_with("err"));
    assert!(names.contains(&record), "{names:?}");
    for file in names {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", file.display());
    }
}

#[test]
fn processes_that_come_and_go_by_the_thousand_are_counted_within_bounds() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let many = "while :; do for i in 1 2 3 4 5 6 7 8; do /bin/true & done; wait; done";
    let parent = ParentGroup::find(&host::Roots::real());
    let group = parent.ok().map(|parent| BandwidthGroup::create(&parent).unwrap());
    let loads = [(); 2].map(|()| Load::start(&["sh", "-c", many]));
    let pids = loads.iter().map(|load| load.0.id());
    pids.for_each(|pid| group.iter().for_each(|group| group.add(pid).unwrap()));
    let began = forks();
    // A slow machine makes its processes in this time too.
    let live = seen(&Place::new().say(&["watch", "--for", "8s", "--json"]));
    let made = forks() - began;
    drop(loads);
    if !has_programs(&live) {
        return;
    }
    assert!(made >= 1000, "only {made} processes");
    assert_parts_add_up(&live);
    let cost: model::live::Cost = serde_json::from_value(live["cost"].clone()).unwrap();
    // The limit is twice the memory after a storm of threads that fills every table, in a debug
    // build.
    assert!(cost.memory_bytes + cost.table_bytes < 192 << 20, "{cost:?}");
    // How many threads find no place depends on the speed of the machine. There must be only few
    // of them.
    assert!(cost.lost_threads * 2 < made, "{made} processes, {cost:?}");
    // However many there were, they belong to one program per load, or to one program of their
    // common group. When a process is looked at while it ends, it has left its group (version 1).
    let victims = live["victims"].as_array().unwrap();
    let same = victims.iter().map(|one| &one["program"]).filter(|one| one["name"] == "true");
    let rows = if group.is_some() { 1 } else { 2 };
    assert!(same.count() <= rows, "{live:#}");
}

/// Number of processes that this machine has created.
fn forks() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let line = stat.lines().find_map(|line| line.strip_prefix("processes "));
    line.unwrap().trim().parse().unwrap()
}
