//! What the file of a stall declares, and the entry that is made of it for the one list.

use crate::inside::InsideSums;
use crate::window::Window;
use model::live::{
    Answer, AnswerState, Finding, Missing, NotMeasurable, Opaque, Source, SourceUse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// With fewer samples of what threads run than this, a share of samples is chance.
pub const LEAST_SAMPLES: u64 = 20;

/// Most threads a second that may lose their place in the table before they are read. That many
/// are few beside the thousands that the table holds.
const MOST_LOST_A_SECOND: f64 = 0.1;

/// Most fixes of one finding that are shown: a record may come from anywhere.
const MOST_FIXES: usize = 16;

/// A stall that is found in a live system. Everything about it is in its own file.
pub trait Stall: 'static {
    /// Its id: the id of its scenario, or a name of its own.
    const ID: &'static str;

    /// The id of the scenario that provokes it in the lab, if there is one.
    const SCENARIO: &'static str = Self::ID;

    /// Its name in a line of answers.
    const NAME: &'static str = Self::ID;

    /// The cost from which on it is a finding, in milliseconds a second; 0 if the cost alone does
    /// not decide.
    const LIMIT_MS_PER_S: f64 = 0.0;

    /// Whether its victim is runnable without a CPU, so that others may sleep until it runs.
    const STANDS_READY: bool = false;

    /// Whether it depends on which programs ran while its victim was runnable.
    const NAMES_WHO_RAN: bool = false;

    /// Whether one interval may be too short for it: a node answers once a second.
    const NEEDS_ANSWERS: bool = false;

    /// The figures of a case.
    type Facts: Serialize + DeserializeOwned;

    /// What may fix it.
    type Fix: Serialize + DeserializeOwned;

    /// The findings in a window.
    fn find(window: &Window) -> Vec<Finding>;

    /// The answer, if the stall has its own line among the answers.
    fn answer(_seen: &Seen) -> Option<AnswerState> {
        None
    }

    /// The sentences that say how the victim is held up, and by whom.
    fn cause(finding: &Finding, facts: &Self::Facts) -> String;

    /// A fix as a sentence.
    fn fix(fix: &Self::Fix) -> String;

    /// The group whose quota such a finding is about; None if it is about no quota. Several stalls
    /// may be about the same one.
    fn quota(_facts: &Self::Facts) -> Option<&str> {
        None
    }

    /// The group that is held up as a whole, by its quota or another limit of its own; None if a
    /// finding is about its victim alone.
    fn whole_group(_facts: &Self::Facts) -> Option<&str> {
        None
    }

    /// Facts and fixes that contain every sentence of this stall.
    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Self::Facts, Vec<Self::Fix>)>;

    /// A finding with these facts and fixes; the caller adds victim, culprits and cost.
    fn found(facts: &Self::Facts, fixes: &[Self::Fix]) -> Finding {
        Finding {
            stall: Self::ID.to_owned(),
            limit_ms_per_s: Self::LIMIT_MS_PER_S,
            facts: Opaque::of(facts),
            fixes: Opaque::of(&fixes),
            ..Finding::default()
        }
    }
}

/// A stall in the list of all.
#[derive(Debug)]
pub struct Entry {
    /// Its id.
    pub id: &'static str,
    pub(super) scenario: &'static str,
    /// Its name in a line of answers.
    pub name: &'static str,
    pub(crate) stands_ready: bool,
    pub(super) needs_answers: bool,
    pub(super) find: fn(&Window) -> Vec<Finding>,
    pub(super) answer: fn(&Seen) -> Option<AnswerState>,
    quota: fn(&Finding) -> Option<String>,
    whole_group: fn(&Finding) -> Option<String>,
    cause: fn(&Finding) -> Option<String>,
    fixes: fn(&Finding) -> Vec<String>,
    #[cfg(any(test, feature = "testing"))]
    pub(super) samples: fn() -> Vec<Finding>,
}

impl Entry {
    pub(super) const fn of<S: Stall>() -> Self {
        Entry {
            id: S::ID,
            scenario: S::SCENARIO,
            name: S::NAME,
            stands_ready: S::STANDS_READY,
            needs_answers: S::NEEDS_ANSWERS,
            find: S::find,
            answer: S::answer,
            quota: |finding| S::quota(&finding.facts.read()?).map(str::to_owned),
            whole_group: |finding| S::whole_group(&finding.facts.read()?).map(str::to_owned),
            cause: |finding| finding.facts.read().map(|facts| S::cause(finding, &facts)),
            fixes: |finding| {
                let all: Vec<S::Fix> = finding.fixes.read().unwrap_or_default();
                all.iter().take(MOST_FIXES).map(S::fix).collect()
            },
            #[cfg(any(test, feature = "testing"))]
            samples: || {
                let all = S::samples().into_iter();
                all.map(|(facts, fixes)| sample(S::found(&facts, &fixes))).collect()
            },
        }
    }

