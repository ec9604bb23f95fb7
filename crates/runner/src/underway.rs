//! A study that runs block by block, so that several studies can take turns.

use crate::events::{Event, Listener};
use crate::study::{Clock, End, ProbeWhen, Study};
use crate::undecided::keep_rates;
use model::record::{Plan, Share};
use model::{Caveat, Ended, Facts, Judged, Judgement, State};
use std::time::Duration;

/// Most blocks that may begin after the time budget, if they would settle the verdict.
const OVERTIME: u32 = 2;

impl<'a> Study<'a> {
    /// Runs the study; the record holds whatever was measured, however it ended.
    pub fn run(self, listener: &mut dyn Listener) -> (Judged, End) {
        let facts = self.facts();
        self.go_on(facts, listener)
    }

    /// Continues with the blocks after those of a record.
    ///
    /// The time of those blocks counts too.
    pub fn go_on(self, facts: Facts, listener: &mut dyn Listener) -> (Judged, End) {
        let mut underway = self.begin(facts, listener);
        loop {
            if let Some(end) = underway.turn(listener) {
                return underway.end(end, listener);
            }
        }
    }

    /// Makes a study ready for further blocks, without running one.
    pub fn begin(self, mut facts: Facts, listener: &mut dyn Listener) -> Underway<'a> {
        let before = std::mem::replace(&mut facts.plan, self.plan.clone());
        // Of several runs, the one that was least protected from other runs counts.
        facts.machine.hold = facts.machine.hold.max(self.host.machine.hold);
        facts.ended = Ended::Running;
        listener.on_event(self.beginning());
        Underway::new(self, facts, before)
    }
}

/// A study that has begun. Time between its turns does not count.
pub struct Underway<'a> {
    study: Study<'a>,
    /// What was measured so far. It is judged after each block.
    record: Judged,
    /// The first block of this run.
    first: u32,
    /// The plan of the earlier study that is continued. Its error rates are kept if they are
    /// smaller than this study's share of the run.
    continued: Option<Plan>,
    /// The block that comes next.
    next: u32,
    /// Blocks that began after the time budget.
    overtime: u32,
    /// Whether the event was sent that the verdict stands.
    told: bool,
}

impl<'a> Underway<'a> {
    /// `before` is the plan that the facts had.
    fn new(study: Study<'a>, facts: Facts, before: Plan) -> Self {
        let first = facts.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
        let continued = (first > 0).then_some(before);
        Underway {
            study,
            record: scenarios::judged(facts),
            first,
            continued,
            next: first,
            overtime: 0,
            told: false,
        }
    }

    /// Runs the next block, judges and saves. Returns how the study ended, if that was the last
    /// block.
    pub fn turn(&mut self, listener: &mut dyn Listener) -> Option<End> {
        if self.is_over() {
            return Some(End::Complete);
        }
        self.overtime += u32::from(self.is_late());
        let (study, record) = (&self.study, &mut self.record);
        let clock = Clock::after(record.facts.elapsed_s);
        let so_far = (&mut record.facts, &record.judgement);
        let ran = study.run_block(so_far, self.next, clock, listener);
        record.facts.elapsed_s = clock.elapsed().as_secs_f64();
        if let Err(error) = ran {
            return Some(End::from(error));
        }
        self.next += 1;
        record.judgement = scenarios::judge(&record.facts);
        study.keep(record, listener);
        listener.on_event(Event::BlockEnd { blocks: self.next, state: record.judgement.state });
        record.facts.elapsed_s = clock.elapsed().as_secs_f64();
        if self.is_over() {
            return Some(End::Complete);
        }
        self.tell_verdict(clock, listener);
        None
    }

