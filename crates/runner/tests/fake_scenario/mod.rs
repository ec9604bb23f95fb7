//! A fake `mmap-lock`: invented figures, one for each combination, and no children.

#![allow(dead_code, reason = "each test file uses the part of it that it needs")]

use model::{
    Arm, Disturbance, Fact, Facts, Judged, Machine, Measure, Observation, Problem, Role, Unit,
};
use scenarios::mmap_lock::{META, MmapLockParams};
use scenarios::params::Counts;
use scenarios::{Arms, Context, Host, Scenario, ScenarioError, Summary, TrialResult};
use std::path::Path;
use std::time::Duration;
use tailback_runner::studies::{Design, Layout, StudyError, begin_sitting, lay_out};
use tailback_runner::{End, Event, Study};

/// The invented path of the file.
pub const PATH: &str = "rows.toml";

/// A study of two factors.
pub const FILE: &str = r#"
scenario = "mmap-lock"
about = "Two factors."
control = { busy = 0, procfile = "smaps" }
blocks = { least = 2, most = 8 }
time = "5min"
seed = 7

[fixed]
duration = "100ms"

[factors]
busy = [0, 1, 10]
procfile = ["smaps", "maps"]

[quick]
blocks = 3
control = { busy = 0, procfile = "maps" }
factors.busy = [0, 10]
factors.procfile = ["maps"]
fixed.lead = "0"
"#;

/// The study that a text describes.
pub fn read(text: &str) -> Result<Design, StudyError> {
    Design::read(text, Path::new(PATH), false)
}

/// The arms of a study.
pub fn layout(design: &Design) -> Layout {
    let machine = Machine::default();
    let roots = host::Roots::at("/nonexistent");
    let host = scenarios::Host {
        roots: &roots,
        machine: &machine,
        otps: &scenarios::erlang::Otps::default(),
    };
    lay_out(design, &FAKE, &host, design.combinations(Path::new(PATH)).unwrap()).unwrap()
}

/// Runs a study; its events may ask for its end.
pub fn run(
    design: &Design,
    old: Option<Facts>,
    keep: &Path,
    on_event: impl Fn(&Event) -> bool,
) -> (Judged, End) {
    let (roots, machine) = (host::Roots::at("/nonexistent"), Machine::default());
    let stop = std::cell::Cell::new(false);
    let layout = layout(design);
    let study = Study {
        scenario: &FAKE,
        plan: layout.plan(design, &FAKE, design.seed.unwrap()),
        time: Duration::from_secs(3600),
        host: scenarios::Host {
            roots: &roots,
            machine: &machine,
            otps: &scenarios::erlang::Otps::default(),
        },
        spawner: scenarios::LoadSpawner::default(),
        argv: Vec::new(),
        keep: Some(keep.to_owned()),
        interrupted: &|| stop.get(),
        probe: tailback_runner::ProbeWhen::Never,
    };
    let factorial = Some(layout.factorial.clone());
    let mut record = old.unwrap_or_else(|| Facts { factorial, ..study.facts() });
    let first = record.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
    begin_sitting(&mut record, first);
    study.go_on(record, &mut |event: Event<'_>| {
        if on_event(&event) {
            stop.set(true);
        }
    })
}

/// The scenario.
pub static FAKE: Scenario<MmapLockParams> = Scenario {
    meta: &META,
    generators: &[],
    missing: |_| None,
    of_old_kernels: None,
    arms,
    calibrate: None,
    cell: None,
    sketch: None,
    judging: None,
    expected: |_| Duration::from_secs(1),
    warm_up: None,
    trial,
    review: None,
    summary: |_, _, _| Summary::default(),
};

/// Like the real one: a control without load, and an arm for the load. A load of 13 is refused.
fn arms(params: &MmapLockParams, _: &Host) -> Result<Arms<MmapLockParams>, ScenarioError> {
    let busy = params.busy.all().first().copied().unwrap_or(0);
    if busy == 13 {
        return Err(ScenarioError::Unusable(Problem::Scenario(Fact::new("unlucky"))));
    }
    let arm = |id: &str, role, busy| {
        let settings = MmapLockParams { busy: Counts::one(busy), ..params.clone() };
        Arm { id: id.to_owned(), role, settings, against: None, change: None }
    };
    Ok(vec![arm("control", Role::Control, 0), arm("busy", Role::Case, busy)].into())
}

/// Loses 10 ms/s for each reader of smaps, and half of that for each of maps.
fn trial(params: &MmapLockParams, _: &mut Context) -> Result<TrialResult, ScenarioError> {
    let each = if params.procfile.as_str() == "maps" { 5.0 } else { 10.0 };
    let lost = each * f64::from(params.busy.most());
    let mut observation = Observation { window_ms: 250.0, ..Observation::default() };
    let mut put = |name: &str, measure| observation.measures.insert(name.to_owned(), measure);
    put("stall", Measure::exact(lost, Unit::MillisecondsPerSecond));
    put("scan_bytes", Measure::exact(1.0, Unit::Bytes));
    Ok(TrialResult { observation, disturbance: Disturbance::default() })
}