    /// The group whose quota a finding is about.
    pub(crate) fn quota(&self, finding: &Finding) -> Option<String> {
        (self.quota)(finding)
    }

    /// The group that a finding is about as a whole.
    pub(crate) fn whole_group(&self, finding: &Finding) -> Option<String> {
        (self.whole_group)(finding)
    }

    /// The sentences that say how the victim of a finding is held up; None if the facts of the
    /// finding do not belong to this stall.
    pub fn cause(&self, finding: &Finding) -> Option<String> {
        (self.cause)(finding)
    }

    /// The fixes of a finding as sentences, the most useful first.
    pub fn fixes(&self, finding: &Finding) -> Vec<String> {
        (self.fixes)(finding)
    }
}

/// Whether a table of threads in the kernel's programs holds the sums of a source.
fn is_of_threads(source: Source) -> bool {
    match source {
        Source::Scheduler
        | Source::MmapLock
        | Source::MappingLock
        | Source::Reclaim
        | Source::GroupMoves
        | Source::Journal
        | Source::Calls
        | Source::Throttled
        | Source::Samples => true,
        Source::Schedstat
        | Source::CpuStat
        | Source::MemoryEvents
        | Source::Pressure
        | Source::Steal
        | Source::OutsidePrograms
        | Source::GroupsAbove => false,
    }
}

/// What an answer is made from.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// What was measured.
    pub window: &'a Window,
    /// What was found in it.
    pub findings: &'a [Finding],
    /// Where the figures come from.
    pub sources: &'a [SourceUse],
}

impl Seen<'_> {
    /// Whether there is a finding. If not, the most that any program loses, and where a finding
    /// begins.
    pub fn measured<S: Stall>(&self, most: f64, limit: f64) -> AnswerState {
        match self.findings.iter().any(|finding| finding.stall == S::ID) {
            true => AnswerState::Hitting,
            false => AnswerState::NotHitting { most_ms_per_s: most, finding_at_ms_per_s: limit },
        }
    }

    /// The same, with figures from a source that may be missing.
    pub fn measured_by<S: Stall>(&self, source: Source, most: f64, limit: f64) -> AnswerState {
        let missing = self.missing(source);
        let state = missing.map_or_else(|| self.measured::<S>(most, limit), not_measurable);
        match state {
            AnswerState::NotHitting { .. } if self.lacks_counts::<S>(source) => {
                AnswerState::NotMeasurable(NotMeasurable::TableFull)
            }
            state => state,
        }
    }

    /// Whether a table of the kernel's programs was full, so that the sums of a source may lack
    /// as much as makes a finding.
    fn lacks_counts<S: Stall>(&self, source: Source) -> bool {
        let window = self.window;
        let lost = window.lost_threads as f64 > window.seconds() * MOST_LOST_A_SECOND;
        let unnamed = window.rate(window.unnamed_ns) >= S::LIMIT_MS_PER_S;
        is_of_threads(source) && lost || S::NAMES_WHO_RAN && unnamed
    }

    /// The same for Erlang nodes; not measurable if no node runs, or if there was no place for one.
    pub fn measured_of_nodes<S: Stall>(&self, most: f64, limit: f64) -> AnswerState {
        match self.measured_by::<S>(Source::Scheduler, most, limit) {
            AnswerState::NotHitting { .. } if self.window.leaves_out_nodes => {
                AnswerState::NotMeasurable(NotMeasurable::MoreNodes)
            }
            AnswerState::NotHitting { .. } if self.window.nodes.is_empty() => {
                AnswerState::NotMeasurable(NotMeasurable::NoNode)
            }
            state => state,
        }
    }

    /// Allows the answer *no* only if Erlang nodes were asked and all of them answer.
    pub fn inside_nodes(&self, state: AnswerState) -> AnswerState {
        let window = self.window;
        let is_none_here = window.nodes.is_empty() && !window.leaves_out_nodes;
        let why = match (is_none_here, window.inside.is_empty()) {
            _ if state == AnswerState::Hitting => return state,
            (_, false) if window.inside.values().all(InsideSums::answers) => return state,
            (_, false) => NotMeasurable::NoAnswer,
            (false, true) => NotMeasurable::NotInside,
            (true, true) => NotMeasurable::NoNode,
        };
        AnswerState::NotMeasurable(why)
    }

    /// Allows the answer *no* only if all mailboxes of the nodes that were asked were read, and
    /// each flooded process was sampled.
    pub fn unless_unread(&self, state: AnswerState) -> AnswerState {
        let is_read = |sums: &InsideSums| sums.has_passed() && sums.sampled_all();
        match state {
            AnswerState::NotHitting { .. } if !self.window.inside.values().all(is_read) => {
                AnswerState::NotMeasurable(NotMeasurable::MailboxesUnread)
            }
            state => state,
        }
    }

    /// Allows the answer *no* only if this source is there too.
    pub fn unless_missing(&self, source: Source, state: AnswerState) -> AnswerState {
        match (state, self.missing(source)) {
            (AnswerState::NotHitting { .. }, Some(why)) => not_measurable(why),
            (state, _) => state,
        }
    }

    /// Allows the answer *no* only for a window of at least this length, in seconds.
    pub fn unless_too_short(&self, needs_s: f64, state: AnswerState) -> AnswerState {
        match state {
            AnswerState::NotHitting { .. } if self.window.seconds() < needs_s => {
                AnswerState::NotMeasurable(NotMeasurable::TooShort(needs_s.ceil() as u32))
            }
            state => state,
        }
    }

    fn missing(&self, source: Source) -> Option<Missing> {
        self.sources.iter().find(|one| one.source == source)?.missing.clone()
    }

    /// The answer of a stall.
    pub(super) fn answer(&self, entry: &Entry) -> Option<Answer> {
        let state = (entry.answer)(self)?;
        Some(Answer { stall: entry.id.to_owned(), state })
    }
}

