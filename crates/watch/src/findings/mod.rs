//! Turns sums into findings and answers. Pure, with one file for each stall.
//!
//! A new finding is one file that implements `stall::Stall`, and one line in `ALL`.

mod asleep_behind;
mod beside_idle;
mod blocking_nif;
mod busy_wait;
mod confined;
mod cpu_quota;
mod group_move;
mod io_journal;
mod mailbox_flood;
mod memory_high;
mod memory_stall;
mod mmap_lock;
mod more_schedulers;
mod neighbour;
mod node_quota;
mod own_mmap_lock;
mod preempted_holder;
mod quota;
mod quota_blind;
mod real_time;
mod sleepers;
mod stall;
mod uneven_queues;
pub mod words;

use crate::window::Window;
use model::live::{Answer, Finding, SourceUse};
pub use stall::{Entry, LEAST_SAMPLES};
use stall::{Seen, Stall};

/// All stalls that are looked for. At the same cost, the earlier one comes first: what used up
/// the quota of a node comes before the quota itself.
const ALL: &[Entry] = &[
    Entry::of::<busy_wait::BusyWait>(),
    Entry::of::<more_schedulers::MoreSchedulers>(),
    Entry::of::<blocking_nif::BlockingNif>(),
    Entry::of::<mailbox_flood::MailboxFlood>(),
    Entry::of::<uneven_queues::UnevenQueues>(),
    Entry::of::<mmap_lock::MmapLock>(),
    Entry::of::<own_mmap_lock::OwnMmapLock>(),
    Entry::of::<cpu_quota::CpuQuota>(),
    Entry::of::<quota_blind::QuotaBlind>(),
    Entry::of::<real_time::RealTime>(),
    Entry::of::<neighbour::Neighbour>(),
    Entry::of::<confined::Confined>(),
    Entry::of::<beside_idle::BesideIdle>(),
    Entry::of::<preempted_holder::PreemptedHolder>(),
    Entry::of::<memory_high::MemoryHigh>(),
    Entry::of::<memory_stall::MemoryStall>(),
    Entry::of::<asleep_behind::AsleepBehind>(),
    Entry::of::<group_move::GroupMove>(),
    Entry::of::<io_journal::IoJournal>(),
];

/// The fewest seconds that are a basis for a finding.
const LEAST_SECONDS: f64 = 0.5;

/// The stall with this id.
pub fn find(id: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.id == id)
}

/// Whether a window is long enough for a finding.
pub(crate) fn may_be_in(window: &Window) -> bool {
    window.seconds() >= LEAST_SECONDS
}

/// Whether a finding is about a program that is stalled for memory.
pub(crate) fn is_for_memory(finding: &Finding) -> bool {
    [memory_high::MemoryHigh::ID, memory_stall::MemoryStall::ID].contains(&finding.stall.as_str())
}

/// The findings that follow from answers of nodes. One interval may be too short for them.
pub(crate) fn by_answers(window: &Window) -> Vec<Finding> {
    let all = ALL.iter().filter(|entry| entry.needs_answers);
    all.flat_map(|entry| (entry.find)(window)).collect()
}

/// All findings, the most costly first.
pub(crate) fn all(window: &Window) -> Vec<Finding> {
    if !may_be_in(window) {
        return Vec::new();
    }
    let of = |entry: &Entry| {
        let mut found = (entry.find)(window);
        if entry.stands_ready {
            found.iter_mut().for_each(|one| one.sleepers = sleepers::of(window, &one.victim));
        }
        found
    };
    let mut all: Vec<Finding> = ALL.iter().flat_map(of).collect();
    // Costs that were added up in another order differ in their last digits.
    let cost = |finding: &Finding| (finding.cost_ms_per_s * 1e3).round();
    all.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    all
}

/// All answers, in the order of `tailback list`; those without a scenario come last. A window that
/// is too short for a finding says *no* to nothing.
pub(crate) fn answers(window: &Window, findings: &[Finding], sources: &[SourceUse]) -> Vec<Answer> {
    let seen = Seen { window, findings, sources };
    let all = in_order().into_iter().filter_map(|entry| seen.answer(entry));
    let of = |one: Answer| Answer { state: seen.unless_too_short(LEAST_SECONDS, one.state), ..one };
    all.map(of).collect()
}

