//! Loads the programs that this kernel supports.

use super::object::{OpenWatchSkel, WatchSkel, WatchSkelBuilder};
use super::per_cpu;
use super::samples;
use super::seen::Seen;
use crate::refused::refused;
use crate::symbols::Symbols;
use crate::tracepoint::arguments;
use host::Roots;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Error, ErrorKind, Iter, Link, ProgramMut};
use model::not_seen::{NoPrograms, ProgramPart};
use std::io;
use std::mem::MaybeUninit;

/// The memory where the loader keeps the object.
type Room = MaybeUninit<libbpf_rs::OpenObject>;

/// Tracepoints of the lock of an address space, and of waits for any lock.
const OF_LOCK: [&str; 3] =
    ["mmap_lock_start_locking", "mmap_lock_acquire_returned", "mmap_lock_released"];

/// Tracepoints of direct reclaim.
const OF_RECLAIM: [&str; 4] = [
    "mm_vmscan_direct_reclaim_begin",
    "mm_vmscan_direct_reclaim_end",
    "mm_vmscan_memcg_reclaim_begin",
    "mm_vmscan_memcg_reclaim_end",
];

/// Tracepoints of compaction; a kernel without huge pages may lack them.
const OF_COMPACTION: [&str; 2] = ["mm_compaction_begin", "mm_compaction_end"];

/// Tracepoint of a process that was moved into another control group.
const OF_MOVE: &str = "cgroup_attach_task";

/// The loaded programs, and their links.
pub struct Loaded {
    /// The object.
    pub skel: WatchSkel<'static>,
    /// Keeps the programs attached.
    pub links: Vec<Link>,
    /// Keeps the clocks of the samples; empty if there are no samples.
    pub samples: Vec<Link>,
    /// What the programs can see.
    pub seen: Seen,
    /// Whether the kernel has had no journal (jbd2) so far, so that it is looked for again.
    pub awaits_journal: bool,
    /// Number of possible CPUs.
    pub cpus: u32,
}

/// Which tracepoints this kernel has.
#[derive(Clone, Copy)]
struct Has {
    lock: bool,
    /// Whether the tracepoints of the lock also pass the name of the memory group.
    grouped: bool,
    contention: bool,
    /// Whether direct reclaim can be seen.
    reclaim: bool,
    /// Whether direct compaction can be seen.
    compaction: bool,
    /// Whether the sleep in a move between control groups can be told from other sleep.
    moves: bool,
    /// Whether the programs can tell who wakes a thread. Without that, commits of journals are not
    /// watched.
    journal: bool,
    /// Address ranges of the functions in which threads wait for the lock of a single mapping;
    /// zeros if waiters cannot be recognized that way.
    waiters: [(u64, u64); WAITERS],
}

/// Most functions that wait for the lock of a single mapping.
const WAITERS: usize = 4;

/// Whether a function of the kernel waits for the lock of a single mapping.
fn waits_for_mapping(name: &str) -> bool {
    let begins = ["__vma_start_", "__vma_enter_", "__vma_exclude_"];
    begins.iter().any(|begin| name.starts_with(begin)) || name == "vma_mark_detached"
}

/// Loads and attaches the programs. If a PID namespace is given, process ids are those of that
/// namespace.
///
/// # Errors
/// If the tracepoints of the scheduler cannot be had.
pub fn load(roots: &Roots, namespace: Option<u32>) -> Result<Loaded, NoPrograms> {
    libbpf_rs::set_print(None);
    let btf = Btf::from_vmlinux().map_err(|error| refused(ProgramPart::Btf, &error))?;
    let there = |name: &str| arguments(&btf, name).is_some();
    let mut has = Has {
        lock: OF_LOCK.iter().all(|name| there(name)),
        // With the group, the arguments are context, address space, group, write; without it
        // there are three.
        grouped: arguments(&btf, "mmap_lock_released").is_some_and(|count| count >= 4),
        contention: there("contention_begin") && there("contention_end"),
        reclaim: OF_RECLAIM.iter().all(|name| there(name)),
        compaction: OF_COMPACTION.iter().all(|name| there(name)),
        moves: there(OF_MOVE) && has_helper(&btf),
        journal: tells_wakers(&btf),
        waiters: [(0, 0); WAITERS],
    };
    let has_mapping_lock = has_field(&btf, "vm_area_struct", "vm_refcnt");
    if has_mapping_lock {
        let found = Symbols::read(roots).ranges(waits_for_mapping);
        has.waiters.iter_mut().zip(found).for_each(|(place, range)| *place = range);
    }
    match attach(&btf, has, namespace) {
        // A kernel may describe a tracepoint and still refuse a program on it.
        Err(_) if has.lock || has.reclaim || has.compaction || has.moves || has.journal => {
            let less = Has {
                lock: false,
                contention: false,
                reclaim: false,
                compaction: false,
                moves: false,
                journal: false,
                ..has
            };
            attach(&btf, less, namespace)
        }
        done => done,
    }
}

