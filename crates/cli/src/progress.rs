//! Progress of a study: a bar on a terminal, a line per block elsewhere, events in a guest.

mod step;

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use model::{Meta, Observation};
use os::time::{ms, whole_ms};
use runner::{Event, Listener};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{IsTerminal, Write};
use std::time::Duration;
pub use step::Step;

/// Most characters of a version's name in a file name, since a version may be a long path.
const MOST_OF_NAME: usize = 60;

/// The bar of a command whose studies take turns.
#[derive(Debug, Clone)]
pub struct Shared {
    bar: Option<ProgressBar>,
    time: Duration,
}

impl Shared {
    /// A bar for a check with this time budget, or for a command that shows its blocks.
    pub fn new(time: Duration) -> Self {
        let alone = guest::events().is_none() && std::io::stderr().is_terminal();
        Shared { bar: alone.then(|| new_bar("{wide_bar} {elapsed}; {msg}")), time }
    }

    /// Shows that `done` of `of` is complete.
    pub fn advance(&self, done: u32, of: u32) {
        if let Some(bar) = &self.bar {
            bar.set_length(of.into());
            bar.set_position(done.into());
        }
    }

    /// Prints a line beside the bar.
    pub fn note(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(line)),
            None => output::note(line),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The other studies of the same command that a study runs with.
#[derive(Debug, Clone)]
pub enum Among {
    /// No others.
    None,
    /// The studies of a check, which take turns block by block.
    Check(Shared),
    /// The studies of other versions, which take turns block by block. Holds the name of its
    /// version.
    Versions(String),
    /// The other run of its pair; they take turns block by block. Holds the pair and the side.
    /// Neither figures nor verdicts are shown: a user who sees them could stop at a result that
    /// suits.
    Pair(Shared, String),
}

impl Among {
    /// The prefix of the name of its record.
    pub fn file_name(&self, scenario: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        match self {
            Among::None | Among::Check(_) | Among::Pair(..) => scenario.to_owned(),
            Among::Versions(name) => {
                let all: Vec<char> = name.chars().map(plain).collect();
                // The end of a path tells more than its start, and has the number of a fresh run.
                let cut = all.len().saturating_sub(MOST_OF_NAME);
                let end: String = all[cut..].iter().collect();
                match cut {
                    0 => format!("{scenario}-{end}"),
                    _ => format!("{scenario}-{end}-{:016x}", number_of(name)),
                }
            }
        }
    }

    /// The prefix of a printed line.
    fn before(&self, scenario: &str, step: &Step) -> String {
        match self {
            // This line names its scenario itself.
            Among::Check(_) if matches!(step, Step::Begin { .. }) => String::new(),
            Among::Check(_) => format!("{scenario}: "),
            Among::None => String::new(),
            Among::Versions(name) | Among::Pair(_, name) => format!("{name}: "),
        }
    }

