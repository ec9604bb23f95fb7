//! Since when a finding is present.

use crate::findings;
use crate::window::Window;
use model::live::Finding;
use std::collections::HashMap;

/// Most findings that are remembered.
const MOST: usize = 1_024;

/// What tells one finding from another.
type Id = (String, String, Option<String>);

/// Remembers since when each finding has been present without a break.
#[derive(Debug, Default)]
pub struct Since {
    first: HashMap<Id, f64>,
    begun: bool,
}

impl Since {
    /// Looks at an interval that began this many seconds after the start.
    pub fn look(&mut self, interval: &Window, began_s: f64) {
        let found: Vec<Id> = findings::all(interval).iter().map(id).collect();
        let before = std::mem::take(&mut self.first);
        // A finding that replaces another one of the same victim began when that one began.
        let ended = |id: &Id| {
            let is_like = |(old, _): &(&Id, &f64)| (&old.1, &old.2) == (&id.1, &id.2);
            let ended = before.iter().filter(is_like).filter(|(old, _)| !found.contains(old));
            ended.map(|(_, at)| *at).reduce(f64::min)
        };
        self.begun = false;
        for id in &found {
            let known = before.get(id).copied().or_else(|| ended(id));
            self.begun |= known.is_none();
            if self.first.len() < MOST {
                self.first.insert(id.clone(), known.unwrap_or(began_s));
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
            finding.since_s = self.first.get(&id(finding)).copied();
        }
    }
}

fn id(finding: &Finding) -> Id {
    (finding.stall.clone(), finding.victim.name.clone(), finding.victim.group.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, reader, second, thread};

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
        since.look(&good, 4.0);
        since.note(&mut found);
        assert_eq!(found[0].since_s, None);
    }
}