fn attach(btf: &Btf, has: Has, namespace: Option<u32>) -> Result<Loaded, NoPrograms> {
    // The object lives as long as this process. The process loads it once, or twice if the kernel
    // refuses the first attempt.
    let room: &'static mut Room = Box::leak(Box::new(Room::uninit()));
    let mut open = WatchSkelBuilder::default()
        .open(room)
        .map_err(|error| refused(ProgramPart::Programs, &error))?;
    let cpus = u32::try_from(libbpf_rs::num_possible_cpus().unwrap_or(1)).unwrap_or(1).max(1);
    let sized = (open.maps.cpus.set_max_entries(cpus))
        .and_then(|()| open.maps.pairs.set_max_entries(cpus.saturating_mul(2)));
    sized.map_err(|error| refused(ProgramPart::Table, &error))?;
    if let Some(rodata) = open.maps.rodata_data.as_deref_mut() {
        rodata.cpus_known = cpus;
        rodata.namespace = namespace.unwrap_or(0);
        rodata.contention = has.contention;
        rodata.depth_behind_queue = per_cpu::depth_behind_queue(btf).unwrap_or(0);
        for (place, (from, to)) in rodata.waiters.iter_mut().zip(has.waiters) {
            (place.from, place.to) = (from, to);
        }
    }
    choose(&mut open, has);
    let skel = open.load().map_err(|error| refused(ProgramPart::Programs, &error))?;
    let field = |field: &str| has_field(btf, "cfs_rq", field);
    let mut loaded = Loaded {
        skel,
        links: Vec::new(),
        samples: Vec::new(),
        awaits_journal: has.journal,
        cpus,
        seen: Seen {
            lock: has.lock,
            reclaim: has.reclaim,
            moves: has.moves,
            journal: false,
            file: has.lock && has_helper(btf),
            calls: has_helper(btf),
            throttled: field("throttled_clock_self_time")
                || field("throttled_clock_pelt_time")
                || field("throttled_clock_task_time"),
            samples: false,
            mapping: has_field(btf, "vm_area_struct", "vm_refcnt")
                .then_some(has.lock && has.waiters[0].1 > 0),
            namespaced: namespace.is_some(),
        },
    };
    loaded.attach(has)?;
    loaded.look_for_journal();
    loaded.begin()?;
    loaded.sample();
    loaded.seen.samples = !loaded.samples.is_empty();
    Ok(loaded)
}

fn choose(open: &mut OpenWatchSkel, has: Has) {
    let progs = &mut open.progs;
    progs.watch_lock_start.set_autoload(has.lock && !has.grouped);
    progs.watch_lock_start_group.set_autoload(has.lock && has.grouped);
    progs.watch_lock_returned.set_autoload(has.lock && !has.grouped);
    progs.watch_lock_returned_group.set_autoload(has.lock && has.grouped);
    progs.watch_lock_released.set_autoload(has.lock);
    progs.watch_reclaim.set_autoload(has.reclaim);
    progs.watch_reclaim_end.set_autoload(has.reclaim);
    progs.watch_group_reclaim.set_autoload(has.reclaim);
    progs.watch_group_reclaim_end.set_autoload(has.reclaim);
    progs.watch_compaction.set_autoload(has.compaction);
    progs.watch_compaction_end.set_autoload(has.compaction);
    progs.watch_move.set_autoload(has.moves);
    progs.watch_commit.set_autoload(has.journal);
    progs.watch_commit_end.set_autoload(has.journal);
    progs.watch_contention.set_autoload(has.lock && has.contention);
    progs.watch_contention_end.set_autoload(has.lock && has.contention);
}

/// Whether a structure of the kernel has a field of this name.
fn has_field(btf: &Btf, of: &str, field: &str) -> bool {
    let of = btf.type_by_name::<Struct>(of);
    of.is_some_and(|of| of.iter().any(|member| member.name.is_some_and(|name| name == field)))
}

