//! Waits for locks without tracepoints: the kernel stacks of the waiter and of preempted threads
//! show what the waiter waited for.

use crate::event::Event;
use crate::history::History;
use crate::join::{Joined, join_with};
use crate::parts::Parts;
use crate::watched::Role;
use model::evidence::Resource;

/// Names of the functions on kernel stacks.
pub trait Stacks {
    /// The functions of a stack, innermost first; empty if the stack is not known.
    fn names(&self, stack: u32) -> Vec<String>;
}

/// The resource that a thread of `pid` waits for when it sleeps in `function`; None for other
/// functions.
pub fn place(function: &str, pid: u32) -> Option<Resource> {
    /// The lock of a mapping; since Linux 7.0 its functions have other names.
    const OF_MAPPING: [&str; 4] =
        ["vma_start_write", "vma_enter_locked", "vma_start_exclude_readers", "vma_exclude_readers"];
    let starts = |start: &str| function.trim_start_matches('_').starts_with(start);
    if OF_MAPPING.into_iter().any(starts) {
        Some(Resource::MappingLock { pid })
    } else if starts("mem_cgroup_handle_over_high") {
        Some(Resource::MemoryHigh { pid })
    } else if starts("rwsem_down") || starts("rwbase_") {
        // A kernel with PREEMPT_RT has the second name.
        Some(Resource::Semaphore { pid })
    } else {
        starts("mutex_lock").then_some(Resource::Mutex { pid })
    }
}

/// The resource that a thread of `pid` waits for, by its stack, innermost function first; None if
/// the stack does not show it.
pub fn resource(stack: &[String], pid: u32) -> Option<Resource> {
    if is_mmap_lock(stack) {
        return Some(Resource::MmapLock { pid });
    }
    let mapping = Resource::MappingLock { pid };
    let places: Vec<Resource> = stack.iter().filter_map(|name| place(name, pid)).collect();
    // On Linux 6.4 to 6.14 the lock of a mapping is a semaphore, whose functions are further in.
    if places.contains(&mapping) { Some(mapping) } else { places.into_iter().next() }
}

/// Whether a stack, innermost first, waits for the mmap lock: a semaphore that is taken in a
/// function that takes no other semaphore. Kernels before 5.11 have no tracepoint for this lock.
pub fn is_mmap_lock(stack: &[String]) -> bool {
    const TAKERS: [&str; 7] = [
        "vm_mmap_pgoff",
        "vm_munmap",
        "do_mprotect_pkey",
        "do_madvise",
        "do_sys_brk",
        "do_sys_mremap",
        "do_user_addr_fault",
    ];
    let takes = |names: &[String]| {
        let inner = names[0].starts_with("down_write") || names[0].starts_with("down_read");
        let outer = names[1].trim_start_matches('_');
        inner && TAKERS.iter().any(|taker| outer.contains(taker))
    };
    stack.windows(2).any(takes)
}

/// Whether a function on a stack shows that its thread was reading a process's list of mappings,
/// and so may hold the lock of a mapping.
fn reads_mappings(function: &str) -> bool {
    const READERS: [&str; 7] =
        ["m_start", "m_next", "m_stop", "show_map", "show_smap", "show_numa_map", "lock_next_vma"];
    READERS.iter().any(|reader| function.starts_with(reader))
        || function.contains("lock_vma")
        || function.contains("procmap")
}

/// Whether one who reads a list of mappings may hold what a thread with this stack waits for. A
/// stack that is not known may wait for anything.
fn may_wait_for_reader(stack: &[String], pid: u32) -> bool {
    stack.is_empty()
        || matches!(
            resource(stack, pid),
            Some(
                Resource::MmapLock { .. }
                    | Resource::MappingLock { .. }
                    | Resource::Semaphore { .. }
            )
        )
}

