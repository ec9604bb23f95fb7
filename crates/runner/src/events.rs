//! The events of a running study: enough to draw its progress at any moment.

use model::{Observation, State};
use std::path::Path;
use std::time::Duration;

/// Something happened in a study.
#[derive(Debug)]
pub enum Event<'a> {
    /// The study begins.
    Begin {
        /// Its scenario.
        scenario: &'a str,
        /// Seed of every random choice.
        seed: u64,
        /// Arms of its plan.
        arms: usize,
        /// Number of blocks from which on a verdict may end it.
        min_blocks: u32,
        /// Most blocks.
        max_blocks: u32,
        /// Time that one block is expected to take.
        block: Duration,
    },
    /// A trial begins.
    TrialBegin {
        /// Its block, from 0.
        block: u32,
        /// Its place in the block, from 0.
        place: usize,
        /// Its arm.
        arm: &'a str,
        /// Time that it is expected to take.
        expected: Duration,
    },
    /// A trial is under way.
    Tick {
        /// Time since its load was released.
        elapsed: Duration,
        /// Its worst stall so far.
        worst: Duration,
    },
    /// A trial ended.
    TrialEnd {
        /// Its block, from 0.
        block: u32,
        /// Its arm.
        arm: &'a str,
        /// What it saw.
        observation: &'a Observation,
    },
    /// A block ended; the record was judged and saved.
    BlockEnd {
        /// Whole blocks so far.
        blocks: u32,
        /// The verdict so far.
        state: State,
    },
    /// The verdict stands, and the study continues to see what fixes the stall. Sent once.
    Stands {
        /// The verdict.
        state: State,
        /// How long the study had taken by then.
        after: Duration,
    },
    /// The verdict stands, and a trial with probes begins. It shows who held up whom.
    ProbedBegin {
        /// Its arm.
        arm: &'a str,
        /// Time that it is expected to take.
        expected: Duration,
    },
    /// The record could not be saved. The study continues in memory.
    NotSaved {
        /// The path of the record.
        path: &'a Path,
        /// The reason.
        why: &'a str,
    },
}

/// A receiver of events.
pub trait Listener {
    /// Receives one event.
    fn on_event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Listener for F {
    fn on_event(&mut self, event: Event<'_>) {
        self(event);
    }
}
