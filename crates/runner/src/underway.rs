//! A study that is run block by block, so that several can take turns.

use crate::events::{Event, Listener};
use crate::study::{Clock, End, ProbeWhen, Study};
use model::Record;
use model::record::Progress;

impl<'a> Study<'a> {
    /// Runs the study; the record holds whatever was measured, however it ended.
    pub fn run(self, listener: &mut dyn Listener) -> (Record, End) {
        let record = self.empty_record();
        self.go_on(record, listener)
    }

    /// Goes on with the blocks after those that a record holds, all of which have to be whole.
    ///
    /// The time that they took counts.
    pub fn go_on(self, record: Record, listener: &mut dyn Listener) -> (Record, End) {
        let mut underway = self.begin(record, listener);
        loop {
            if let Some(end) = underway.turn(listener) {
                return underway.end(end, listener);
            }
        }
    }

    /// Makes a record ready for further blocks, without running one.
    pub fn begin(self, mut record: Record, listener: &mut dyn Listener) -> Underway<'a> {
        record.plan = self.plan.clone();
        // Of several runs the one that was least alone.
        record.host.hold = record.host.hold.max(self.host.machine.hold);
        record.progress = Progress::Running;
        listener.on_event(self.beginning());
        Underway::new(self, record)
    }
}

/// A study that has begun. Time between its turns is not its own.
pub struct Underway<'a> {
    study: Study<'a>,
    record: Record,
    /// The first block of this run.
    first: u32,
    /// The block that comes next.
    next: u32,
}

impl<'a> Underway<'a> {
    fn new(study: Study<'a>, record: Record) -> Self {
        let first = record.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
        Underway { study, record, first, next: first }
    }

    /// Runs the next block, judges and saves; how the study ended, if that was the last.
    pub fn turn(&mut self, listener: &mut dyn Listener) -> Option<End> {
        if self.is_over() {
            return Some(End::Complete);
        }
        let (study, record) = (&self.study, &mut self.record);
        let clock = Clock::after(record.elapsed_s);
        let ran = study.run_block(record, self.next, clock, listener);
        record.elapsed_s = clock.elapsed().as_secs_f64();
        if let Err(error) = ran {
            return Some(End::from(error));
        }
        self.next += 1;
        scenarios::judge(record);
        study.keep(record, listener);
        listener.on_event(Event::BlockEnd { blocks: self.next, verdict: &record.verdict });
        record.elapsed_s = clock.elapsed().as_secs_f64();
        self.is_over().then_some(End::Complete)
    }

    /// Whether no further block is to be run.
    fn is_over(&self) -> bool {
        let (study, plan) = (&self.study, &self.study.plan);
        let may_settle = plan.stop_when_settled && self.next > self.first;
        let may_end = self.next >= plan.min_blocks || may_settle;
        self.next >= plan.max_blocks
            || may_settle && scenarios::settled(&self.record)
            || may_end && Clock::after(self.record.elapsed_s).elapsed() >= study.time
    }

    /// Ends the study: its verdict, the trials with probes where it came to its end, its record.
    pub fn end(mut self, end: End, listener: &mut dyn Listener) -> (Record, End) {
        let (study, record) = (&self.study, &mut self.record);
        study.conclude(record, &end);
        study.keep(record, listener);
        if study.probe != ProbeWhen::Never && matches!(end, End::Complete) {
            let clock = Clock::after(record.elapsed_s);
            study.run_probed(record, clock, listener);
            record.elapsed_s = clock.elapsed().as_secs_f64();
            study.keep(record, listener);
        }
        (self.record, end)
    }
}
