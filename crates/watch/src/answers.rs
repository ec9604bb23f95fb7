//! An answer for each known stall: hitting, measured and not hitting, or not measurable here.

use crate::findings::Most;
use crate::limits;
use model::live::{Answer, AnswerState, Finding, NotMeasurable, Source, SourceUse, stall};

/// Which nodes were looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Looked {
    /// Whether any runs here.
    pub nodes: bool,
    /// Whether any was asked.
    pub asked: bool,
    /// Whether any answered.
    pub said: bool,
}

/// All answers, in the order of `tailback list`, those without a scenario last.
pub fn all(
    findings: &[Finding],
    most: &Most,
    sources: &[SourceUse],
    looked: Looked,
) -> Vec<Answer> {
    let missing = |source: Source| {
        let of = sources.iter().find(|one| one.source == source);
        of.and_then(|one| one.missing.clone())
    };
    let measured =
        |id: &str, most: f64, at: f64| match findings.iter().any(|f| f.kind.stall() == id) {
            true => AnswerState::Hitting,
            false => AnswerState::NotHitting { most_ms_per_s: most, finding_at_ms_per_s: at },
        };
    let from = |source: Source, id: &str, most: f64, at: f64| match missing(source) {
        Some(why) => AnswerState::NotMeasurable(NotMeasurable::Missing(why)),
        None => measured(id, most, at),
    };
    let lock = from(Source::MmapLock, stall::MMAP_LOCK, most.foreign, limits::FOREIGN_MS_PER_S);
    // Where a lock of single mappings could not be looked at, its readers would not have been
    // found.
    let lock = match (lock, missing(Source::MappingLock)) {
        (AnswerState::NotHitting { .. }, Some(why)) => {
            AnswerState::NotMeasurable(NotMeasurable::Missing(why))
        }
        (lock, _) => lock,
    };
    let quota = from(Source::CpuStat, stall::CPU_QUOTA, most.quota, limits::QUOTA_MS_PER_S);
    let runtimes = from(Source::CpuStat, stall::QUOTA_BLIND, most.runtimes, limits::QUOTA_MS_PER_S);
    let scheduler = |id: &str, most: f64, at: f64| from(Source::Scheduler, id, most, at);
    let answer = |stall: &str, state| Answer { stall: stall.to_owned(), state };
    let of_node = |id: &str, most: f64, at: f64| match from(Source::Scheduler, id, most, at) {
        AnswerState::NotHitting { .. } if !looked.nodes => {
            AnswerState::NotMeasurable(NotMeasurable::NoNode)
        }
        state => state,
    };
    let mailbox = match looked {
        Looked { said: true, .. } => {
            measured(stall::MAILBOX_FLOOD, most.mailbox, limits::MAILBOX_MS_PER_S)
        }
        Looked { asked: true, .. } => AnswerState::NotMeasurable(NotMeasurable::NoAnswer),
        Looked { nodes: true, .. } => AnswerState::NotMeasurable(NotMeasurable::NotInside),
        _ => AnswerState::NotMeasurable(NotMeasurable::NoNode),
    };
    let mut all = vec![answer(stall::MMAP_LOCK, lock), answer(stall::CPU_QUOTA, quota)];
    let native = of_node(stall::BLOCKING_NIF, most.native, limits::NATIVE_MS_PER_S);
    all.push(answer(stall::BLOCKING_NIF, native));
    all.push(answer(stall::MAILBOX_FLOOD, mailbox));
    let spun = of_node(stall::BUSY_WAIT, most.spun, limits::QUOTA_MS_PER_S);
    all.push(answer(stall::BUSY_WAIT, spun));
    let spin = from(Source::Samples, stall::PREEMPTED_HOLDER, most.spin, limits::SPIN_MS_PER_S);
    all.push(answer(stall::PREEMPTED_HOLDER, spin));
    all.push(answer(stall::QUOTA_BLIND, runtimes));
    let memory =
        from(Source::MemoryEvents, stall::MEMORY_HIGH, most.memory, limits::MEMORY_MS_PER_S);
    all.push(answer(stall::MEMORY_HIGH, memory));
    let neighbour = scheduler(stall::NEIGHBOUR, most.neighbour, limits::NEIGHBOUR_MS_PER_S);
    all.push(answer(stall::NEIGHBOUR, neighbour));
    let idle = scheduler(stall::BESIDE_IDLE, most.beside_idle, limits::BESIDE_IDLE_MS_PER_S);
    all.push(answer(stall::BESIDE_IDLE, idle));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::Missing;
    use model::not_seen::NoPrograms;

    fn sources(missing: &[(Source, Missing)]) -> Vec<SourceUse> {
        let why = |source| missing.iter().find(|one| one.0 == source).map(|one| one.1.clone());
        [Source::Scheduler, Source::MmapLock, Source::CpuStat]
            .map(|source| SourceUse { source, missing: why(source) })
            .into()
    }

    fn state(sources: &[SourceUse], id: &str) -> AnswerState {
        let all = all(&[], &Most { foreign: 1.5, ..Most::default() }, sources, Looked::default());
        all.into_iter().find(|one| one.stall == id).unwrap().state
    }

    #[test]
    fn every_scenario_has_an_answer() {
        let all =
            all(&[], &Most::default(), &sources(&[]), Looked { nodes: true, ..Looked::default() });
        for scenario in scenarios::ALL {
            assert!(all.iter().any(|answer| answer.stall == scenario.meta().id));
        }
    }

    #[test]
    fn what_was_not_measured_is_never_said_not_to_hit() {
        let nothing = AnswerState::NotHitting { most_ms_per_s: 1.5, finding_at_ms_per_s: 2.0 };
        assert_eq!(state(&sources(&[]), "mmap-lock"), nothing);
        let not = |why: &Missing| AnswerState::NotMeasurable(NotMeasurable::Missing(why.clone()));
        let why = Missing::NoPrograms(NoPrograms::Privilege);
        let none = sources(&[(Source::Scheduler, why.clone()), (Source::MmapLock, why.clone())]);
        assert_eq!(state(&none, "mmap-lock"), not(&why));
        assert_eq!(state(&none, "neighbour"), not(&why));
        assert!(matches!(state(&none, "cpu-quota"), AnswerState::NotHitting { .. }));
        let none = sources(&[(Source::MmapLock, Missing::NoLockTracepoints)]);
        assert_eq!(state(&none, "mmap-lock"), not(&Missing::NoLockTracepoints));
        let mut hidden = sources(&[]);
        let why = Missing::NoSymbols;
        hidden.push(SourceUse { source: Source::MappingLock, missing: Some(why.clone()) });
        assert_eq!(state(&hidden, "mmap-lock"), not(&why));
        let none = sources(&[(Source::CpuStat, Missing::NoGroups)]);
        assert_eq!(state(&none, "cpu-quota"), not(&Missing::NoGroups));
        let node = AnswerState::NotMeasurable(NotMeasurable::NoNode);
        assert_eq!(state(&sources(&[]), "busy-wait"), node);
    }
}
