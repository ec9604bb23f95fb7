//! The time lost since a watch began, as counters. The number of series is bounded, whatever runs
//! on the machine.
//!
//! These are counters, so that a scrape once a minute also sees what happened since the last
//! scrape. They only grow. A name that lost nothing for an hour is forgotten, so that short-lived
//! containers do not use up all names over weeks. If the name comes back, its counters begin at
//! 0, as after a restart.

use super::family::{Family, Labels, write};
use super::live::{answers, did, parts};
use super::names::{FORGOTTEN_S, Names};
use model::Live;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The last line of the metrics.
const END: &str = "# EOF\n";

/// How often forgotten names and counters are removed, in seconds.
const SWEEP_S: f64 = 60.0;

/// Sums since a watch began.
#[derive(Debug)]
pub struct Totals {
    names: Names,
    watched_s: f64,
    swept_s: f64,
    lost: Counters,
    found: Counters,
    found_lost: Counters,
    nodes: Counters,
    tool_s: f64,
    programs_s: f64,
    /// The last measured cost of the programs in the kernel, in milliseconds a second; None before
    /// the first measurement.
    programs_ms_per_s: Option<f64>,
}

impl Default for Totals {
    fn default() -> Self {
        Totals {
            names: Names::bounded(),
            watched_s: 0.0,
            swept_s: 0.0,
            lost: Counters::default(),
            found: Counters::default(),
            found_lost: Counters::default(),
            nodes: Counters::default(),
            tool_s: 0.0,
            programs_s: 0.0,
            programs_ms_per_s: None,
        }
    }
}

impl Totals {
    /// Adds the figures of an interval; intervals do not overlap. The findings come from `last`,
    /// the last seconds, since some findings need more than one interval.
    pub fn add(&mut self, interval: &Live, last: &Live) {
        let seconds = interval.over_ns as f64 / 1e9;
        self.watched_s += seconds;
        let now = self.watched_s;
        self.names.begin(now);
        for victim in &interval.victims {
            let labels = self.names.program(&victim.program);
            for (part, ns) in parts(victim) {
                self.lost.add(with(&labels, "part", part), ns as f64 / 1e9, now);
            }
        }
        let mut found = BTreeSet::new();
        for finding in &last.findings {
            let labels = self.names.finding(finding);
            // Several findings may have the same labels.
            let is_first = found.insert(labels.clone());
            self.found.add(labels.clone(), if is_first { seconds } else { 0.0 }, now);
            self.found_lost.add(labels, finding.cost_ms_per_s / 1e3 * seconds, now);
        }
        for node in &interval.nodes {
            let labels = self.names.node(node);
            for (did, ns) in did(node) {
                self.nodes.add(with(&labels, "did", did), ns as f64 / 1e9, now);
            }
        }
        let cost = &interval.cost;
        self.tool_s += cost.tool_ms_per_s / 1e3 * seconds;
        // The cost is measured in some intervals only.
        self.programs_ms_per_s = cost.programs_ms_per_s.or(self.programs_ms_per_s);
        self.programs_s += self.programs_ms_per_s.unwrap_or(0.0) / 1e3 * seconds;
        if now - self.swept_s >= SWEEP_S {
            self.sweep();
        }
    }

    fn sweep(&mut self) {
        self.swept_s = self.watched_s;
        let last_s = self.watched_s - FORGOTTEN_S;
        self.names.forget(last_s);
        let names = &self.names;
        for counters in [&mut self.lost, &mut self.found, &mut self.found_lost, &mut self.nodes] {
            counters.0.retain(|labels, one| one.at_s >= last_s && names.know(labels));
        }
    }

    /// The metrics without the last part, which [`ending`] gives. `last` has the answers of the
    /// last seconds. The first sample of a counter is 0, so that Prometheus can compute its rate
    /// from then on.
    pub fn text(&mut self, last: &Live) -> String {
        let all = [self.counters(last), self.gauges(last)].concat();
        let mut text = write(all);
        text.truncate(text.strip_suffix(END).map_or(text.len(), str::len));
        text
    }

