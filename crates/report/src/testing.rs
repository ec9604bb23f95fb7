//! A record with made-up figures, for tests.

use model::prose::figures::plural;
use model::record::Plan;
use model::scenario::{FixMeta, MeasureMeta, SeriesMeta};
use model::{
    Arm, ArmResult, Changed, Disturbance, Ended, Estimate, Facts, Fix, FixOutcome, Headline,
    Judged, Judgement, Judging, Machine, Measure, Meta, Needs, Observation, Parameter,
    ParameterKind, Parameters, Proportion, Reason, Role, Sentence, Settings, State, Suggestion,
    Trial, Unit, Value, What,
};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The facts of [`META`].
#[derive(Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub enum Own {
    /// The headline, without a figure.
    WorkStalls,
    /// The headline.
    Stalls { lost: Estimate },
    /// The change that an arm makes.
    Fewer { readers: u64 },
}

impl Sentence for Own {
    fn sentence(&self) -> String {
        match self {
            Own::WorkStalls => "Work stalls here.".to_owned(),
            Own::Stalls { lost } => format!("Work stalls here: {lost}."),
            Own::Fewer { readers } => plural(*readers, "reader"),
        }
    }
}

/// The scenario of [`record`].
pub const META: Meta = Meta {
    id: "some-stall",
    title: "something stalls",
    about: "Something is made to stall.",
    who: "those who wait",
    fixes: &[FixMeta {
        id: "fewer-readers",
        what: "fewer readers stall less",
        change: |settings| {
            let mut fewer = settings.clone();
            fewer.set("busy", Value::Number(1));
            Some(fewer)
        },
    }],
    sentence: model::fact::sentence::<Own>,
    series: &[SeriesMeta { name: "queued", title: "processes in the run queue" }],
    needs: Needs { cpus: 1, root: false },
    parameters: Parameters { all: parameters, read },
    measures: &[MeasureMeta {
        name: "lost",
        heading: "lost",
        unit: Unit::MillisecondsPerSecond,
        help: "time lost",
        column: true,
    }],
    judging: Judging {
        measure: std::borrow::Cow::Borrowed("lost"),
        margin: 1.0,
        control_limit: 50.0,
        wants_cpu: true,
        error_rate: 0.05,
        confidence: 0.95,
    },
    tags: &[],
};

fn parameters() -> &'static [Parameter] {
    static ALL: LazyLock<[Parameter; 2]> = LazyLock::new(|| {
        let of = |name, kind, default: Value| Parameter {
            name,
            former: None,
            kind,
            quick: default.clone(),
            default,
        };
        [
            of("busy", ParameterKind::Amount, Value::Numbers(vec![0, 10])),
            of("flags", ParameterKind::Flags, Value::Text(String::new())),
        ]
    });
    &*ALL
}

fn read(name: &str, text: &str) -> Result<Value, String> {
    let number = |text: &str| text.parse::<i64>().map_err(|error| error.to_string());
    match (name, text.contains(',')) {
        ("busy", true) => text.split(',').map(number).collect::<Result<_, _>>().map(Value::Numbers),
        ("busy", false) => number(text).map(Value::Number),
        ("flags", _) => Ok(Value::Text(text.to_owned())),
        _ => Err(format!("there is no parameter `{name}`")),
    }
}

/// Two arms, one of them affected, with two trials each.
pub fn record() -> Judged {
    let arms = ["control", "case"].map(|id| Arm {
        id: id.to_owned(),
        role: if id == "control" { Role::Control } else { Role::Case },
        against: None,
        settings: Settings::default(),
        change: None,
    });
    let trials = (0..2).flat_map(|block| {
        [("control", 1.5), ("case", 900.0)].map(|(arm, lost)| trial(block, arm, lost))
    });
    let argv = ["tailback", "run", "some-stall"].map(str::to_owned).to_vec();
    let machine = Machine { kernel: "6.18.0".to_owned(), ..Machine::default() };
    let started = "2026-11-21T10:00:00Z".to_owned();
    let facts = Facts {
        elapsed_s: 3.0,
        ended: Ended::Complete,
        trials: trials.collect(),
        ..Facts::new("some-stall", plan(arms.to_vec()), machine, argv, started)
    };
    let arms = vec![result("control", 1.5, None), result("case", 900.0, Some(State::Affected))];
    Judged { facts, judgement: Judgement { arms, ..judgement() } }
}

fn plan(arms: Vec<Arm>) -> Plan {
    Plan {
        arms,
        seed: 1,
        min_blocks: 2,
        max_blocks: 2,
        stop_when_settled: true,
        error_rate: None,
        settle_fixes: false,
        wash_out: false,
        judging: META.judging,
        also: Vec::new(),
        left_out: Vec::new(),
    }
}

fn judgement() -> Judgement {
    let mut fewer = Settings::default();
    fewer.set("busy", model::Value::Numbers(vec![1]));
    let run = model::Run {
        command: model::suggestion::Command::Run,
        scenario: META.id.to_owned(),
        parameters: fewer,
    };
    Judgement {
        reasons: vec![Reason::NoCase],
        suggestions: vec![Suggestion {
            what: What::Fix("fewer-readers".to_owned()),
            run: Some(run),
            measured: None,
        }],
        measure: Some("lost".to_owned()),
        ..Judgement::new(State::Affected, Headline::Scenario(Own::WorkStalls.into()))
    }
}

/// A fix of the case with this outcome.
pub fn fix(change: &str, outcome: FixOutcome) -> Fix {
    let measures = |id: &str, median| result(id, median, None).measures;
    Fix {
        arm: change.to_owned(),
        change: Changed::Flags(change.to_owned()),
        outcome,
        case: "case".to_owned(),
        measure: "lost".to_owned(),
        with: measures("fix", 1.5),
        without: measures("case", 900.0),
        e_value_less: None,
        e_value_gone: None,
        left_at_most: None,
        threshold: None,
        left: None,
        comparison: None,
    }
}

/// A trial that lost `lost` milliseconds a second.
pub fn trial(block: u32, arm: &str, lost: f64) -> Trial {
    let mut observation = Observation { window_ms: 250.0, ..Observation::default() };
    let measure = Measure::exact(lost, Unit::MillisecondsPerSecond);
    observation.measures.insert("lost".to_owned(), measure);
    Trial {
        block,
        arm: arm.to_owned(),
        started_ms: f64::from(block) * 1000.0,
        took_ms: 300.0,
        observation,
        disturbance: Disturbance::default(),
    }
}

fn result(id: &str, median: f64, state: Option<State>) -> ArmResult {
    let estimate = Estimate {
        unit: Unit::MillisecondsPerSecond,
        trials: 2,
        median,
        median_at_least: false,
        low: Some(median - 1.0),
        high: Some(median + 1.0),
        high_unbounded: false,
        confidence: 0.95,
        min: median,
        max: median,
        max_at_least: false,
    };
    ArmResult {
        id: id.to_owned(),
        role: if state.is_some() { Role::Case } else { Role::Control },
        state,
        trials: 2,
        hangs: Proportion { count: 0, of: 2, low: 0.0, high: 0.8, confidence: 0.95 },
        worse: None,
        measures: [("lost".to_owned(), estimate)].into(),
        against_control: [].into(),
        e_value: None,
    }
}
