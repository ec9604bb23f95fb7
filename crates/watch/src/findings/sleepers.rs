//! Programs that sleep behind the victim of a finding.

use crate::parts::program_of;
use crate::sums::{Key, Sums};
use crate::tick::Job;
use crate::window::Window;
use model::live::{Program, Sleeper};

/// The least time asleep behind a victim that is reported, in milliseconds a second: half of what
/// makes a finding of its own in a lock.
const TOLD_MS_PER_S: f64 = super::asleep_behind::LIMIT_MS_PER_S / 2.0;

/// Most programs that are reported.
const MOST: usize = 3;

/// The programs that sleep until a thread of this one wakes them, while that thread is runnable.
pub(super) fn of(window: &Window, victim: &Program) -> Vec<Sleeper> {
    let is_victim = |key: &Key| key.name == victim.name && key.group == victim.group;
    let sleeper = |(key, sums): (&Key, &Sums)| {
        let mut sleeper = Sleeper { program: program_of(key, sums), ..Sleeper::default() };
        for (_, asleep) in sums.asleep.iter().filter(|(holder, _)| is_victim(holder)) {
            sleeper.ms_per_s += window.rate(asleep.ns);
            sleeper.futex_ms_per_s += window.rate(asleep.futex_ns);
            sleeper.input_ms_per_s += window.rate(asleep.input_ns);
        }
        sleeper
    };
    // A sleeping kernel thread waits for work.
    let may_sleep = |key: &Key| !is_victim(key) && key.job != Job::Kernel;
    let others = window.victims().filter(|(key, _)| may_sleep(key)).map(sleeper);
    let mut all: Vec<Sleeper> = others.filter(|one| one.ms_per_s >= TOLD_MS_PER_S).collect();
    all.sort_by(|a, b| b.ms_per_s.total_cmp(&a.ms_per_s));
    all.truncate(MOST);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, key};
    use model::live::AsleepBehind;

    #[test]
    fn who_sleeps_long_behind_a_victim_is_told_with_where() {
        let asleep = |ms: u64| AsleepBehind {
            ns: ms * MS,
            futex_ns: ms * MS / 2,
            ..AsleepBehind::default()
        };
        let of = |behind: &str, ms: u64| Sums {
            in_scope: true,
            asleep: [(key(behind), asleep(ms))].into(),
            ..Sums::default()
        };
        let programs = [
            ("client", of("db", 300)),
            ("other", of("db", 60)),
            ("little", of("db", 40)),
            ("elsewhere", of("web", 500)),
            ("db", of("db", 500)),
        ];
        let programs = programs.map(|(name, sums)| (key(name), sums)).into();
        let mut window = Window { over_ns: 1000 * MS, programs, ..Window::default() };
        let kernel = Key { job: Job::Kernel, ..key("kworker") };
        window.programs.insert(kernel, of("db", 500));
        let victim = Program { name: "db".to_owned(), ..Program::default() };
        let sleepers = super::of(&window, &victim);
        let names: Vec<&str> = sleepers.iter().map(|one| one.program.name.as_str()).collect();
        assert_eq!(names, ["client", "other"]);
        let client = &sleepers[0];
        assert_eq!((client.ms_per_s, client.futex_ms_per_s), (300.0, 150.0));
    }
}
