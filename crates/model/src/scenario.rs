//! What a scenario says of itself: data that flags, help, docs and the judge read.

use crate::arm::Settings;
use crate::fact::Fact;
use crate::measure::Unit;
use crate::parameter::{Parameter, Parameters, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// What may fix or avoid the stall, most useful first.
    pub fixes: &'static [FixMeta],
    /// The sentence of one of its facts, or the phrase for what an arm changes; what is wrong with
    /// a fact that it does not know: [`crate::fact::sentence`] of its enum.
    pub sentence: fn(&Fact) -> Result<String, String>,
    /// Its series.
    pub series: &'static [SeriesMeta],
    /// What it needs of the machine.
    pub needs: Needs,
    /// Its parameters.
    pub parameters: Parameters,
    /// The figures that each trial yields, in the order of a table.
    pub measures: &'static [MeasureMeta],
    /// How its trials are judged.
    pub judging: Judging,
    /// Commits of the kernel that fix it.
    pub tags: &'static [Tag],
}

/// A commit that fixes a stall.
#[derive(Debug, Clone, Copy)]
pub struct Tag {
    /// The commit, as the kernel's history has it.
    pub commit: &'static str,
    /// The first version that has it.
    pub since: &'static str,
    /// What it changes.
    pub what: &'static str,
    /// Whether it matters for these settings.
    pub matters: fn(&Settings) -> bool,
}

/// What may fix a stall, and the run that measures whether it does.
#[derive(Debug, Clone, Copy)]
pub struct FixMeta {
    /// Its name, unique in its scenario: what a record says instead of the sentence.
    pub id: &'static str,
    /// What to do, and why it may help: a sentence.
    pub what: &'static str,
    /// The settings of the run that measures it, from those of the case; none where those are not
    /// of its scenario.
    pub change: fn(&Settings) -> Option<Settings>,
}

/// A series that trials of a scenario yield.
#[derive(Debug, Clone, Copy)]
pub struct SeriesMeta {
    /// Name: the key in the record.
    pub name: &'static str,
    /// What its figures are, in a few words.
    pub title: &'static str,
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
    /// Whether the figure is time that the measured thread lost, so that time in which it had no
    /// CPU is taken off before `affected` is said.
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
    /// The figure of that name.
    pub fn measure(&self, name: &str) -> Option<&'static MeasureMeta> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// The fix of that name.
    pub fn fix(&self, id: &str) -> Option<&'static FixMeta> {
        self.fixes.iter().find(|fix| fix.id == id)
    }

    /// What the figures of that series are.
    pub fn series_title(&self, name: &str) -> Option<&'static str> {
        self.series.iter().find(|series| series.name == name).map(|series| series.title)
    }

    /// The parameter of that name, or of the name that it had before.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        let named =
            |parameter: &&Parameter| parameter.name == name || parameter.former == Some(name);
        (self.parameters.all)().iter().find(named)
    }

    /// Every parameter at its default, for a quick or an ordinary run.
    pub fn defaults(&self, quick: bool) -> Settings {
        let value = |one: &Parameter| if quick { one.quick.clone() } else { one.default.clone() };
        let all = (self.parameters.all)().iter();
        all.map(|parameter| (parameter.name.to_owned(), value(parameter))).collect()
    }

    /// Reads a value of the parameter of that name, as it would stand on the command line.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the name or with `text`.
    pub fn read(&self, name: &str, text: &str) -> Result<Value, String> {
        (self.parameters.read)(name, text)
    }

    /// Whether settings hold these values, each as it would stand on the command line.
    pub fn holds(&self, settings: &Settings, wanted: &BTreeMap<String, String>) -> bool {
        wanted.iter().all(|(name, text)| {
            self.read(name, text).is_ok_and(|value| settings.0.get(name) == Some(&value))
        })
    }
}