    fn counters(&mut self, last: &Live) -> Vec<Family> {
        let cost = |of: &str, value| (vec![("of", of.to_owned())], value);
        // A cost that was never measured is absent, not 0.
        let of_programs = self.programs_ms_per_s.map(|_| cost("programs", self.programs_s));
        let of_tool = cost("tool", self.tool_s);
        let all = [
            (
                "tailback_watch_lost_seconds",
                "Time that all threads of a program lost, by part",
                self.lost.samples(),
            ),
            (
                "tailback_watch_finding_seconds",
                "Time during which there was a finding",
                self.found.samples(),
            ),
            (
                "tailback_watch_finding_lost_seconds",
                "Time that a finding cost: all threads of its victim; or all programs under a \
                 quota, or a group above memory.high, while this program lost most",
                self.found_lost.samples(),
            ),
            (
                "tailback_watch_node_seconds",
                "Time of the schedulers of an Erlang node, by activity",
                self.nodes.samples(),
            ),
            (
                "tailback_watch_cost_seconds",
                "CPU time that tailback watch itself uses",
                [of_tool].into_iter().chain(of_programs).collect(),
            ),
            (
                "tailback_watch_lost_threads",
                "Threads that were not counted, for lack of room; a thread counts in each interval \
                 in which it is missing",
                vec![(Vec::new(), last.cost.lost_threads as f64)],
            ),
            (
                "tailback_watch_watched_seconds",
                "Time that was watched",
                vec![(Vec::new(), self.watched_s)],
            ),
        ];
        all.map(|(name, help, samples)| Family::counter(name, help, samples)).into()
    }

    fn gauges(&self, last: &Live) -> Vec<Family> {
        let one = |value: f64| vec![(Vec::new(), value)];
        let infos = self.names.groups().into_iter().map(|labels| (labels, 1.0));
        let all = [
            (
                "tailback_watch_stall",
                "1 if there is a finding, 0 if there is none; absent where the stall cannot be \
                 measured",
                answers(last),
            ),
            (
                "tailback_watch_group_info",
                "The workload of a group in the other figures; always 1",
                infos.collect(),
            ),
            (
                "tailback_watch_folded_names",
                "Names that are added up as other, because the number of names is limited",
                one(self.names.folded() as f64),
            ),
            (
                "tailback_watch_missing_source",
                "A source of figures that is not available here; always 1",
                missing(last),
            ),
            (
                "tailback_watch_memory_bytes",
                "Memory that tailback watch itself uses",
                one(last.cost.memory_bytes as f64),
            ),
        ];
        all.map(|(name, help, samples)| Family::gauge(name, help, samples)).into()
    }
}

/// The sources that are not available, by their names in a record.
fn missing(last: &Live) -> Vec<(Labels, f64)> {
    let missing = last.sources.iter().filter(|one| one.missing.is_some());
    let name = |source| serde_json::to_value(source).ok()?.as_str().map(str::to_owned);
    let names = missing.filter_map(|one| name(one.source));
    names.map(|name| (vec![("source", name)], 1.0)).collect()
}

/// The last part of the metrics: the age of the figures.
pub fn ending(age: Duration) -> String {
    write(vec![Family::gauge(
        "tailback_watch_age_seconds",
        "Time since these figures were read; it grows while watch hangs",
        vec![(Vec::new(), age.as_millis() as f64 / 1e3)],
    )])
}

fn with(labels: &Labels, label: &'static str, value: &str) -> Labels {
    let mut all = labels.clone();
    all.push((label, value.to_owned()));
    all
}

/// Counters of one metric, each with the time of its last addition.
#[derive(Debug, Default)]
struct Counters(BTreeMap<Labels, Counter>);