/// Whether the programs can tell a wake-up by a task from a wake-up by an interrupt that runs on
/// top of it.
fn tells_wakers(btf: &Btf) -> bool {
    let is_known = || {
        let depth = per_cpu::depth_behind_queue(btf);
        depth.is_some_and(|depth| depth != 0) && has_field(btf, "sched_entity", "cfs_rq")
    };
    // Elsewhere than on x86, the depth is in the task itself.
    cfg!(not(target_arch = "x86_64")) || has_helper(btf) || is_known()
}

/// Whether a program may read the registers of the task that it interrupts; since Linux 5.15.
fn has_helper(btf: &Btf) -> bool {
    use libbpf_rs::btf::types::Enum;
    let all = btf.type_by_name::<Enum>("bpf_func_id");
    all.is_some_and(|all| {
        all.iter().any(|one| one.name.is_some_and(|name| name == "BPF_FUNC_task_pt_regs"))
    })
}

impl Loaded {
    /// Starts to sample threads, with a clock on each CPU that is online.
    pub fn sample(&mut self) {
        // Old and new clocks together would need twice as many descriptors.
        self.samples.clear();
        let program = &self.skel.progs.watch_sample;
        self.samples = samples::attach(program, self.cpus, samples::FREQUENCY);
    }

    /// Starts the wait of threads that are runnable already: no later wake-up would show them.
    fn begin(&mut self) -> Result<(), NoPrograms> {
        let refused = |error| refused(ProgramPart::Hook("watch_begin".to_owned()), &error);
        let link = self.skel.progs.watch_begin.attach().map_err(refused)?;
        let mut threads = Iter::new(&link).map_err(refused)?;
        // The iterator writes nothing; reading it runs the program for each thread. Without it
        // little is missing.
        let _ = io::copy(&mut threads, &mut io::sink());
        Ok(())
    }

    fn attach(&mut self, has: Has) -> Result<(), NoPrograms> {
        let progs = &mut self.skel.progs;
        let mut programs: Vec<&mut ProgramMut> = vec![
            &mut progs.watch_switch,
            &mut progs.watch_waking,
            &mut progs.watch_wakeup,
            &mut progs.watch_wakeup_new,
            &mut progs.watch_migrate,
            &mut progs.watch_exec,
        ];
        // End programs are attached before begin programs: an end without a beginning is not
        // counted, but a beginning whose end is missed would never end.
        if has.lock {
            programs.push(&mut progs.watch_lock_released);
            programs.extend(match has.grouped {
                true => [&mut progs.watch_lock_returned_group, &mut progs.watch_lock_start_group],
                false => [&mut progs.watch_lock_returned, &mut progs.watch_lock_start],
            });
        }
        if has.lock && has.contention {
            programs.extend([&mut progs.watch_contention_end, &mut progs.watch_contention]);
        }
        if has.reclaim {
            programs.extend([
                &mut progs.watch_reclaim_end,
                &mut progs.watch_reclaim,
                &mut progs.watch_group_reclaim_end,
                &mut progs.watch_group_reclaim,
            ]);
        }
        if has.compaction {
            programs.extend([&mut progs.watch_compaction_end, &mut progs.watch_compaction]);
        }
        if has.moves {
            programs.push(&mut progs.watch_move);
        }
        for program in programs {
            let name = program.name().to_string_lossy().into_owned();
            let link =
                program.attach().map_err(|error| refused(ProgramPart::Hook(name), &error))?;
            self.links.push(link);
        }
        Ok(())
    }

    /// Watches commits of journals from then on, if the kernel has a journal. The tracepoints are
    /// in jbd2, which often is a module: the kernel loads it with the first file system that needs
    /// it. Until then nobody sleeps for a commit.
    pub fn look_for_journal(&mut self) {
        if !self.awaits_journal {
            return;
        }
        let progs = &self.skel.progs;
        // The end comes first, as above.
        let ends = progs.watch_commit_end.attach();
        let both = ends.and_then(|ends| Ok([ends, progs.watch_commit.attach()?]));
        self.awaits_journal = both.as_ref().is_err_and(is_absent);
        self.seen.journal = self.awaits_journal || both.is_ok();
        self.links.extend(both.into_iter().flatten());
    }
}

/// Whether the kernel has no such tracepoint; else it refuses the program.
fn is_absent(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::ErrorExt;

    #[test]
    fn a_tracepoint_that_is_not_there_is_told_from_one_that_is_refused() {
        let of = |code| Error::from(io::Error::from_raw_os_error(code)).context("attaching");
        assert!(is_absent(&of(libc::ENOENT)));
        for code in [libc::EPERM, libc::EACCES, libc::EINVAL, libc::ENOMEM] {
            assert!(!is_absent(&of(code)), "{code}");
        }
    }
}
