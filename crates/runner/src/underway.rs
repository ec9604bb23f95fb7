//! A study that is run block by block, so that several can take turns.

use crate::events::{Event, Listener};
use crate::study::{Clock, End, ProbeWhen, Study};
use model::{Ended, Facts, Judged};

impl<'a> Study<'a> {
    /// Runs the study; the record holds whatever was measured, however it ended.
    pub fn run(self, listener: &mut dyn Listener) -> (Judged, End) {
        let facts = self.facts();
        self.go_on(facts, listener)
    }

    /// Goes on with the blocks after those that a record holds, all of which have to be whole.
    ///
    /// The time that they took counts.
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
        facts.plan = self.plan.clone();
        // Of several runs the one that was least alone.
        facts.machine.hold = facts.machine.hold.max(self.host.machine.hold);
        facts.ended = Ended::Running;
        listener.on_event(self.beginning());
        Underway::new(self, facts)
    }
}

/// A study that has begun. Time between its turns is not its own.
pub struct Underway<'a> {
    study: Study<'a>,
    /// What was measured so far, judged after each block.
    record: Judged,
    /// The first block of this run.
    first: u32,
    /// The block that comes next.
    next: u32,
}

impl<'a> Underway<'a> {
    fn new(study: Study<'a>, facts: Facts) -> Self {
        let first = facts.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
        Underway { study, record: scenarios::judged(facts), first, next: first }
    }

    /// Runs the next block, judges and saves; how the study ended, if that was the last.
    pub fn turn(&mut self, listener: &mut dyn Listener) -> Option<End> {
        if self.is_over() {
            return Some(End::Complete);
        }
        let (study, record) = (&self.study, &mut self.record);
        let clock = Clock::after(record.facts.elapsed_s);
        let ran = study.run_block(&mut record.facts, self.next, clock, listener);
        record.facts.elapsed_s = clock.elapsed().as_secs_f64();
        if let Err(error) = ran {
            return Some(End::from(error));
        }
        self.next += 1;
        record.judgement = scenarios::judge(&record.facts);
        study.keep(record, listener);
        listener.on_event(Event::BlockEnd { blocks: self.next, state: record.judgement.state });
        record.facts.elapsed_s = clock.elapsed().as_secs_f64();
        self.is_over().then_some(End::Complete)
    }

    /// Whether no further block is to be run.
    fn is_over(&self) -> bool {
        let (study, plan) = (&self.study, &self.study.plan);
        let may_settle = plan.stop_when_settled && self.next > self.first;
        let may_end = self.next >= plan.min_blocks || may_settle;
        self.next >= plan.max_blocks
            || may_settle && scenarios::settled(plan, &self.record.judgement)
            || may_end && Clock::after(self.record.elapsed_s).elapsed() >= study.time
    }

    /// Ends the study: its verdict, the trials with probes where it came to its end, its record.
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