    /// Its bar on a terminal. Several versions have none, since each would have its own bar.
    fn bar(&self) -> Option<ProgressBar> {
        match self {
            Among::None => std::io::stderr().is_terminal().then(|| new_bar(OF_STUDY)),
            Among::Check(shared) | Among::Pair(shared, _) => shared.bar.clone(),
            Among::Versions(_) => None,
        }
    }
}

/// A number that tells long names with the same end apart.
fn number_of(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// The template of the bar of one study.
const OF_STUDY: &str = "{wide_bar} {pos}/{len} {elapsed}, {eta} left; {msg}";

/// Shows the progress of a study.
pub struct Progress {
    scenario: &'static str,
    bar: Option<ProgressBar>,
    /// The channel to the host, in a guest. A guest shows nothing itself.
    events: Option<File>,
    judged: String,
    unit: &'static str,
    verdict: Option<model::State>,
    min_blocks: u32,
    place: String,
    worst: Duration,
    figures: Vec<(String, f64)>,
    warned: bool,
    among: Among,
    /// The state of the studies that it takes turns with.
    together: String,
}

impl Progress {
    /// The progress of a study of this scenario, alone or among others.
    pub fn new(meta: &Meta, among: Among) -> Self {
        let judged = meta.judging.measure.as_ref();
        let unit = meta.measure(judged).map_or("", |measure| measure.unit.symbol());
        let events = guest::events();
        let bar = if events.is_none() { among.bar() } else { None };
        Progress {
            scenario: meta.id,
            bar,
            events,
            judged: judged.to_owned(),
            unit,
            verdict: None,
            min_blocks: 0,
            place: String::new(),
            worst: Duration::ZERO,
            figures: Vec::new(),
            warned: false,
            among,
            together: String::new(),
        }
    }

    /// Removes its own bar. The bar of a check ends with the check.
    pub fn finish(&self) {
        if let (Some(bar), Among::None) = (&self.bar, &self.among) {
            bar.finish_and_clear();
        }
    }

    /// Shows that `settled` of `of` studies in a check are settled, and how much time is left.
    pub fn together(&mut self, settled: usize, of: usize, left: Duration) {
        let Among::Check(shared) = &self.among else { return };
        self.together = format!(
            "{settled} of {of} settled, at most {} s left; {} ",
            left.as_secs(),
            self.scenario
        );
        if let Some(bar) = &self.bar {
            bar.set_length(whole_ms(shared.time));
            bar.set_position(whole_ms(shared.time.saturating_sub(left)));
        }
    }

    /// Says that the verdict of this study of the check is final, after this time, and how many
    /// studies have none yet.
    pub fn settled(&mut self, state: model::State, after: Duration, open: usize) {
        self.tell(&Step::Settled { state, after_s: after.as_secs_f64(), open });
    }

    /// The bar, if it belongs to this study alone.
    fn own_bar(&self) -> Option<&ProgressBar> {
        self.bar.as_ref().filter(|_| matches!(self.among, Among::None))
    }

    /// Sends a step to the host, or shows it here. A bar shows the blocks itself.
    fn tell(&mut self, step: &Step) {
        if let Some(events) = &mut self.events {
            // Text keys and finite numbers only, which always serialise.
            let mut line = serde_json::to_vec(step).unwrap_or_default();
            line.push(b'\n');
            // If nobody reads the events, they are not needed.
            let _ = events.write_all(&line);
            return;
        }
        if matches!(self.among, Among::Pair(..)) && !step.is_wrong() {
            return;
        }
        let line = format!("{}{}", self.among.before(self.scenario, step), step.line());
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
        self.min_blocks = min_blocks;
        let least = block * min_blocks;
        let (scenario, least_s) = (scenario.to_owned(), least.as_secs_f64());
        let step = Step::Begin { scenario, arms, min_blocks, max_blocks, least_s, seed };
        self.tell(&step);
        if let Some(bar) = self.own_bar() {
            bar.set_length(min_blocks.into());
        }
    }

    fn trial(&mut self, block: u32, arm: &str) {
        self.place = format!("block {} {arm}", block + 1);
        if let Some(bar) = self.own_bar() {
            // After the blocks that a verdict needs, only the next block is known.
            bar.set_length((block + 1).max(self.min_blocks).into());
        }
        self.show();
    }

    fn probed(&mut self, arm: &str) {
        self.place = format!("{arm} with probes");
        if let Some(bar) = self.own_bar() {
            bar.set_length(bar.length().unwrap_or(0) + 1);
        }
        self.tell(&Step::ProbedBegin { arm: arm.to_owned() });
        self.show();
    }

    fn show(&self) {
        if let (Some(bar), Among::Pair(_, name)) = (&self.bar, &self.among) {
            bar.set_message(format!("{name}: {}", self.place));
        } else if let Some(bar) = &self.bar {
            let worst = model::estimate::number(ms(self.worst));
            let verdict = self.verdict.map_or(String::new(), |state| format!("; so far {state}"));
            let (place, all) = (&self.place, &self.together);
            bar.set_message(format!("{all}{place}; worst so far {worst} ms{verdict}"));
        }
    }

    fn trial_end(&mut self, arm: &str, observation: &Observation) {
        if let Some(judged) = observation.measures.get(&self.judged) {
            self.figures.push((arm.to_owned(), judged.value));
        }
    }

    fn block_end(&mut self, blocks: u32, state: model::State) {
        self.verdict = Some(state);
        if let Some(bar) = self.own_bar() {
            bar.set_position(blocks.into());
        }
        let mut figures = std::mem::take(&mut self.figures);
        figures.sort_by(|(a, _), (b, _)| a.cmp(b));
        let (measure, unit) = (self.judged.clone(), self.unit.to_owned());
        self.tell(&Step::BlockEnd { blocks, measure, unit, figures, state });
    }

    fn not_saved(&mut self, path: &std::path::Path, why: &str) {
        if !std::mem::replace(&mut self.warned, true) {
            let path = path.display().to_string();
            self.tell(&Step::NotSaved { path, why: why.to_owned() });
        }
    }
}

fn new_bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    // The template is a constant. If the library refuses it, its default is used.
    if let Ok(style) = ProgressStyle::with_template(template) {
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
                self.tell(&Step::Stands { state, after_s: after.as_secs_f64() });
            }
            Event::NotSaved { path, why } => self.not_saved(path, why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_of_two_versions_have_two_names() {
        let of = |version: &str| Among::Versions(version.to_owned()).file_name("mmap-lock");
        assert_eq!(of("debian:6.12 (2)"), "mmap-lock-debian-6.12--2-");
        let folder = "/home/somebody/kernels/of/the/last/ten/years/with/their/modules";
        let kernels = ["6.1", "6.12"].map(|series| format!("{folder}/{series}/arch/x86/bzImage"));
        let moved = ["a", "b"].map(|top| format!("/{top}{folder}/vmlinuz"));
        for [one, other] in [kernels, moved] {
            assert_ne!(of(&one), of(&other));
            assert_ne!(of(&one), of(&format!("{one}, pair 1")));
            assert!(of(&one).len() < 100, "{}", of(&one));
        }
    }
}