#[derive(Debug, Default)]
struct Counter {
    sum: f64,
    at_s: f64,
    was_shown: bool,
}

impl Counters {
    fn add(&mut self, labels: Labels, value: f64, now_s: f64) {
        let counter = self.0.entry(labels).or_default();
        counter.sum += value;
        counter.at_s = now_s;
    }

    fn samples(&mut self) -> Vec<(Labels, f64)> {
        let show = |(labels, counter): (&Labels, &mut Counter)| {
            let was_shown = std::mem::replace(&mut counter.was_shown, true);
            (labels.clone(), if was_shown { counter.sum } else { 0.0 })
        };
        self.0.iter_mut().map(show).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{
        Answer, AnswerState, Cost, Finding, Missing, Parts, Program, Source, SourceUse, Victim,
    };

    fn interval(name: impl Fn(usize) -> String) -> Live {
        let victim = |number: usize| Victim {
            program: Program { name: name(number), ..Program::default() },
            parts: Parts {
                ready_ns: 500_000_000,
                not_told_apart_ns: 500_000_000,
                ..Parts::default()
            },
            ..Victim::default()
        };
        let victims = (0..64).map(victim).collect();
        Live { over_ns: 1_000_000_000, victims, ..Live::default() }
    }

    fn text(totals: &mut Totals, last: &Live) -> String {
        totals.text(last) + &ending(Duration::from_millis(1_500))
    }

    #[test]
    fn counters_grow_by_what_each_interval_lost() {
        let mut totals = Totals::default();
        let finding = Finding {
            stall: "cpu-quota".to_owned(),
            victim: Program { name: "p0".to_owned(), ..Program::default() },
            cost_ms_per_s: 250.0,
            ..Finding::default()
        };
        let answer = Answer { stall: "cpu-quota".to_owned(), state: AnswerState::Hitting };
        let live = Live {
            findings: vec![finding],
            answers: vec![answer],
            sources: vec![
                SourceUse { source: Source::CpuStat, missing: None },
                SourceUse { source: Source::GroupsAbove, missing: Some(Missing::CgroupNamespace) },
            ],
            cost: Cost {
                tool_ms_per_s: 2.0,
                programs_ms_per_s: Some(4.0),
                memory_bytes: 7,
                ..Cost::default()
            },
            ..interval(|number| format!("p{number}"))
        };
        totals.add(&live, &live);
        // A reader of sums would miss the loss before the first sample.
        let first = text(&mut totals, &live);
        let is_zero = |line: &&str| !line.contains("_total{program") || line.ends_with(" 0.0");
        assert!(first.lines().all(|line| is_zero(&line)), "{first}");
        let unmeasured =
            Live { cost: Cost { programs_ms_per_s: None, ..live.cost }, ..live.clone() };
        (1..4).for_each(|_| totals.add(&unmeasured, &unmeasured));
        let text = text(&mut totals, &live);
        for line in [
            r#"tailback_watch_lost_seconds_total{program="p0",group="/",part="not-told-apart"} 2.0"#,
            r#"tailback_watch_lost_seconds_total{program="p0",group="/",part="own-quota"} 0.0"#,
            r#"tailback_watch_finding_seconds_total{program="p0",group="/",limit="",stall="cpu-quota",culprit=""} 4.0"#,
            r#"tailback_watch_finding_lost_seconds_total{program="p0",group="/",limit="",stall="cpu-quota",culprit=""} 1.0"#,
            r#"tailback_watch_cost_seconds_total{of="tool"} 0.008"#,
            r#"tailback_watch_cost_seconds_total{of="programs"} 0.016"#,
            r#"tailback_watch_stall{stall="cpu-quota"} 1.0"#,
            "tailback_watch_watched_seconds_total{} 4.0",
            "tailback_watch_memory_bytes{} 7.0",
            r#"tailback_watch_missing_source{source="groups-above"} 1.0"#,
            "# TYPE tailback_watch_lost_seconds counter",
            "# UNIT tailback_watch_lost_seconds seconds",
            "# TYPE tailback_watch_stall gauge",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in:\n{text}");
        }
        assert!(!text.contains("cpu-stat"), "{text}");
    }

    #[test]
    fn a_cost_that_was_never_measured_has_no_sample() {
        let mut totals = Totals::default();
        let live = |programs_ms_per_s| Live {
            cost: Cost { tool_ms_per_s: 2.0, programs_ms_per_s, ..Cost::default() },
            ..interval(|number| format!("p{number}"))
        };
        let of_programs = r#"tailback_watch_cost_seconds_total{of="programs"}"#;
        totals.add(&live(None), &live(None));
        let before = text(&mut totals, &live(None));
        assert!(before.contains(r#"{of="tool"} 0.002"#), "{before}");
        assert!(!before.contains(of_programs), "{before}");
        totals.add(&live(Some(4.0)), &live(Some(4.0)));
        let after = text(&mut totals, &live(None));
        assert!(after.contains(&format!("{of_programs} 0.004")), "{after}");
    }

    #[test]
    fn names_cannot_break_out_of_a_line() {
        let mut totals = Totals::default();
        let live = interval(|number| format!("a\"}} 1\nevil{number}"));
        totals.add(&live, &live);
        let text = text(&mut totals, &live);
        assert!(text.lines().all(|l| l.starts_with("# ") || l.starts_with("tailback_")), "{text}");
        assert!(text.ends_with(END) && text.matches(END).count() == 1, "{text}");
        assert!(text.contains("\ntailback_watch_age_seconds{} 1.5\n"), "{text}");
    }

    #[test]
    fn programs_that_rename_themselves_make_no_endless_series() {
        let (mut totals, mut series) = (Totals::default(), BTreeSet::new());
        for second in 0..200 {
            let live = interval(|number| format!("eve{second}-{number}"));
            totals.add(&live, &live);
            series.extend(totals.lost.0.keys().cloned());
        }
        assert!(series.len() < 1_600, "{}", series.len());
        // The time of all names is still there, added up.
        let sum: f64 = totals.lost.0.values().map(|counter| counter.sum).sum();
        assert!((sum - 200.0 * 64.0 * 0.5).abs() < 1e-6, "{sum}");
        assert_eq!(totals.names.folded(), 64);
    }

    #[test]
    fn what_lost_nothing_for_an_hour_makes_room_for_others() {
        let mut totals = Totals::default();
        // Short-lived containers, each in its own group.
        let in_group = |group: &str| {
            let mut live = interval(|number| format!("p{number}"));
            live.victims.truncate(20);
            for victim in &mut live.victims {
                victim.program.group = Some(group.to_owned());
            }
            live
        };
        let add = |totals: &mut Totals, live: Live| totals.add(&live, &live);
        let has = |totals: &mut Totals, group: &str| {
            text(totals, &Live::default()).contains(&format!("program=\"p0\",group=\"{group}\""))
        };
        let quiet = || Live { over_ns: 60_000_000_000, ..Live::default() };
        (0..2).for_each(|_| add(&mut totals, in_group("/old")));
        assert!(has(&mut totals, "/old"));
        (0..59).for_each(|_| add(&mut totals, quiet()));
        assert!(has(&mut totals, "/old"), "not yet");
        (0..2).for_each(|_| add(&mut totals, quiet()));
        assert!(!has(&mut totals, "/old"));
        // Ten containers an hour, for days.
        for number in 0..600 {
            add(&mut totals, in_group(&format!("/{number}")));
            (0..6).for_each(|_| add(&mut totals, quiet()));
            assert!(has(&mut totals, &format!("/{number}")), "all names were used up");
        }
        assert!(totals.lost.0.len() <= 14 * 1_001, "{}", totals.lost.0.len());
    }
}
