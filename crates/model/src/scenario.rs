//! What a scenario says of itself: data that flags, help, docs and the judge read.

use crate::arm::Settings;
use crate::knob::Knob;
use crate::measure::Unit;
use serde::{Deserialize, Serialize};

/// The declaration of a scenario.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Its name everywhere: `mmap-lock`.
    pub id: &'static str,
    /// One line: what stalls.
    pub title: &'static str,
    /// A paragraph: what happens, how it is provoked and what is measured.
    pub about: &'static str,
    /// Who should care, as an end to "matters to ...".
    pub who: &'static str,
    /// What may mend or avoid the stall, most useful first.
    pub mends: &'static [Mend],
    /// What it needs of the machine.
    pub needs: Needs,
    /// Its parameters.
    pub knobs: &'static [Knob],
    /// The figures that each trial yields, in the order of a table.
    pub measures: &'static [MeasureMeta],
    /// How its trials are judged.
    pub judging: Judging,
    /// Commits of the kernel that mend it.
    pub tags: &'static [Tag],
}

/// A commit that mends a stall.
#[derive(Debug, Clone, Copy)]
pub struct Tag {
    /// The commit, as the kernel's history has it.
    pub commit: &'static str,
    /// The first version that has it.
    pub since: &'static str,
    /// What it changes.
    pub what: &'static str,
    /// The knobs for which it matters, by name and value; none where it always does.
    pub knobs: &'static [(&'static str, &'static str)],
}

/// What may mend a stall, and the knobs that measure whether it does.
#[derive(Debug, Clone, Copy)]
pub struct Mend {
    /// What to do, and why it may help.
    pub what: &'static str,
    /// The knobs of the run that measures it, by name and value.
    pub knobs: &'static [(&'static str, &'static str)],
}

/// What a scenario needs of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needs {
    /// CPUs that the process may use.
    pub cpus: usize,
    /// Root.
    pub root: bool,
}

/// A figure that trials of a scenario yield.
#[derive(Debug, Clone, Copy)]
pub struct MeasureMeta {
    /// Name: the key in the record.
    pub name: &'static str,
    /// Heading in a table.
    pub heading: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// What it means.
    pub help: &'static str,
    /// Whether the text table has a column for it.
    pub column: bool,
}

/// How trials are judged: stands in the record, so that the file alone suffices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judging {
    /// The figure that is compared; lower is better.
    pub measure: std::borrow::Cow<'static, str>,
    /// A difference of no more than this, in the figure's unit, does not matter.
    pub margin: f64,
    /// Noise that hides more than this, over the margin, is too much for `not-affected`.
    pub control_limit: f64,
    /// Whether the figure is time that the measured thread lost, so that time in which it had no CPU
    /// is taken off before `affected` is said.
    #[serde(default = "yes")]
    pub wants_cpu: bool,
    /// Highest rate of wrong `affected` verdicts, over all ways of stopping. A plan has its part of
    /// the rate here (`Plan::split_error_rate`).
    pub error_rate: f64,
    /// Confidence of every interval.
    pub confidence: f64,
}

/// What older records mean that do not say.
fn yes() -> bool {
    true
}

impl Meta {
    /// The command that runs this scenario with these settings: what differs from the defaults.
    pub fn command(&self, settings: &Settings) -> String {
        let defaults = Settings::defaults(self.knobs, false);
        let mut words = format!("tailback run {}", self.id);
        for knob in self.knobs {
            match settings.0.get(knob.name) {
                Some(value) if defaults.0.get(knob.name) != Some(value) => {
                    let value = os::quote::word(&value.to_string());
                    words.push_str(&format!(" --{} {value}", knob.name));
                }
                _ => {}
            }
        }
        words
    }

    /// The figure of that name.
    pub fn measure(&self, name: &str) -> Option<&'static MeasureMeta> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// The knob of that name.
    pub fn knob(&self, name: &str) -> Option<&'static Knob> {
        self.knobs.iter().find(|knob| knob.name == name)
    }
}
