//! An answer for each known stall: hitting, measured and not hitting, or not measurable here.

use crate::findings::Most;
use crate::limits;
use model::live::{Answer, AnswerState, Finding, NotMeasurable, Source, SourceUse, stall};

/// Stalls of Erlang nodes, by the ids of their scenarios.
const OF_NODES: [&str; 3] = ["blocking-nif", "mailbox-flood", "busy-wait"];

/// All answers, in the order of `tailback list`, the two without a scenario last.
pub fn all(findings: &[Finding], most: &Most, sources: &[SourceUse]) -> Vec<Answer> {
    let missing = |source: Source| {
        let of = sources.iter().find(|one| one.source == source);
        of.is_none_or(|one| one.missing.is_some())
    };
    let programs = || {
        let of = sources.iter().find(|one| one.source == Source::Scheduler);
        of.and_then(|one| one.missing.clone())
    };
    let measured =
        |id: &str, most: f64, at: f64| match findings.iter().any(|f| f.kind.stall() == id) {
            true => AnswerState::Hitting,
            false => AnswerState::NotHitting { most_ms_per_s: most, finding_at_ms_per_s: at },
        };
    let scheduler = |id: &str, most: f64, at: f64| match programs() {
        Some(why) => AnswerState::NotMeasurable(NotMeasurable::NoPrograms(why)),
        None => measured(id, most, at),
    };
    let lock = match programs() {
        Some(why) => AnswerState::NotMeasurable(NotMeasurable::NoPrograms(why)),
        None if missing(Source::MmapLock) => {
            AnswerState::NotMeasurable(NotMeasurable::NoLockTracepoints)
        }
        None => measured(stall::MMAP_LOCK, most.foreign, limits::FOREIGN_MS_PER_S),
    };
    let quota = match missing(Source::CpuStat) {
        true => AnswerState::NotMeasurable(NotMeasurable::NoGroups),
        false => measured(stall::CPU_QUOTA, most.quota, limits::QUOTA_MS_PER_S),
    };
    let answer = |stall: &str, state| Answer { stall: stall.to_owned(), state };
    let no_node = || AnswerState::NotMeasurable(NotMeasurable::NoNode);
    let mut all = vec![answer(stall::MMAP_LOCK, lock), answer(stall::CPU_QUOTA, quota)];
    all.extend(OF_NODES.map(|id| answer(id, no_node())));
    all.push(answer("preempted-holder", AnswerState::NotMeasurable(NotMeasurable::LockInProgram)));
    let neighbour = scheduler(stall::NEIGHBOUR, most.neighbour, limits::NEIGHBOUR_MS_PER_S);
    all.push(answer(stall::NEIGHBOUR, neighbour));
    let idle = scheduler(stall::BESIDE_IDLE, most.beside_idle, limits::BESIDE_IDLE_MS_PER_S);
    all.push(answer(stall::BESIDE_IDLE, idle));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(missing: Option<Source>) -> Vec<SourceUse> {
        [Source::Scheduler, Source::MmapLock, Source::CpuStat]
            .map(|source| SourceUse {
                source,
                missing: (missing == Some(source)).then(|| "not here".to_owned()),
            })
            .into()
    }

    fn state(sources: &[SourceUse], id: &str) -> AnswerState {
        let all = all(&[], &Most { foreign: 1.5, ..Most::default() }, sources);
        all.into_iter().find(|one| one.stall == id).unwrap().state
    }

    #[test]
    fn every_scenario_has_an_answer() {
        let all = all(&[], &Most::default(), &sources(None));
        for scenario in scenarios::ALL {
            assert!(all.iter().any(|answer| answer.stall == scenario.meta().id));
        }
    }

    #[test]
    fn what_was_not_measured_is_never_said_not_to_hit() {
        let nothing = AnswerState::NotHitting { most_ms_per_s: 1.5, finding_at_ms_per_s: 2.0 };
        assert_eq!(state(&sources(None), "mmap-lock"), nothing);
        let none = sources(Some(Source::Scheduler));
        let why = NotMeasurable::NoPrograms("not here".to_owned());
        assert_eq!(state(&none, "mmap-lock"), AnswerState::NotMeasurable(why.clone()));
        assert_eq!(state(&none, "neighbour"), AnswerState::NotMeasurable(why));
        assert!(matches!(state(&none, "cpu-quota"), AnswerState::NotHitting { .. }));
        let none = sources(Some(Source::MmapLock));
        let why = AnswerState::NotMeasurable(NotMeasurable::NoLockTracepoints);
        assert_eq!(state(&none, "mmap-lock"), why);
        let none = sources(Some(Source::CpuStat));
        assert_eq!(state(&none, "cpu-quota"), AnswerState::NotMeasurable(NotMeasurable::NoGroups));
        assert_eq!(
            state(&sources(None), "busy-wait"),
            AnswerState::NotMeasurable(NotMeasurable::NoNode)
        );
    }
}
