//! Progress of a study: a bar on a terminal, a line a block elsewhere, events in a guest.

mod step;

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use model::{Meta, Observation};
use runner::{Event, Listener};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::time::Duration;
pub use step::Step;

/// Letters of a version's name in the name of a file at most: a version may be a long path.
const MOST_OF_NAME: usize = 60;

/// The place of a study in a check.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Which study it is, from 1.
    pub place: usize,
    /// How many there are.
    pub of: usize,
    /// How long those after it may take.
    pub later: Duration,
}

/// Among what other studies of the same command a study runs.
#[derive(Debug, Clone)]
pub enum Among {
    /// None.
    None,
    /// Those of a check, one after another.
    Check(Round),
    /// Those of other versions, block by block: the name of its version.
    Versions(String),
}

impl Among {
    /// What the name of its record begins with.
    pub fn file_name(&self, scenario: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        match self {
            Among::None | Among::Check(_) => scenario.to_owned(),
            Among::Versions(name) => {
                let name: String = name.chars().map(plain).take(MOST_OF_NAME).collect();
                format!("{scenario}-{name}")
            }
        }
    }

    /// What a line that is shown begins with; `left` is what is left of this study, where the line
    /// is to say that.
    fn before(&self, left: Option<Duration>) -> String {
        match (self, left) {
            (Among::Check(round), Some(left)) => {
                let seconds = (round.later + left).as_secs();
                format!("{} of {}, about {seconds} s left in all; ", round.place, round.of)
            }
            (Among::None | Among::Check(_), _) => String::new(),
            (Among::Versions(name), _) => format!("{name}: "),
        }
    }

    /// Whether one bar can show it: studies that take turns would each have their own.
    fn has_bar(&self) -> bool {
        !matches!(self, Among::Versions(_))
    }
}

/// Shows how a study goes.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Where a guest sends its events; it shows nothing itself.
    events: Option<File>,
    judged: String,
    unit: &'static str,
    verdict: Option<model::State>,
    min_blocks: u32,
    arms: usize,
    place: String,
    worst: Duration,
    figures: Vec<(String, f64)>,
    warned: bool,
    among: Among,
}

impl Progress {
    /// For a study of this scenario, alone or in its place among others.
    pub fn new(meta: &Meta, among: Among) -> Self {
        let judged = meta.judging.measure.as_ref();
        let unit = meta.measure(judged).map_or("", |measure| measure.unit.symbol());
        let events = guest::events();
        let alone = events.is_none() && among.has_bar();
        let bar = (alone && std::io::stderr().is_terminal()).then(new_bar);
        Progress {
            bar,
            events,
            judged: judged.to_owned(),
            unit,
            verdict: None,
            min_blocks: 0,
            arms: 0,
            place: String::new(),
            worst: Duration::ZERO,
            figures: Vec::new(),
            warned: false,
            among,
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Sends a step to the host, or shows it here; a bar shows what happens block by block itself.
    fn tell(&mut self, step: &Step, left: Option<Duration>) {
        if let Some(events) = &mut self.events {
            // Text keys and finite numbers only, which always serialise.
            let mut line = serde_json::to_vec(step).unwrap_or_default();
            line.push(b'\n');
            // Where nobody reads, nobody misses it.
            let _ = events.write_all(&line);
            return;
        }
        let line = format!("{}{}", self.among.before(left), step.line());
        match &self.bar {
            Some(bar) if step.is_wrong() => bar.suspend(|| output::complain(&line)),
            None if step.is_wrong() => output::complain(&line),
            Some(_) if !step.is_shown_beside_bar() => {}
            Some(bar) => bar.suspend(|| output::note(&line)),
            None => output::note(&line),
        }
    }

    fn begin(
        &mut self,
        scenario: &str,
        seed: u64,
        arms: usize,
        (min_blocks, max_blocks): (u32, u32),
        block: Duration,
    ) {
        (self.min_blocks, self.arms) = (min_blocks, arms);
        let least = block * min_blocks;
        let (scenario, least_s) = (scenario.to_owned(), least.as_secs_f64());
        let step = Step::Begin { scenario, arms, min_blocks, max_blocks, least_s, seed };
        self.tell(&step, Some(least));
        if let Some(bar) = &self.bar {
            bar.set_length(u64::from(min_blocks) * arms as u64);
        }
    }

    fn trial(&mut self, block: u32, arm: &str) {
        self.place = format!("block {} {arm}", block + 1);
        if let Some(bar) = &self.bar {
            // Beyond the blocks that a verdict needs, the end is known a block ahead only.
            let length = u64::from((block + 1).max(self.min_blocks)) * self.arms as u64;
            bar.set_length(length);
        }
        self.show();
    }

    fn probed(&mut self, arm: &str) {
        self.place = format!("{arm} with probes");
        if let Some(bar) = &self.bar {
            bar.set_length(bar.length().unwrap_or(0) + 1);
        }
        self.tell(&Step::ProbedBegin { arm: arm.to_owned() }, None);
        self.show();
    }

    fn show(&self) {
        if let Some(bar) = &self.bar {
            let worst = model::estimate::number(self.worst.as_secs_f64() * 1e3);
            let verdict = self.verdict.map_or(String::new(), |state| format!("; so far {state}"));
            let (place, all) = (&self.place, self.among.before(Some(bar.eta())));
            bar.set_message(format!("{all}{place}; worst so far {worst} ms{verdict}"));
        }
    }

    fn trial_end(&mut self, arm: &str, observation: &Observation) {
        if let Some(judged) = observation.measures.get(&self.judged) {
            self.figures.push((arm.to_owned(), judged.value));
        }
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    fn block_end(&mut self, blocks: u32, state: model::State) {
        self.verdict = Some(state);
        let mut figures = std::mem::take(&mut self.figures);
        figures.sort_by(|(a, _), (b, _)| a.cmp(b));
        let (measure, unit) = (self.judged.clone(), self.unit.to_owned());
        self.tell(&Step::BlockEnd { blocks, measure, unit, figures, state }, None);
    }

    fn not_saved(&mut self, path: &std::path::Path, why: &str) {
        if !std::mem::replace(&mut self.warned, true) {
            let path = path.display().to_string();
            self.tell(&Step::NotSaved { path, why: why.to_owned() }, None);
        }
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    // The template is a constant; where a version of the library refuses it, its own will do.
    if let Ok(style) =
        ProgressStyle::with_template("{wide_bar} {pos}/{len} {elapsed}, {eta} left; {msg}")
    {
        bar.set_style(style);
    }
    bar
}

impl Listener for Progress {
    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Begin { scenario, seed, arms, min_blocks, max_blocks, block } => {
                self.begin(scenario, seed, arms, (min_blocks, max_blocks), block);
            }
            Event::TrialBegin { block, arm, .. } => self.trial(block, arm),
            Event::ProbedBegin { arm, .. } => self.probed(arm),
            Event::Tick { worst, .. } => {
                self.worst = self.worst.max(worst);
                self.show();
            }
            Event::TrialEnd { arm, observation, .. } => self.trial_end(arm, observation),
            Event::BlockEnd { blocks, state } => self.block_end(blocks, state),
            Event::Stands { state, after } => {
                self.tell(&Step::Stands { state, after_s: after.as_secs_f64() }, None);
            }
            Event::NotSaved { path, why } => self.not_saved(path, why),
        }
    }
}
