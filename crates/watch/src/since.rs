//! Since when a finding is present.

use crate::findings;
use crate::subject::Subject;
use crate::window::Window;
use model::live::Finding;
use std::collections::HashMap;

/// Most findings that are remembered.
const MOST: usize = 1_024;

/// What tells one finding from another: the stall, and what it is about.
type Id = (String, Subject);

/// A finding that is present.
#[derive(Debug, Clone)]
struct Present {
    /// Since when, in seconds after the start.
    first_s: f64,
    /// Its victim.
    victim: Subject,
}

/// Remembers since when each finding has been present without a break.
#[derive(Debug, Default)]
pub struct Since {
    present: HashMap<Id, Present>,
    begun: bool,
}

impl Since {
    /// Looks at an interval that began this many seconds after the start. An interval that is too
    /// short for a finding, such as the last one before the end, breaks nothing off. `recent` makes
    /// the window of the last intervals, with this one.
    pub fn look(&mut self, interval: &Window, recent: impl FnOnce() -> Window, began_s: f64) {
        if !findings::may_be_in(interval) {
            self.begun = false;
            return;
        }
        let all = found_in(interval, recent, began_s);
        let found: Vec<Id> = all.iter().map(|(finding, _)| id(finding)).collect();
        let before = std::mem::take(&mut self.present);
        self.begun = false;
        for (id, (finding, began_s)) in found.iter().zip(&all) {
            let victim = Subject::victim(&finding.victim);
            // A finding that replaces another one of the same group or victim began when that one
            // began.
            let is_like = |old: &(&Id, &Present)| old.0.1 == id.1 || old.1.victim == victim;
            let gone = before.iter().filter(is_like).filter(|(old, _)| !found.contains(old));
            let since_gone = || gone.map(|(_, old)| old.first_s).reduce(f64::min);
            let known = before.get(id).map(|old| old.first_s).or_else(since_gone);
            self.begun |= known.is_none();
            if self.present.len() < MOST {
                let first_s = known.unwrap_or(*began_s);
                self.present.insert(id.clone(), Present { first_s, victim });
            }
        }
    }

    /// Whether a finding began in the interval that was looked at last.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Notes it in findings. A finding that the last interval does not show may be over.
    pub fn note(&self, findings: &mut [Finding]) {
        for finding in findings {
            finding.since_s = self.present.get(&id(finding)).map(|one| one.first_s);
        }
    }
}

/// The findings of an interval, each with the time at which it began if it is new. A node answers
/// once a second, so findings that follow from answers are looked for in the last intervals too.
fn found_in(
    interval: &Window,
    recent: impl FnOnce() -> Window,
    began_s: f64,
) -> Vec<(Finding, f64)> {
    let own = findings::all(interval);
    let mut all: Vec<(Finding, f64)> = own.into_iter().map(|one| (one, began_s)).collect();
    if interval.inside.is_empty() {
        return all;
    }
    let recent = recent();
    let recent_began_s = (began_s + interval.seconds() - recent.seconds()).max(0.0);
    for finding in findings::by_answers(&recent) {
        if !all.iter().any(|(one, _)| id(one) == id(&finding)) {
            all.push((finding, recent_began_s));
        }
    }
    all
}

fn id(finding: &Finding) -> Id {
    (finding.stall.clone(), Subject::of(finding))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inside::InsideTick;
    use crate::testing::{MS, process, reader, second, thread, throttled};
    use crate::tick::Tick;

    #[test]
    fn a_finding_is_as_old_as_its_unbroken_presence() {
        let mut bad = second();
        process(&mut bad, 1, "mapper", None);
        let mut victim = thread(1, 500, 0);
        (victim.lock_ns, victim.foreign_ns) = (40 * MS, 40 * MS);
        victim.lock_worst_ns = 8 * MS;
        bad.threads.push(victim);
        bad.readers.push(reader(2, 1, "smaps", 60));
        let (bad, good) = (Window::of([&bad]), Window::of([&second()]));
        let mut since = Since::default();
        for (window, at) in [(&bad, 0.0), (&good, 1.0), (&bad, 2.0), (&bad, 3.0)] {
            since.look(window, Window::default, at);
        }
        let mut found = findings::all(&bad);
        since.note(&mut found);
        assert_eq!(found[0].since_s, Some(2.0));
        // The rest of a second, before the end of the watch.
        let rest = Window::of([&Tick { over_ns: 300 * MS, ..second() }]);
        since.look(&rest, Window::default, 4.0);
        since.note(&mut found);
        assert_eq!((found[0].since_s, since.has_begun()), (Some(2.0), false));
        since.look(&good, Window::default, 4.3);
        since.note(&mut found);
        assert_eq!(found[0].since_s, None);
    }

    /// A second, counted from 1, in which work waited for one of two schedulers of a node.
    fn uneven(number: u64) -> Tick {
        let used = |scheduler, percent: u64| dist::Use {
            scheduler,
            active: percent * number,
            all: 100 * number,
        };
        let inside = dist::Inside {
            online: 2,
            run_queues: vec![9, 0],
            used: vec![used(1, 99), used(2, 5)],
            ..dist::Inside::default()
        };
        let state = dist::State::Answering;
        let look = dist::Look { state, inside: Some(inside), ..dist::Look::default() };
        Tick { inside: vec![InsideTick { name: "web@host".to_owned(), look }], ..second() }
    }

    #[test]
    fn uneven_queues_begin_although_a_second_has_one_answer() {
        let ticks: Vec<Tick> = (1..=5).map(uneven).collect();
        let mut since = Since::default();
        let has_begun = |at: usize| {
            let interval = Window::of([&ticks[at]]);
            since.look(&interval, || Window::of(&ticks[..=at]), at as f64);
            since.has_begun()
        };
        let begun: Vec<bool> = (0..5).map(has_begun).collect();
        assert_eq!(begun, [false, false, false, true, false]);
        let mut found = findings::all(&Window::of(&ticks));
        since.note(&mut found);
        assert_eq!((found[0].stall.as_str(), found[0].since_s), ("uneven-queues", Some(0.0)));
    }

    #[test]
    fn a_quota_is_as_old_as_it_throttles_any_program() {
        let windows = [["nginx", "php"], ["php", "nginx"]].map(|programs| {
            let tick = throttled(programs);
            Window::of([&tick])
        });
        let mut since = Since::default();
        since.look(&windows[0], Window::default, 3.0);
        assert!(since.has_begun());
        since.look(&windows[1], Window::default, 4.0);
        assert!(!since.has_begun());
        let mut found = findings::all(&windows[1]);
        since.note(&mut found);
        assert_eq!((found[0].victim.name.as_str(), found[0].since_s), ("php", Some(3.0)));
    }
}
