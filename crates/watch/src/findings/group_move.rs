//! Programs that sleep while they move processes between control groups.

use super::stall::{Seen, Stall};
use crate::parts::program_of;
use crate::sums::{Key, Sums, largest, ms};
use crate::window::Window;
use model::Unit;
use model::live::{AnswerState, Finding, Source};
use model::prose::figures::figure;
use model::suggestion::{Command, Run};
use scenarios::group_move::{GroupMoveParams, META};
use scenarios::params::Params;
use serde::{Deserialize, Serialize};

/// The least time asleep in moves, in milliseconds a second. A runtime that makes one move a second
/// sleeps for 12 to 30.
const LIMIT_MS_PER_S: f64 = 10.0;

/// And the longest single sleep is at least this, in milliseconds, as in the scenario. Where moves
/// waited for a grace period, half of them took 11 or more; a shorter sleep may have another cause.
const WORST_MS: f64 = 5.0;

/// The victim moves processes, and sleeps in the kernel until it may.
pub struct GroupMove;

/// The moves in which it slept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// How many there were a second.
    moves_per_s: f64,
    /// How long it slept in each of them, on average, in milliseconds.
    mean_ms: f64,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    BeginInGroup,
    FavorDynmods,
}

/// All fixes, for every case.
const FIXES: [Fix; 2] = [Fix::BeginInGroup, Fix::FavorDynmods];

impl Stall for GroupMove {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let is_much = |(_, sums): &(&Key, &Sums)| {
            window.rate(sums.all.move_ns) >= LIMIT_MS_PER_S
                && ms(sums.all.move_worst_ns) >= WORST_MS
        };
        window.victims().filter(is_much).map(|one| finding(window, one)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let lost = |(_, sums): (&Key, &Sums)| seen.window.rate(sums.all.move_ns);
        let most = largest(seen.window.victims().map(lost));
        Some(seen.measured_by::<Self>(Source::GroupMoves, most, LIMIT_MS_PER_S))
    }

    fn cause(_: &Finding, facts: &Facts) -> String {
        format!(
            "It moves processes between control groups, as a write to cgroup.procs does. {} times \
             a second it slept in such a move, {} on average. From Linux 6.0 on, a move waits for \
             an RCU grace period, unless another move was made just before.",
            figure(facts.moves_per_s, Unit::Count),
            figure(facts.mean_ms, Unit::Milliseconds),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::BeginInGroup => {
                "Let processes begin in their group, so that nobody has to move them (clone3 with \
                 CLONE_INTO_CGROUP: cgroup v2, Linux 5.7)."
            }
            Fix::FavorDynmods => {
                "Mount the control groups with favordynmods: mount -o remount,favordynmods \
                 /sys/fs/cgroup (the mount of cgroup v2, Linux 6.0). By the kernel's \
                 documentation, forks and exits then cost more. From Linux 6.18 on it stays until \
                 the next boot."
            }
        }
        .to_owned()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        vec![(Facts { moves_per_s: 20.0, mean_ms: 12.5 }, FIXES.to_vec())]
    }
}

fn finding(window: &Window, (key, sums): (&Key, &Sums)) -> Finding {
    let all = &sums.all;
    let facts = Facts {
        moves_per_s: all.moves as f64 / window.seconds().max(1e-9),
        mean_ms: ms(all.move_ns) / all.moves.max(1) as f64,
    };
    Finding {
        victim: program_of(key, sums),
        cost_ms_per_s: window.rate(all.move_ns),
        worst_ms: ms(all.move_worst_ns),
        run: Some(run()),
        ..GroupMove::found(&facts, &FIXES)
    }
}

/// The same in the lab. How often the victim moves processes says nothing about the pauses.
fn run() -> Run {
    let parameters = GroupMoveParams::default().settings();
    Run { command: Command::Run, scenario: META.id.to_owned(), parameters }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, second, thread};
    use crate::tick::Tick;
    use model::live::{Missing, NotMeasurable, SourceUse};
    use probe::live::ThreadCounts;

    /// An interval of one second. A runtime made this number of moves and slept for `slept_ms` in
    /// all of them together, for `worst_us` in the longest.
    fn tick(slept_ms: u64, moves: u64, worst_us: u64) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "runc", None);
        let mover = ThreadCounts {
            asleep_ns: 900 * MS,
            move_ns: slept_ms * MS,
            moves,
            move_worst_ns: worst_us * MS / 1000,
            ..thread(1, 5, 0)
        };
        tick.threads.push(mover);
        tick
    }

    fn find(tick: &Tick) -> Vec<Finding> {
        GroupMove::find(&Window::of([tick]))
    }

    #[test]
    fn a_mover_is_found_from_the_limits_on() {
        let all = find(&tick(10, 1, 10_000));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.victim.name.as_str(), found.victim.pid), ("runc", 1));
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (10.0, 10.0));
        assert!(found.culprits.is_empty() && found.run.is_some());
        assert!(find(&tick(9, 1, 9_000)).is_empty(), "less than the limit");
        assert!(find(&tick(10, 2, 5_000)).len() == 1);
        assert!(find(&tick(100, 50, 4_900)).is_empty(), "many short sleeps");
    }

    #[test]
    fn the_moves_that_slept_are_counted_over_all_threads_and_intervals() {
        let mut two = tick(100, 5, 40_000);
        two.threads.push(ThreadCounts { tid: 2, ..two.threads[0].clone() });
        let all = GroupMove::find(&Window::of([&two, &tick(0, 0, 0)]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (100.0, 40.0));
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!(facts, Facts { moves_per_s: 5.0, mean_ms: 20.0 });
    }

    #[test]
    fn sleep_elsewhere_is_no_finding() {
        let asleep = tick(0, 0, 0);
        assert_eq!(asleep.threads[0].asleep_ns, 900 * MS);
        assert!(find(&asleep).is_empty());
    }

    #[test]
    fn where_moves_are_not_seen_nobody_is_said_to_be_well() {
        let window = Window::of([&tick(4, 1, 4_000)]);
        let answer = |missing: Option<Missing>| {
            let sources = [SourceUse { source: Source::GroupMoves, missing }];
            GroupMove::answer(&Seen { window: &window, findings: &[], sources: &sources }).unwrap()
        };
        let no = AnswerState::NotHitting { most_ms_per_s: 4.0, finding_at_ms_per_s: 10.0 };
        assert_eq!(answer(None), no);
        let why = NotMeasurable::Missing(Missing::NoGroupMoves);
        assert_eq!(answer(Some(Missing::NoGroupMoves)), AnswerState::NotMeasurable(why));
    }
}
