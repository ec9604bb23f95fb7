//! Programs whose own threads hold each other up at the lock of their memory map.

use super::stall::{Seen, Stall};
use crate::parts::program_of;
use crate::sums::{Key, Sums, largest, ms};
use crate::window::Window;
use model::live::{AnswerState, Finding, Source};
use os::terminal::line as plain;
use serde::{Deserialize, Serialize};

/// Time spent waiting for that lock while the program's own threads held it, in milliseconds a
/// second: a tenth of a thread's time.
const LIMIT_MS_PER_S: f64 = 100.0;

/// And at least this share of the time in which the program ran or waited for the lock.
const SHARE: f64 = 0.1;

/// The victim's threads wait for a lock that other threads of the victim hold.
pub struct OwnMmapLock;

/// How they hold it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The thread that released the lock last; absent if that was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// The system call in which it released the lock; absent if it was in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<Call>,
}

/// A call that changes a memory map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    Mmap,
    Munmap,
    Mprotect,
    Mremap,
    Madvise,
    Brk,
    /// Another call, by its number.
    Other(u32),
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    KeepMappings,
    Processes,
}

impl Stall for OwnMmapLock {
    const ID: &'static str = "own-mmap-lock";
    const NAME: &'static str = "mmap lock among its own threads";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let is_much = |(_, sums): &(&Key, &Sums)| {
            let all = sums.all.ran_ns.saturating_add(sums.all.lock_ns).max(1);
            // With many readers, some time passes between one release and the next hold.
            window.rate(own_ns(sums)) >= LIMIT_MS_PER_S
                && own_ns(sums) as f64 / all as f64 >= SHARE
                && own_ns(sums) >= sums.foreign_ns()
        };
        let finding = |(key, sums): (&Key, &Sums)| Finding {
            victim: program_of(key, sums),
            culprits: vec![program_of(key, sums)],
            cost_ms_per_s: window.rate(own_ns(sums)),
            worst_ms: ms(sums.all.own_lock_worst_ns),
            ..Self::found(&facts(sums), &[Fix::KeepMappings, Fix::Processes])
        };
        window.victims().filter(is_much).map(finding).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = largest(seen.window.victims().map(|(_, sums)| seen.window.rate(own_ns(sums))));
        Some(seen.measured_by::<Self>(Source::MmapLock, most, LIMIT_MS_PER_S))
    }

    fn cause(_: &Finding, facts: &Facts) -> String {
        let call = facts.call.map(|call| format!("; it was in {}", name(call)));
        let last = facts.by.as_deref().map_or_else(String::new, |by| {
            let call = call.unwrap_or_default();
            format!(" The thread that released the lock last is called {}{call}.", plain(by))
        });
        format!(
            "Its threads share one memory map. Threads that change the map keep the others waiting \
             for its lock (mmap lock).{last}"
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::KeepMappings => {
                "Map and unmap less: keep memory for later use (in glibc: mallopt with \
                 M_MMAP_THRESHOLD and M_TRIM_THRESHOLD, or another allocator)."
            }
            Fix::Processes => "Use processes instead of threads for work that maps much.",
        }
        .to_owned()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let fixes = vec![Fix::KeepMappings, Fix::Processes];
        let of = |call| {
            let by = Some("worker".to_owned());
            (Facts { by, call }, fixes.clone())
        };
        let unseen = (Facts::default(), fixes.clone());
        vec![unseen, of(None), of(Some(Call::Munmap)), of(Some(Call::Other(317)))]
    }
}

/// Time spent waiting while its own threads held the lock.
fn own_ns(sums: &Sums) -> u64 {
    sums.all.lock_ns.saturating_sub(sums.foreign_ns())
}

fn facts(sums: &Sums) -> Facts {
    let by = &sums.all.lock_by;
    Facts { by: (!by.is_empty()).then(|| by.clone()), call: sums.all.lock_call.map(call) }
}

fn call(number: u32) -> Call {
    match libc::c_long::from(number as i32) {
        libc::SYS_mmap => Call::Mmap,
        libc::SYS_munmap => Call::Munmap,
        libc::SYS_mprotect => Call::Mprotect,
        libc::SYS_mremap => Call::Mremap,
        libc::SYS_madvise => Call::Madvise,
        libc::SYS_brk => Call::Brk,
        _ => Call::Other(number),
    }
}

fn name(call: Call) -> String {
    match call {
        Call::Mmap => "mmap".to_owned(),
        Call::Munmap => "munmap".to_owned(),
        Call::Mprotect => "mprotect".to_owned(),
        Call::Mremap => "mremap".to_owned(),
        Call::Madvise => "madvise".to_owned(),
        Call::Brk => "brk".to_owned(),
        Call::Other(number) => format!("system call {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, second, thread};

    #[test]
    fn waits_without_a_foreign_holder_are_its_own() {
        let mut tick = second();
        process(&mut tick, 1, "mapper", None);
        let mut victim = thread(1, 500, 0);
        (victim.lock_ns, victim.foreign_ns) = (300 * MS, 50 * MS);
        victim.lock_call = u32::try_from(libc::SYS_munmap).ok();
        (victim.lock_by, victim.own_lock_worst_ns) = ("worker".to_owned(), 40 * MS);
        tick.threads.push(victim);
        let all = OwnMmapLock::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (250.0, 40.0));
        let facts: Facts = found.facts.read().unwrap();
        assert!(OwnMmapLock::cause(found, &facts).contains("is called worker; it was in munmap."));
        tick.threads[0].foreign_ns = 250 * MS;
        assert!(OwnMmapLock::find(&Window::of([&tick])).is_empty());
        (tick.threads[0].lock_ns, tick.threads[0].foreign_ns) = (760 * MS, 620 * MS);
        assert!(OwnMmapLock::find(&Window::of([&tick])).is_empty(), "foreign readers hold it");
    }
}
