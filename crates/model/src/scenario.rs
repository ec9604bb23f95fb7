//! What a scenario declares about itself: data for flags, help, docs and the judge.

use crate::arm::Settings;
use crate::fact::Fact;
use crate::measure::Unit;
use crate::parameter::{Parameter, Parameters, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The declaration of a scenario.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Its id everywhere, such as `mmap-lock`.
    pub id: &'static str,
    /// One line: what stalls.
    pub title: &'static str,
    /// A paragraph: what happens, how it is provoked and what is measured.
    pub about: &'static str,
    /// Who should care: the end of a sentence "matters to ...".
    pub who: &'static str,
    /// Changes that may fix or avoid the stall, most useful first.
    pub fixes: &'static [FixMeta],
    /// Makes the sentence of one of its facts, or the phrase for what an arm changes. For a fact
    /// that the scenario does not know, it says what is wrong. It is [`crate::fact::sentence`] of
    /// its enum.
    pub sentence: fn(&Fact) -> Result<String, String>,
    /// The series that its trials yield.
    pub series: &'static [SeriesMeta],
    /// What it needs from the machine.
    pub needs: Needs,
    /// Its parameters.
    pub parameters: Parameters,
    /// The figures that each trial yields, in the order of a table.
    pub measures: &'static [MeasureMeta],
    /// How its trials are judged.
    pub judging: Judging,
    /// Kernel commits that fix it.
    pub tags: &'static [Tag],
}

/// A commit that fixes a stall.
#[derive(Debug, Clone, Copy)]
pub struct Tag {
    /// The commit in the kernel's history.
    pub commit: &'static str,
    /// The first version that has it.
    pub since: &'static str,
    /// What it changes.
    pub what: &'static str,
    /// Whether the commit matters for these settings.
    pub matters: fn(&Settings) -> bool,
}

/// A change that may fix a stall, and the run that measures whether it does.
#[derive(Debug, Clone, Copy)]
pub struct FixMeta {
    /// Its id, unique in its scenario. A record holds the id instead of the sentence.
    pub id: &'static str,
    /// What to do, and why it may help: a sentence.
    pub what: &'static str,
    /// Makes the settings of the run that measures it from the settings of the case. `None` if
    /// the settings belong to another scenario, or if this case cannot have the fix.
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

/// What a scenario needs from the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needs {
    /// Number of CPUs that the process may use.
    pub cpus: usize,
    /// Whether it needs root.
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

/// How trials are judged. The record holds it, so that the file alone is enough to judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judging {
    /// The figure that is compared; lower is better.
    pub measure: std::borrow::Cow<'static, str>,
    /// A difference of no more than this, in the figure's unit, does not matter.
    pub margin: f64,
    /// If noise hides more than the margin plus this, `not-affected` is not allowed.
    pub control_limit: f64,
    /// Whether the figure is time that the measured thread lost. If so, time in which that thread
    /// had no CPU is subtracted before the judge says `affected`.
    #[serde(default = "yes")]
    pub wants_cpu: bool,
    /// Highest rate of wrong `affected` verdicts, whenever the study stops. In a plan this is its
    /// share of the rate (`Plan::split_error_rate`).
    pub error_rate: f64,
    /// Confidence of every interval.
    pub confidence: f64,
}

/// The value for older records, which do not hold the field.
fn yes() -> bool {
    true
}

impl Meta {
    /// The figure with that name.
    pub fn measure(&self, name: &str) -> Option<&'static MeasureMeta> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// The fix with that id.
    pub fn fix(&self, id: &str) -> Option<&'static FixMeta> {
        self.fixes.iter().find(|fix| fix.id == id)
    }

    /// What the figures of the series with that name are.
    pub fn series_title(&self, name: &str) -> Option<&'static str> {
        self.series.iter().find(|series| series.name == name).map(|series| series.title)
    }

    /// The parameter with that name, or with that former name.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        let named =
            |parameter: &&Parameter| parameter.name == name || parameter.former == Some(name);
        (self.parameters.all)().iter().find(named)
    }

    /// The default of every parameter, for a quick or an ordinary run.
    pub fn defaults(&self, quick: bool) -> Settings {
        let value = |one: &Parameter| if quick { one.quick.clone() } else { one.default.clone() };
        let all = (self.parameters.all)().iter();
        all.map(|parameter| (parameter.name.to_owned(), value(parameter))).collect()
    }

    /// Reads a value of the parameter with that name, as written on the command line.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the name or with `text`.
    pub fn read(&self, name: &str, text: &str) -> Result<Value, String> {
        (self.parameters.read)(name, text)
    }

    /// Whether the settings have these values, each as written on the command line.
    pub fn holds(&self, settings: &Settings, wanted: &BTreeMap<String, String>) -> bool {
        wanted.iter().all(|(name, text)| {
            self.read(name, text).is_ok_and(|value| settings.0.get(name) == Some(&value))
        })
    }
}
