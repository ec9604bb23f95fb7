//! Programs that are confined to CPUs that others use too, while another CPU is idle.

use super::stall::{Seen, Stall};
use super::words;
use crate::parts::{parts, program, program_of};
use crate::sums::{Key, Sums, largest, ms};
use crate::window::Window;
use model::Unit;
use model::live::{AnswerState, ConfinedPart, Finding, Parts, Source};
use model::prose::figures::{figure, percent};
use os::terminal::line as plain;
use serde::{Deserialize, Serialize};

/// Time behind others while another CPU was idle, in milliseconds a second: a tenth of a thread's
/// time.
pub const LIMIT_MS_PER_S: f64 = 100.0;

/// And at least this share of the time in which it wanted a CPU.
const SHARE: f64 = 0.1;

/// Most programs that ran meanwhile and are named.
const NAMED: usize = 3;

/// The victim may not use a CPU that is idle.
pub struct Confined;

/// The CPUs that it may use, and how idle others were.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The CPUs that it may use.
    cpus: String,
    /// Share of the time in which another CPU was idle.
    idle_share: f64,
    /// All time that it waited on these CPUs for those that it waited for most, in milliseconds a
    /// second: for others, or for its own threads.
    behind_ms_per_s: f64,
    /// Whether these are its own threads.
    #[serde(default)]
    own: bool,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// More CPUs, or the others elsewhere.
    Widen,
    /// More CPUs, for a program that waits for its own threads.
    WidenAlone,
}

impl Stall for Confined {
    const ID: &'static str = "confined";
    const NAME: &'static str = "confined beside an idle CPU";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    const STANDS_READY: bool = true;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let is_much = |sums: &Sums, part: &ConfinedPart| {
            let wanted = sums.all.ran_ns.saturating_add(sums.all.ready_ns).max(1);
            window.rate(part.ns) >= LIMIT_MS_PER_S && part.ns as f64 / wanted as f64 >= SHARE
        };
        let all = confined(window);
        all.filter(|(_, sums, _, part)| is_much(sums, part))
            .map(|(key, sums, parts, part)| finding(window, (key, sums), &parts, &part))
            .collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = largest(confined(seen.window).map(|one| seen.window.rate(one.3.ns)));
        Some(seen.measured_by::<Self>(Source::Scheduler, most, LIMIT_MS_PER_S))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let others: Vec<String> =
            finding.culprits.iter().take(NAMED).map(words::short_name).collect();
        let behind = match others.is_empty() {
            _ if facts.own => "its own threads".to_owned(),
            true => "others".to_owned(),
            false => others.join(", "),
        };
        format!(
            "It may use only CPU {} and waited there for {behind} for {}. Meanwhile, a CPU that it \
             may not use was idle for {} of the time.",
            plain(&facts.cpus),
            figure(facts.behind_ms_per_s, Unit::MillisecondsPerSecond),
            percent(facts.idle_share),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::Widen => "Let it use more CPUs (taskset, cpuset.cpus), or let the others not use \
                           these."
                .to_owned(),
            Fix::WidenAlone => "Let it use more CPUs (taskset, cpuset.cpus).".to_owned(),
        }
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let cpus = "0".to_owned();
        let facts = Facts { cpus, idle_share: 0.52, behind_ms_per_s: 610.0, own: false };
        let own = Facts { own: true, ..facts.clone() };
        vec![(facts, vec![Fix::Widen]), (own, vec![Fix::WidenAlone])]
    }
}

/// Programs that lose time in this way.
fn confined(window: &Window) -> impl Iterator<Item = (&Key, &Sums, Parts, ConfinedPart)> {
    let is_confined = |sums: &Sums| sums.confined_ns > 0 || sums.confined_own_ns > 0;
    window.victims().filter(move |(_, sums)| is_confined(sums)).filter_map(|(key, sums)| {
        let mut parts = parts(key, sums, &window.machine);
        let part = parts.confined.take()?;
        Some((key, sums, parts, part))
    })
}

fn finding(
    window: &Window,
    (key, sums): (&Key, &Sums),
    parts: &Parts,
    part: &ConfinedPart,
) -> Finding {
    let own = sums.confined_own_ns > sums.confined_ns;
    let spared_own = sums.confined_own_ns.min(part.ns);
    let behind_ns = match own {
        true => spared_own.saturating_add(parts.own_program_ns),
        false => (part.ns - spared_own).saturating_add(parts.neighbours_ns()),
    };
    let facts = Facts {
        cpus: part.cpus.clone(),
        idle_share: part.idle_share,
        behind_ms_per_s: window.rate(behind_ns),
        own,
    };
    let mut behind: Vec<(&Key, u64)> =
        sums.neighbours.iter().map(|(who, behind)| (who, behind.ns)).collect();
    behind.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let named = if facts.own { 0 } else { NAMED };
    let named = behind.iter().take(named).map(|(who, _)| program(who, 0, 1));
    // Waits for its own threads are not told apart from others.
    let worst = match own {
        true => Some(sums.all.worst_ns),
        false => sums.neighbours.values().map(|behind| behind.worst_ns).max(),
    };
    Finding {
        victim: program_of(key, sums),
        culprits: named.collect(),
        cost_ms_per_s: window.rate(part.ns),
        worst_ms: ms(worst.unwrap_or(0)),
        ..Confined::found(&facts, &[if own { Fix::WidenAlone } else { Fix::Widen }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, pair, process, second, thread};
    use crate::tick::Tick;

    /// On CPU 0 of two, behind another program. The other CPU is idle for this share of the time.
    fn tick(idle: f64) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        process(&mut tick, 2, "other", None);
        tick.processes.get_mut(&1).unwrap().confined = Some(vec![0]);
        tick.idle_shares = vec![0.0, idle];
        tick.threads = vec![thread(1, 400, 600), thread(2, 600, 0)];
        tick.threads[0].others_ns = 600 * MS;
        tick.pairs = vec![pair(1, 2, "other", 600)];
        tick
    }

    #[test]
    fn an_idle_cpu_elsewhere_explains_as_much_as_it_was_idle() {
        let window = Window::of([&tick(0.5)]);
        let all = Confined::find(&window);
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.cost_ms_per_s, found.culprits[0].name.as_str()), (300.0, "other"));
        let victim = window.victims().find(|(key, _)| key.name == "web").unwrap();
        let parts = parts(victim.0, victim.1, &window.machine);
        assert_eq!((parts.neighbours[0].ns, parts.sum_ns()), (300 * MS, 600 * MS));
        // The same behind its own threads.
        let mut own = tick(0.5);
        (own.threads[0].others_ns, own.threads[0].own_ns) = (0, 600 * MS);
        own.threads[0].worst_ns = 20 * MS;
        own.pairs.clear();
        let window = Window::of([&own]);
        let all = Confined::find(&window);
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((found.cost_ms_per_s, facts.behind_ms_per_s), (300.0, 600.0));
        assert_eq!(found.worst_ms, 20.0);
        assert!(Confined::cause(found, &facts).contains("for its own threads for 600 ms/s"));
        assert!(Confined::find(&Window::of([&tick(0.1)])).is_empty());
        assert!(Confined::find(&Window::of([&tick(0.0)])).is_empty());
    }
}