/// Joins a sleep with the suspects that were preempted in a function where they may have held
/// what the sleeper waited for.
pub fn join(sleep: &Event, history: &History, parts: &Parts, stacks: &dyn Stacks) -> Joined {
    let stack = sleep.stack.map(|stack| stacks.names(stack)).unwrap_or_default();
    if !may_wait_for_reader(&stack, sleep.pid) {
        return join_with(sleep, &[], history, &|event| parts.call(event));
    }
    let is_suspect = |event: &Event| {
        parts.role(event.pid) == Some(Role::Suspect)
            && event
                .stack
                .is_some_and(|stack| stacks.names(stack).iter().any(|f| reads_mappings(f)))
    };
    let holds = history.preempted_in(sleep, &is_suspect);
    let holds: Vec<&Event> = holds.iter().collect();
    join_with(sleep, &holds, history, &|event| parts.call(event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;
    use crate::history::Doing;
    use crate::history::tests::ran;
    use crate::watched::Watched;

    /// Stack 1 reads mappings, stack 2 does not; stack 3 waits for the lock of a mapping.
    struct Three;

    impl Stacks for Three {
        fn names(&self, stack: u32) -> Vec<String> {
            let inner = match stack {
                1 => "m_next",
                2 => "vfs_read",
                _ => "__vma_start_write",
            };
            vec!["__schedule".to_owned(), inner.to_owned()]
        }
    }

    #[test]
    fn a_reader_that_was_preempted_among_mappings_is_named() {
        let mut parts = Parts::default();
        for pid in [7, 8] {
            parts.add(&Watched::new(pid, "scanner", Role::Suspect));
        }
        let mut history = History::default();
        history.add(Event { stack: Some(1), ..ran(7, 1, 0, 0, 10) });
        history.add(Event { stack: Some(2), ..ran(8, 1, 0, 10, 20) });
        history.add(ran(100, 1, 0, 20, 90));
        let sleep = Event { kind: EventKind::Slept, ..ran(1, 0, 30, 30, 95) };
        let joined = join(&sleep, &history, &parts, &Three);
        let of_stack =
            |stack| join(&Event { stack: Some(stack), ..sleep.clone() }, &history, &parts, &Three);
        assert_eq!(of_stack(3).holders, joined.holders, "it waits for the lock of a mapping");
        let elsewhere = of_stack(2);
        assert_eq!((elsewhere.holders.len(), elsewhere.covered), (0, 0), "it waits for a file");
        let [holder] = &joined.holders[..] else { panic!("{:?}", joined.holders) };
        assert_eq!((holder.who.tid, holder.spent(Doing::Runnable)), (7, 65));
        assert_eq!(holder.behind["t100"].1, 60);
    }

    #[test]
    fn the_mmap_lock_is_told_by_who_takes_it() {
        let stack = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let of_5_10 =
            ["schedule", "rwsem_down_write_slowpath", "down_write_killable", "vm_mmap_pgoff"];
        assert!(is_mmap_lock(&stack(&of_5_10)));
        assert!(is_mmap_lock(&stack(&["down_write_killable", "__vm_munmap"])));
        assert!(!is_mmap_lock(&stack(&["down_write", "anon_vma_clone", "vm_mmap_pgoff"])));
        assert!(!is_mmap_lock(&stack(&["down_write"])));
        assert!(!is_mmap_lock(&[]));
    }

    #[test]
    fn the_lock_of_a_mapping_comes_before_the_semaphore_that_it_is_made_of() {
        let of = |names: &[&str]| {
            let stack: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            resource(&stack, 7)
        };
        let semaphore = ["schedule", "rwsem_down_write_slowpath", "down_write"];
        assert_eq!(of(&semaphore), Some(Resource::Semaphore { pid: 7 }));
        let of_6_12 = [&semaphore[..], &["__vma_start_write", "vma_expand"]].concat();
        assert_eq!(of(&of_6_12), Some(Resource::MappingLock { pid: 7 }));
        let of_5_10 = [&semaphore[..], &["vm_mmap_pgoff"]].concat();
        assert_eq!(of(&of_5_10), Some(Resource::MmapLock { pid: 7 }));
        assert_eq!(of(&["schedule", "do_nanosleep"]), None);
    }

    #[test]
    fn places_have_names() {
        for name in ["__vma_start_exclude_readers", "__vma_exclude_readers", "__vma_enter_locked"] {
            assert_eq!(place(name, 7), Some(Resource::MappingLock { pid: 7 }), "{name}");
        }
        assert_eq!(place("__vma_start_write", 7), Some(Resource::MappingLock { pid: 7 }));
        assert_eq!(place("rwsem_down_write_slowpath", 7), Some(Resource::Semaphore { pid: 7 }));
        assert_eq!(place("rwbase_write_lock", 7), Some(Resource::Semaphore { pid: 7 }));
        let high = Some(Resource::MemoryHigh { pid: 7 });
        assert_eq!(place("__mem_cgroup_handle_over_high", 7), high);
        assert_eq!(place("mem_cgroup_handle_over_high", 7), high);
        assert_eq!(place("do_nanosleep", 7), None);
    }
}
