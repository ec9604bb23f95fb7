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
    /// short for a finding, such as the last one before the end, breaks nothing off.
    pub fn look(&mut self, interval: &Window, began_s: f64) {
        if !findings::may_be_in(interval) {
            self.begun = false;
            return;
        }
        let all = findings::all(interval);
        let found: Vec<Id> = all.iter().map(id).collect();
        let before = std::mem::take(&mut self.present);
        self.begun = false;
        for (id, finding) in found.iter().zip(&all) {
            let victim = Subject::victim(&finding.victim);
            // A finding that replaces another one of the same group or victim began when that one
            // began.
            let is_like = |old: &(&Id, &Present)| old.0.1 == id.1 || old.1.victim == victim;
            let gone = before.iter().filter(is_like).filter(|(old, _)| !found.contains(old));
            let since_gone = || gone.map(|(_, old)| old.first_s).reduce(f64::min);
            let known = before.get(id).map(|old| old.first_s).or_else(since_gone);
            self.begun |= known.is_none();
            if self.present.len() < MOST {
                let first_s = known.unwrap_or(began_s);
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

fn id(finding: &Finding) -> Id {
    (finding.stall.clone(), Subject::of(finding))
}

#[cfg(test)]
mod tests {
    use super::*;
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
            since.look(window, at);
        }
        let mut found = findings::all(&bad);
        since.note(&mut found);
        assert_eq!(found[0].since_s, Some(2.0));
        // The rest of a second, before the end of the watch.
        let rest = Window::of([&Tick { over_ns: 300 * MS, ..second() }]);
        since.look(&rest, 4.0);
        since.note(&mut found);
        assert_eq!((found[0].since_s, since.has_begun()), (Some(2.0), false));
        since.look(&good, 4.3);
        since.note(&mut found);
        assert_eq!(found[0].since_s, None);
    }
    #[test]
    fn a_quota_is_as_old_as_it_throttles_any_program() {
        let windows = [["nginx", "php"], ["php", "nginx"]].map(|programs| {
            let tick = throttled(programs);
            Window::of([&tick])
        });
        let mut since = Since::default();
        since.look(&windows[0], 3.0);
        assert!(since.has_begun());
        since.look(&windows[1], 4.0);
        assert!(!since.has_begun());
        let mut found = findings::all(&windows[1]);
        since.note(&mut found);
        assert_eq!((found[0].victim.name.as_str(), found[0].since_s), ("php", Some(3.0)));
    }
}