    /// Reports a verdict that stands while the study continues for its fixes.
    fn tell_verdict(&mut self, clock: Clock, listener: &mut dyn Listener) {
        let (plan, judgement) = (&self.study.plan, &self.record.judgement);
        let goes_on = plan.stop_when_settled && plan.settle_fixes;
        if !self.told && goes_on && scenarios::stands(plan, judgement) {
            self.told = true;
            listener.on_event(Event::Stands { state: judgement.state, after: clock.elapsed() });
        }
    }

    /// Whether no further block is run.
    fn is_over(&self) -> bool {
        let plan = &self.study.plan;
        let may_settle = plan.stop_when_settled && self.next > self.first;
        let may_end = self.next >= plan.min_blocks || may_settle;
        self.next >= plan.max_blocks
            || may_settle && scenarios::settled(plan, &self.record.judgement)
            || may_end && self.is_late() && !self.is_nearly_settled()
    }

    fn is_late(&self) -> bool {
        Clock::after(self.record.elapsed_s).elapsed() >= self.study.time
    }

    /// Whether the blocks that may still begin late would settle the verdict.
    fn is_nearly_settled(&self) -> bool {
        let left = OVERTIME.saturating_sub(self.overtime);
        let settles = |caveat: &Caveat| match caveat {
            Caveat::MoreBlocks { more, goes_on: true, .. } => *more <= left,
            _ => false,
        };
        self.record.judgement.caveats.iter().any(settles)
    }

    /// Blocks so far.
    pub fn blocks(&self) -> u32 {
        self.next
    }

    /// The verdict so far, and what it rests on.
    pub fn judgement(&self) -> &Judgement {
        &self.record.judgement
    }

    /// Whether the verdict stands, or no block is left.
    pub fn is_settled(&self) -> bool {
        let plan = &self.study.plan;
        self.next >= plan.max_blocks
            || self.next > 0 && scenarios::settled(plan, &self.record.judgement)
    }

    /// Number of blocks that would settle the verdict, if they are like those so far.
    pub fn blocks_left(&self) -> u32 {
        scenarios::blocks_left(&self.study.plan, &self.record.judgement, self.next)
    }

    /// How long a block takes: the mean so far, or the expected time before the first block.
    pub fn block_time(&self) -> Duration {
        let study = &self.study;
        match self.next {
            0 => study.expected_of_block(),
            blocks => {
                let took = Duration::try_from_secs_f64(self.record.facts.elapsed_s);
                took.unwrap_or_default() / blocks
            }
        }
    }

    /// The verdict with another share of the error rate.
    pub fn state_with(&mut self, share: Share) -> State {
        let shared = self.shared(share);
        let facts = &mut self.record.facts;
        let before = std::mem::replace(&mut facts.plan, shared);
        let state = scenarios::judge(facts).state;
        facts.plan = before;
        state
    }

    /// The plan with a share of the error rate.
    fn shared(&self, share: Share) -> Plan {
        let mut plan = self.study.plan.clone();
        plan.share_error_rate(share);
        if let Some(continued) = &self.continued {
            keep_rates(&mut plan, continued);
        }
        plan
    }

    /// Sets another share of the error rate, from then on.
    pub fn share_error_rate(&mut self, share: Share) {
        self.study.plan = self.shared(share);
        self.record.facts.plan = self.study.plan.clone();
        self.record.judgement = scenarios::judge(&self.record.facts);
    }

    /// Ends the study: judges it, runs the trials with probes if it is complete, and saves its
    /// record.
    pub fn end(mut self, end: End, listener: &mut dyn Listener) -> (Judged, End) {
        let (study, record) = (&self.study, &mut self.record);
        record.facts.ended = end.ended();
        record.judgement = scenarios::judge(&record.facts);
        study.keep(record, listener);
        if study.probe != ProbeWhen::Never && matches!(end, End::Complete) {
            let clock = Clock::after(record.facts.elapsed_s);
            study.run_probed(record, clock, listener);
            record.facts.elapsed_s = clock.elapsed().as_secs_f64();
            study.keep(record, listener);
        }
        (self.record, end)
    }
}
