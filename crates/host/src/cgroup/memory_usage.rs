//! How much memory a group holds, and how often and how long its limits delayed it.

use crate::roots;
use crate::text;
use std::path::Path;

/// The values from the files of a group; each one is absent if the kernel does not provide it.
/// Events and times are counted since the group was made; times include those of the groups
/// below.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Memory that it holds now, in bytes.
    pub current_bytes: Option<u64>,
    /// How often it was found above `memory.high` and throttled or reclaimed.
    pub high_events: Option<u64>,
    /// How often it was about to exceed `memory.max`.
    pub max_events: Option<u64>,
    /// Number of its processes that were killed for memory.
    pub kills: Option<u64>,
    /// Time in which at least one of its tasks was stalled for memory, in nanoseconds.
    pub some_ns: Option<u64>,
    /// Time in which all of its tasks that had work were stalled for memory, in nanoseconds.
    pub full_ns: Option<u64>,
}

impl MemoryUsage {
    /// Reads the values of a v2 group. Events are those of its own limits, without those of
    /// groups below, if the kernel separates them (since 5.3).
    pub fn read(group: &Path) -> Self {
        let text = |file: &str| roots::read_text(&group.join(file)).ok();
        let [current, pressure] = ["memory.current", "memory.pressure"].map(text);
        let or_none = Option::unwrap_or_default;
        MemoryUsage::from_texts(&or_none(current), &or_none(events_of(group)), &or_none(pressure))
    }

    /// How often a v2 group was about to exceed its own `memory.max`. Reads one file alone: the
    /// kernel adds up `memory.pressure` over all CPUs for each reader.
    pub(crate) fn hits(group: &Path) -> Option<u64> {
        text::counter(&events_of(group)?, "max")
    }

    /// Reads the texts of `memory.current`, `memory.events` and `memory.pressure`.
    pub(crate) fn from_texts(current: &str, events: &str, pressure: &str) -> Self {
        MemoryUsage {
            current_bytes: current.trim().parse().ok(),
            high_events: text::counter(events, "high"),
            max_events: text::counter(events, "max"),
            kills: text::counter(events, "oom_kill"),
            some_ns: stalled_ns(pressure, "some"),
            full_ns: stalled_ns(pressure, "full"),
        }
    }

    /// The counts since an earlier reading; a count is absent if either reading lacks it. The
    /// memory that it holds is the current value.
    pub fn since(&self, earlier: &MemoryUsage) -> MemoryUsage {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        MemoryUsage {
            current_bytes: self.current_bytes,
            high_events: less(self.high_events, earlier.high_events),
            max_events: less(self.max_events, earlier.max_events),
            kills: less(self.kills, earlier.kills),
            some_ns: less(self.some_ns, earlier.some_ns),
            full_ns: less(self.full_ns, earlier.full_ns),
        }
    }
}

/// The events of a group's own limits, or those of the groups below too before Linux 5.3.
fn events_of(group: &Path) -> Option<String> {
    let text = |file: &str| roots::read_text(&group.join(file)).ok();
    text("memory.events.local").or_else(|| text("memory.events"))
}

/// The total of a pressure line, such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`,
/// converted from microseconds to nanoseconds.
fn stalled_ns(pressure: &str, kind: &str) -> Option<u64> {
    let line = pressure.lines().find_map(|line| line.strip_prefix(kind))?;
    let total = line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRESSURE: &str = "some avg10=1.00 avg60=0.00 avg300=0.00 total=12\n\
                            full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";

    #[test]
    fn a_group_is_read_as_the_kernel_writes_it() {
        let events = "low 0\nhigh 32\nmax 1\noom 2\noom_kill 3\noom_group_kill 0\n";
        let now = MemoryUsage::from_texts("4096\n", events, PRESSURE);
        assert_eq!(
            (now.current_bytes, now.high_events, now.max_events),
            (Some(4096), Some(32), Some(1))
        );
        assert_eq!((now.kills, now.some_ns, now.full_ns), (Some(3), Some(12_000), Some(7_000)));
        let earlier = MemoryUsage::from_texts("1\n", "high 30\n", "");
        let gained = now.since(&earlier);
        assert_eq!((gained.current_bytes, gained.high_events), (Some(4096), Some(2)));
        assert_eq!((gained.kills, gained.full_ns), (None, None));
    }

    #[test]
    fn a_kernel_without_pressure_has_none() {
        assert_eq!(MemoryUsage::read(Path::new("/nowhere")), MemoryUsage::default());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,60}", cut in 0usize..60) {
            let _ = MemoryUsage::from_texts(&text, &text, &text);
            let _ = MemoryUsage::from_texts("", "", &PRESSURE[..cut]);
        }
    }
}