/// The stalls, in the order of `tailback list`; those without a scenario come last.
fn in_order() -> Vec<&'static Entry> {
    let place = |entry: &&Entry| {
        let place = scenarios::ALL.iter().position(|one| one.meta().id == entry.scenario);
        place.unwrap_or(usize::MAX)
    };
    let mut all: Vec<&Entry> = ALL.iter().collect();
    all.sort_by_key(place);
    all
}

/// Findings that contain every sentence of every stall.
#[cfg(any(test, feature = "testing"))]
pub fn samples() -> Vec<Finding> {
    ALL.iter().flat_map(|entry| (entry.samples)()).collect()
}

/// Every state that the answer of a stall may have.
#[cfg(any(test, feature = "testing"))]
pub fn answer_samples() -> Vec<Answer> {
    use model::live::AnswerState::{Hitting, NotHitting};
    let window = Window::default();
    let seen = Seen { window: &window, findings: &[], sources: &[] };
    let with_answers = ALL.iter().filter(|entry| seen.answer(entry).is_some());
    let no = NotHitting { most_ms_per_s: 1.25, finding_at_ms_per_s: 10.0 };
    let of = |entry: &Entry| {
        [Hitting, no.clone()].map(|state| Answer { stall: entry.id.to_owned(), state })
    };
    with_answers.flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, second};
    use crate::tick::Tick;
    use model::live::{AnswerState, Missing, NotMeasurable, Opaque, Source};
    use model::not_seen::NoPrograms;
    use serde_json::Value;

    fn sources(missing: &[(Source, Missing)]) -> Vec<SourceUse> {
        let why = |source| missing.iter().find(|one| one.0 == source).map(|one| one.1.clone());
        [Source::Scheduler, Source::MmapLock, Source::CpuStat]
            .map(|source| SourceUse { source, missing: why(source) })
            .into()
    }

    fn state(sources: &[SourceUse], id: &str) -> AnswerState {
        let all = answers(&Window::of([&second()]), &[], sources);
        all.into_iter().find(|one| one.stall == id).unwrap().state
    }

    #[test]
    fn every_scenario_has_an_answer_in_the_order_of_the_list() {
        let all = answers(&Window::default(), &[], &[]);
        let of = |answer: &Answer| find(&answer.stall).unwrap().scenario;
        let found: Vec<&str> = all.iter().map(of).collect();
        let wanted: Vec<&str> = scenarios::ALL.iter().map(|one| one.meta().id).collect();
        assert!(found.starts_with(&wanted) && found.len() > wanted.len(), "{found:?}");
    }

    #[test]
    fn what_was_not_measured_is_never_said_not_to_hit() {
        let no = |state| matches!(state, AnswerState::NotHitting { .. });
        assert!(no(state(&sources(&[]), "mmap-lock")));
        let not = |why: &Missing| AnswerState::NotMeasurable(NotMeasurable::Missing(why.clone()));
        let why = Missing::NoPrograms(NoPrograms::Privilege);
        let none = sources(&[(Source::Scheduler, why.clone()), (Source::MmapLock, why.clone())]);
        assert_eq!(state(&none, "mmap-lock"), not(&why));
        assert_eq!(state(&none, "neighbour"), not(&why));
        assert!(no(state(&none, "cpu-quota")));
        let none = sources(&[(Source::MmapLock, Missing::NoLockTracepoints)]);
        assert_eq!(state(&none, "mmap-lock"), not(&Missing::NoLockTracepoints));
        let mut hidden = sources(&[]);
        let why = Missing::NoSymbols;
        hidden.push(SourceUse { source: Source::MappingLock, missing: Some(why.clone()) });
        assert_eq!(state(&hidden, "mmap-lock"), not(&why));
        let mut hidden = sources(&[]);
        hidden.push(SourceUse { source: Source::Calls, missing: Some(Missing::NoCalls) });
        assert_eq!(state(&hidden, "asleep-behind"), not(&Missing::NoCalls));
        let none = sources(&[(Source::CpuStat, Missing::NoGroups)]);
        assert_eq!(state(&none, "cpu-quota"), not(&Missing::NoGroups));
        let node = AnswerState::NotMeasurable(NotMeasurable::NoNode);
        assert_eq!(state(&sources(&[]), "busy-wait"), node);
        assert_eq!(state(&sources(&[]), "mailbox-flood"), node);
    }

    #[test]
    fn what_a_full_table_left_out_is_never_said_not_to_hit() {
        let state = |window: &Window, id: &str| {
            let all = answers(window, &[], &sources(&[]));
            all.into_iter().find(|one| one.stall == id).unwrap().state
        };
        let is_full = |window: &Window, id: &str| {
            state(window, id) == AnswerState::NotMeasurable(NotMeasurable::TableFull)
        };
        let threads = Window { lost_threads: 1, ..Window::default() };
        assert!(is_full(&threads, "neighbour") && is_full(&threads, "mmap-lock"));
        assert!(!is_full(&threads, "cpu-quota"));
        let mut pairs = Window::of([&second()]);
        pairs.unnamed_ns = 99 * MS;
        assert!(!is_full(&pairs, "neighbour"));
        pairs.unnamed_ns = 100 * MS;
        assert!(is_full(&pairs, "neighbour") && !is_full(&pairs, "mmap-lock"));
    }

    #[test]
    fn a_look_that_is_too_short_for_a_finding_says_no_to_nothing() {
        let is_no = |one: &Answer| matches!(one.state, AnswerState::NotHitting { .. });
        let says_no = |over_ms: u64| {
            let window = Window::of([&Tick { over_ns: over_ms * MS, ..second() }]);
            answers(&window, &[], &sources(&[])).iter().any(is_no)
        };
        assert_eq!([300, 600].map(says_no), [false, true]);
    }

    #[test]
    fn a_finding_is_an_answer_that_hits() {
        let found = &samples()[0];
        let all = answers(&Window::default(), std::slice::from_ref(found), &[]);
        let of_it = all.iter().find(|one| one.stall == found.stall).unwrap();
        assert_eq!(of_it.state, AnswerState::Hitting);
    }

    #[test]
    fn every_stall_has_samples_with_sentences_that_end() {
        for entry in ALL {
            let samples = (entry.samples)();
            assert!(!samples.is_empty() && find(entry.id).is_some(), "{}", entry.id);
            for finding in samples {
                let cause = entry.cause(&finding).unwrap();
                assert!(cause.ends_with('.') && !cause.contains("  "), "{cause}");
                assert!(!entry.fixes(&finding).is_empty(), "{}", entry.id);
            }
        }
        let strange = Finding { facts: Opaque::of(&"strange"), ..Finding::default() };
        assert!(ALL.iter().all(|entry| entry.cause(&strange).is_none()));
    }

    /// Replaces every text by this one.
    fn spoil(value: &mut Value, text: &str) {
        match value {
            Value::String(own) => *own = text.to_owned(),
            Value::Array(all) => all.iter_mut().for_each(|one| spoil(one, text)),
            Value::Object(all) => all.values_mut().for_each(|one| spoil(one, text)),
            _ => {}
        }
    }

    /// The facts with one text replaced by this one, for each text in turn.
    fn spoilt(facts: &Value, text: &str) -> Vec<Value> {
        let Value::Object(fields) = facts else { return Vec::new() };
        let of = |name: &String| {
            let mut facts = facts.clone();
            spoil(&mut facts[name], text);
            facts
        };
        fields.keys().map(of).collect()
    }

    #[test]
    fn no_text_of_the_facts_can_steer_a_terminal() {
        let mut read = 0;
        for finding in samples() {
            let facts: Value = finding.facts.read().unwrap();
            for facts in spoilt(&facts, "\u{1b}[2J\n") {
                let finding = Finding { facts: Opaque::of(&facts), ..finding.clone() };
                let Some(cause) = find(&finding.stall).unwrap().cause(&finding) else { continue };
                assert!(!cause.contains(['\u{1b}', '\n']), "{cause:?}");
                read += 1;
            }
        }
        assert!(read > 50, "{read}");
    }
}
