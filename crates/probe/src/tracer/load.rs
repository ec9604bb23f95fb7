//! Loads the programs that this kernel supports.

use super::object::types::rodata;
use super::object::{EvidenceSkel, EvidenceSkelBuilder, OpenEvidenceSkel};
use crate::SessionOptions;
use crate::refused::refused;
use crate::tracepoint::arguments;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Func;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, ProgramMut};
use model::not_seen::{EvidenceSource, NoPrograms, NotSeen, ProgramPart, Sees};
use os::time;
use std::mem::MaybeUninit;

/// The memory where the loader keeps the object.
pub type Room = MaybeUninit<libbpf_rs::OpenObject>;

/// The loaded programs, and which of them are loaded.
pub struct Loaded<'a> {
    /// The object.
    pub skel: EvidenceSkel<'a>,
    /// Keeps the programs attached.
    pub links: Vec<Link>,
    /// Whether the tracepoints of the lock also pass the name of the memory group.
    grouped: bool,
    /// The options, without those that this kernel does not support.
    pub options: SessionOptions,
    /// The sources of evidence that the programs provide.
    pub sources: Vec<EvidenceSource>,
    /// What cannot be seen, and why.
    pub missing: Vec<NotSeen>,
}

/// A tracepoint that the programs use: its name in the kernel, and its purpose.
struct Point {
    name: &'static str,
    sees: Sees,
}

const POINTS: [Point; 7] = [
    Point { name: "sched_switch", sees: Sees::Scheduler },
    Point { name: "sched_waking", sees: Sees::Scheduler },
    Point { name: "mmap_lock_start_locking", sees: Sees::MmapLock },
    Point { name: "mmap_lock_acquire_returned", sees: Sees::MmapLock },
    Point { name: "mmap_lock_released", sees: Sees::MmapLock },
    Point { name: "sys_enter", sees: Sees::Futex },
    Point { name: "sys_exit", sees: Sees::Futex },
];

/// The kernel function that ends the throttling of a group on a CPU.
const UNTHROTTLE: &str = "unthrottle_cfs_rq";

/// Loads and attaches the programs that this kernel supports.
///
/// # Errors
/// If the scheduler's tracepoints are not available; without them there is no evidence.
pub fn load<'a>(
    options: &SessionOptions,
    rooms: &'a mut [Room; 2],
) -> Result<Loaded<'a>, NoPrograms> {
    libbpf_rs::set_print(None);
    let btf = Btf::from_vmlinux().map_err(|error| refused(ProgramPart::Btf, &error))?;
    let [first, second] = rooms;
    // A kernel may list a function and still refuse programs on it; some kernels refuse them on
    // all functions.
    if options.quota
        && btf.type_by_name::<Func>(UNTHROTTLE).is_some()
        && let Ok(loaded) = load_from(options, &btf, true, first)
    {
        return Ok(loaded);
    }
    load_from(options, &btf, false, second)
}

fn load_from<'a>(
    options: &SessionOptions,
    btf: &Btf,
    unthrottle: bool,
    room: &'a mut Room,
) -> Result<Loaded<'a>, NoPrograms> {
    let builder = EvidenceSkelBuilder::default();
    let mut open = builder.open(room).map_err(|error| refused(ProgramPart::Programs, &error))?;
    if let Some(rodata) = open.maps.rodata_data.as_deref_mut() {
        set(rodata, options);
    }
    let has = |point: &Point| arguments(btf, point.name).is_some();
    let wanted = |sees: Sees| match sees {
        Sees::Scheduler => true,
        Sees::MmapLock => options.lock,
        Sees::Futex => options.futex,
    };
    let can = |sees: Sees| wanted(sees) && POINTS.iter().filter(|p| p.sees == sees).all(has);
    // With the group, the arguments are context, address space, group, write; without it there
    // are three.
    let grouped = arguments(btf, "mmap_lock_released").is_some_and(|count| count >= 4);
    choose(&mut open, &can, grouped);
    open.progs.on_unthrottle.set_autoload(unthrottle);
    let skel = open.load().map_err(|error| refused(ProgramPart::Programs, &error))?;
    let mut loaded = Loaded {
        skel,
        grouped,
        links: Vec::new(),
        options: SessionOptions { futex: false, ..options.clone() },
        sources: Vec::new(),
        missing: Vec::new(),
    };
    if unthrottle {
        loaded.attach_unthrottle()?;
    } else if options.quota {
        loaded.missing.push(NotSeen::QuotaReturn);
    }
    for sees in [Sees::Scheduler, Sees::MmapLock, Sees::Futex] {
        if can(sees) {
            loaded.attach(sees)?;
        } else if wanted(sees) {
            loaded.missing.push(NotSeen::NoTracepoint(sees));
        }
    }
    Ok(loaded)
}

