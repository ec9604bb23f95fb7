//! Progress of a study on standard error: a bar on a terminal, a line a block elsewhere.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use model::{Meta, Observation};
use runner::{Event, Listener};
use std::io::IsTerminal;
use std::time::Duration;

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

/// Shows how a study goes.
pub struct Progress {
    bar: Option<ProgressBar>,
    judged: String,
    unit: &'static str,
    verdict: Option<model::State>,
    min_blocks: u32,
    arms: usize,
    place: String,
    worst: Duration,
    figures: Vec<String>,
    warned: bool,
    round: Option<Round>,
}

impl Progress {
    /// For a study of this scenario, alone or in its place in a check.
    pub fn new(meta: &Meta, round: Option<Round>) -> Self {
        let judged = meta.judging.measure.as_ref();
        let unit = meta.measures.iter().find(|measure| measure.name == judged);
        let bar = std::io::stderr().is_terminal().then(new_bar);
        Progress {
            bar,
            judged: judged.to_owned(),
            unit: unit.map_or("", |measure| measure.unit.symbol()),
            verdict: None,
            min_blocks: 0,
            arms: 0,
            place: String::new(),
            worst: Duration::ZERO,
            figures: Vec::new(),
            warned: false,
            round,
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn begin(
        &mut self,
        scenario: &str,
        seed: u64,
        arms: usize,
        min: u32,
        max: u32,
        block: Duration,
    ) {
        (self.min_blocks, self.arms) = (min, arms);
        let least = block * min;
        let all = self.all(least);
        output::note(&format!(
            "{all}{scenario}: {arms} arms, {min} to {max} blocks, at least {} s; seed {seed}",
            least.as_secs_f64().ceil()
        ));
        if let Some(bar) = &self.bar {
            bar.set_length(u64::from(min) * arms as u64);
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
        match &self.bar {
            Some(bar) => bar.set_length(bar.length().unwrap_or(0) + 1),
            None => output::note(&format!("{arm} once more, with probes, to see who holds it up")),
        }
        self.show();
    }

    fn show(&self) {
        if let Some(bar) = &self.bar {
            let worst = model::estimate::number(self.worst.as_secs_f64() * 1e3);
            let verdict = self.verdict.map_or(String::new(), |state| format!("; so far {state}"));
            let (place, all) = (&self.place, self.all(bar.eta()));
            bar.set_message(format!("{all}{place}; worst so far {worst} ms{verdict}"));
        }
    }

    /// The place in a check and the time that is left of all of it, given what is left of this
    /// study.
    fn all(&self, left: Duration) -> String {
        self.round.map_or_else(String::new, |round| {
            let seconds = (round.later + left).as_secs();
            format!("{} of {}, about {seconds} s left in all; ", round.place, round.of)
        })
    }

    fn trial_end(&mut self, arm: &str, observation: &Observation) {
        if let Some(judged) = observation.measures.get(&self.judged) {
            let figure = model::estimate::number(judged.value);
            self.figures.push(format!("{arm} {figure}"));
        }
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    fn block_end(&mut self, blocks: u32, state: model::State) {
        self.verdict = Some(state);
        if self.bar.is_none() {
            self.figures.sort();
            let (judged, unit, figures) = (&self.judged, self.unit, self.figures.join(", "));
            output::note(&format!("block {blocks}: {judged} in {unit}: {figures}; so far {state}"));
        }
        self.figures.clear();
    }

    fn warn(&mut self, line: &str) {
        if std::mem::replace(&mut self.warned, true) {
            return;
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| output::complain(line)),
            None => output::complain(line),
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
    fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Begin { scenario, seed, arms, min_blocks, max_blocks, block } => {
                self.begin(scenario, seed, arms, min_blocks, max_blocks, block);
            }
            Event::TrialBegin { block, arm, .. } => self.trial(block, arm),
            Event::ProbedBegin { arm, .. } => self.probed(arm),
            Event::Tick { worst, .. } => {
                self.worst = self.worst.max(worst);
                self.show();
            }
            Event::TrialEnd { arm, observation, .. } => self.trial_end(arm, observation),
            Event::BlockEnd { blocks, verdict } => self.block_end(blocks, verdict.state),
            Event::NotSaved { path, why } => {
                self.warn(&format!("record {}: {why}; the study continues", path.display()));
            }
        }
    }
}

/// Whether a line of progress, as it is written where there is no terminal, ends a block.
pub fn ends_block(line: &str) -> bool {
    let number = line.strip_prefix("block ").and_then(|rest| rest.split_once(':'));
    number.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::ends_block;

    #[test]
    fn the_end_of_a_block_is_told_from_other_lines() {
        assert!(ends_block("block 12: stall in ms/s: busy-10 995, control 4; so far affected"));
        for line in ["mmap-lock: 2 arms, 6 to 24 blocks", "block", "block x: y", "record: block 1:"]
        {
            assert!(!ends_block(line), "{line}");
        }
    }
}