fn not_measurable(why: Missing) -> AnswerState {
    AnswerState::NotMeasurable(NotMeasurable::Missing(why))
}

/// A sample with a victim and a culprit.
#[cfg(any(test, feature = "testing"))]
fn sample(found: Finding) -> Finding {
    use model::live::Program;
    let program = |name: &str, pid, processes| Program {
        name: name.to_owned(),
        group: Some("/app".to_owned()),
        pid,
        processes,
        ..Program::default()
    };
    Finding {
        victim: program("web", 7, 1),
        culprits: vec![program("backup", 8, 3)],
        cost_ms_per_s: 412.5,
        worst_ms: 31.0,
        since_s: Some(3.0),
        ..found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::busy_wait::BusyWait;
    use crate::inside::InsideTick;
    use crate::testing::{node, process, second};
    use std::time::Duration;

    const NO: AnswerState =
        AnswerState::NotHitting { most_ms_per_s: 0.0, finding_at_ms_per_s: 200.0 };

    /// A node that answers; its mailboxes were read and sampled if a pass has ended.
    fn asked(name: &str, state: dist::State, has_passed: bool) -> InsideTick {
        let look = dist::Look {
            state,
            inside: Some(dist::Inside::default()),
            pass: has_passed.then_some(Duration::from_secs(1)),
            sampled_all: has_passed,
            ..dist::Look::default()
        };
        InsideTick { name: name.to_owned(), look }
    }

    fn answer(asked: Vec<InsideTick>) -> AnswerState {
        let window = Window::of([&crate::Tick { inside: asked, ..second() }]);
        let seen = Seen { window: &window, findings: &[], sources: &[] };
        seen.inside_nodes(seen.unless_unread(NO))
    }

    #[test]
    fn nodes_that_do_not_all_answer_are_not_said_to_be_well() {
        use dist::State::{Answering, Silent};
        let not = AnswerState::NotMeasurable;
        assert_eq!(answer(vec![asked("a@b", Answering, true)]), NO);
        assert_eq!(answer(Vec::new()), not(NotMeasurable::NoNode));
        let silent = || asked("c@d", Silent(Duration::from_secs(3)), true);
        let one_silent = answer(vec![asked("a@b", Answering, true), silent()]);
        assert_eq!(one_silent, not(NotMeasurable::NoAnswer));
        let unread = answer(vec![asked("a@b", Answering, true), asked("c@d", Answering, false)]);
        assert_eq!(unread, not(NotMeasurable::MailboxesUnread));
        // More processes were flooded than are sampled.
        let mut crowded = asked("a@b", Answering, true);
        crowded.look.sampled_all = false;
        assert_eq!(answer(vec![crowded]), not(NotMeasurable::MailboxesUnread));
        let window = Window::of([&crate::Tick { inside: vec![silent()], ..second() }]);
        let seen = Seen { window: &window, findings: &[], sources: &[] };
        assert_eq!(seen.inside_nodes(AnswerState::Hitting), AnswerState::Hitting);
    }

    #[test]
    fn nodes_without_a_place_are_not_said_to_be_well() {
        let mut tick = second();
        process(&mut tick, 7, "beam.smp", None);
        tick.nodes.push(node(7, 2));
        let answer = |tick: &crate::Tick| {
            let window = Window::of([tick]);
            let seen = Seen { window: &window, findings: &[], sources: &[] };
            seen.measured_of_nodes::<BusyWait>(0.0, 200.0)
        };
        assert_eq!(answer(&tick), NO);
        let more = AnswerState::NotMeasurable(NotMeasurable::MoreNodes);
        tick.nodes_left_out = vec![9];
        assert_eq!(answer(&tick), more);
        // Only one of them is watched.
        process(&mut tick, 9, "beam.smp", None);
        tick.processes.get_mut(&9).unwrap().in_scope = false;
        assert_eq!(answer(&tick), NO);
        for (pid, process) in &mut tick.processes {
            process.in_scope = *pid == 9;
        }
        assert_eq!(answer(&tick), more);
    }
}