fn set(rodata: &mut rodata, options: &SessionOptions) {
    rodata.threshold_ns = time::whole_ns(options.threshold);
    rodata.quota = options.quota;
    rodata.futex_number = u32::try_from(libc::SYS_futex).unwrap_or(u32::MAX);
    for (place, number) in rodata.poll_numbers.iter_mut().zip(POLLS) {
        *place = u32::try_from(number).unwrap_or(u32::MAX);
    }
}

/// System calls that wait for input; -1 if the architecture has no such call.
#[cfg(target_arch = "x86_64")]
const POLLS: [i64; 6] = [
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
];
#[cfg(not(target_arch = "x86_64"))]
const POLLS: [i64; 6] = [libc::SYS_epoll_pwait, libc::SYS_ppoll, libc::SYS_pselect6, -1, -1, -1];

/// Leaves out the programs that this kernel does not support; of two variants it keeps one.
fn choose(open: &mut OpenEvidenceSkel, can: &dyn Fn(Sees) -> bool, grouped: bool) {
    let progs = &mut open.progs;
    progs.on_switch.set_autoload(can(Sees::Scheduler));
    progs.on_waking.set_autoload(can(Sees::Scheduler));
    progs.on_lock_start.set_autoload(can(Sees::MmapLock) && !grouped);
    progs.on_lock_start_group.set_autoload(can(Sees::MmapLock) && grouped);
    progs.on_lock_returned.set_autoload(can(Sees::MmapLock) && !grouped);
    progs.on_lock_returned_group.set_autoload(can(Sees::MmapLock) && grouped);
    progs.on_lock_released.set_autoload(can(Sees::MmapLock));
    progs.on_syscall.set_autoload(can(Sees::Futex));
    progs.on_syscall_end.set_autoload(can(Sees::Futex));
}

impl Loaded<'_> {
    fn attach_unthrottle(&mut self) -> Result<(), NoPrograms> {
        let attached = self.skel.progs.on_unthrottle.attach();
        self.links.push(
            attached.map_err(|error| refused(ProgramPart::Hook(UNTHROTTLE.to_owned()), &error))?,
        );
        self.sources.push(EvidenceSource::QuotaReturn);
        Ok(())
    }

    /// Attaches the programs for one kind of evidence. If that fails, only this evidence is
    /// missing.
    fn attach(&mut self, sees: Sees) -> Result<(), NoPrograms> {
        let progs = &mut self.skel.progs;
        let programs: Vec<&mut ProgramMut> = match sees {
            Sees::Scheduler => vec![&mut progs.on_switch, &mut progs.on_waking],
            Sees::MmapLock => vec![
                if self.grouped {
                    &mut progs.on_lock_start_group
                } else {
                    &mut progs.on_lock_start
                },
                if self.grouped {
                    &mut progs.on_lock_returned_group
                } else {
                    &mut progs.on_lock_returned
                },
                &mut progs.on_lock_released,
            ],
            Sees::Futex => vec![&mut progs.on_syscall, &mut progs.on_syscall_end],
        };
        let links: Result<Vec<Link>, _> = programs.into_iter().map(|prog| prog.attach()).collect();
        match links {
            Ok(links) => {
                self.links.extend(links);
                self.options.futex |= sees == Sees::Futex;
                self.sources.push(EvidenceSource::Probe(sees));
                Ok(())
            }
            Err(error) if sees == Sees::Scheduler => {
                Err(refused(ProgramPart::Hook("sched_switch".to_owned()), &error))
            }
            Err(error) => {
                self.missing.push(NotSeen::NotAttached { sees, why: format!("{error:#}") });
                Ok(())
            }
        }
    }
}
