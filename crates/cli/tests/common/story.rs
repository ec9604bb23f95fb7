//! A record with everything that a page can show: fixes, series, evidence, a VM.

use model::evidence::{Behind, BehindKind, Holder, Resource, Span, Task, ThreadEvidence, Wait};
use model::fact::Note;
use model::not_seen::{EvidenceSource, NotSeen, Sees};
use model::suggestion::Command;
use model::{
    Arm, Caveat, Changed, Evidence, Fact, Facts, Headline, Judged, Reason, Role, Run, Series,
    Settings, Suggestion, Trial, Unit, Vm, What,
};

/// Number of schedulers, and of samples of each.
const SCHEDULERS: usize = 8;
const SAMPLES: u32 = 200;

/// The golden record of an affected machine, with an arm that fixes it. Its trials have series,
/// evidence and a VM.
pub fn story() -> Judged {
    let text = super::packed::read(&super::packed::golden("mmap-lock"));
    let mut facts = Facts::from_json(&text).unwrap();
    add_fix(&mut facts);
    for trial in &mut facts.trials {
        let stalled = trial.arm == "busy-10";
        let seen = &mut trial.observation;
        let queues = queues(stalled);
        seen.series.insert("run_queues".into(), queues);
        seen.series.insert("queued".into(), queued(stalled));
        seen.series.insert("cost".into(), cost(stalled));
        seen.vm = Some(vm(stalled));
    }
    if let Some(trial) = facts.trials.iter_mut().find(|trial| trial.arm == "busy-10") {
        trial.observation.evidence = Some(evidence());
    }
    scenarios::judged(facts)
}

fn add_fix(record: &mut Facts) {
    let settings = record.plan.arms[1].settings.clone();
    record.plan.arms.push(Arm {
        id: "nice-0".into(),
        role: Role::Fix,
        against: None,
        settings,
        change: Some(Changed::Said("readers with nice 0".into())),
    });
    let controls = record.trials.iter().filter(|trial| trial.arm == "control");
    let fixed: Vec<Trial> =
        controls.map(|trial| Trial { arm: "nice-0".into(), ..trial.clone() }).collect();
    record.trials.extend(fixed);
}

fn queues(stalled: bool) -> Series {
    let columns = (1..=SCHEDULERS).map(|id| format!("scheduler {id}")).collect();
    let mut series = Series::new(Unit::Count, columns);
    series.title = Some("processes in the run queue".into());
    for sample in 0..SAMPLES {
        let row = (0..SCHEDULERS).map(|id| {
            let wave = f64::from((sample + 7 * u32::try_from(id).unwrap()) % 20) / 5.0;
            let stuck = stalled && id == 2;
            Some(if stuck { 12.0 + f64::from(sample) / 8.0 } else { wave.floor() })
        });
        series.push(f64::from(sample) * 5.0, row.collect());
    }
    series
}

fn queued(stalled: bool) -> Series {
    let mut series = Series::new(Unit::Count, vec!["server".into()]);
    series.title = Some("messages queued".into());
    for sample in 0..SAMPLES {
        let many = if stalled { f64::from(sample).powi(2) } else { f64::from(sample % 4) };
        series.push(f64::from(sample) * 5.0, vec![Some(many)]);
    }
    series
}

fn cost(stalled: bool) -> Series {
    let mut series = queued(stalled);
    series.unit = Unit::Milliseconds;
    series.title = Some("a call takes".into());
    series.against = Some("queued".into());
    for row in &mut series.rows {
        row.iter_mut().flatten().for_each(|figure| *figure = 0.01 + *figure * 0.0001);
    }
    series
}

fn vm(stalled: bool) -> Vm {
    Vm {
        otp: "25".into(),
        erts: "13.1.5".into(),
        erl: "/usr/bin/erl".into(),
        flags: if stalled { vec!["+sbwt".into(), "very_long".into()] } else { Vec::new() },
        schedulers: 8,
        schedulers_online: 8,
        dirty_cpu_online: 8,
        dirty_io: 10,
        ..Vm::default()
    }
}

fn task(part: &str, tid: u32) -> Task {
    Task { pid: tid, tid, name: part.into(), part: Some(part.into()), nice: Some(15) }
}

fn evidence() -> Evidence {
    let holder = Holder {
        task: task("scanner", 812),
        mode: "read".into(),
        overlap_ns: 470_000_000,
        running_ns: 2_000_000,
        preempted_ns: 468_000_000,
        blocked_ns: 0,
        throttled_ns: None,
        cpu: Some(1),
        behind: vec![Behind {
            name: "spinner".into(),
            kind: BehindKind::Part,
            threads: 10,
            ns: 468_000_000,
        }],
    };
    let span = |task: Task, state: &str, from_ms: f64, until_ms: f64| Span {
        task,
        state: state.into(),
        cpu: Some(1),
        from_ms,
        until_ms,
    };
    let timeline = vec![
        span(task("mapper", 5), "waiting", 12.0, 492.0),
        span(task("scanner", 812), "running", 10.0, 14.0),
        span(task("scanner", 812), "preempted", 14.0, 482.0),
        span(task("spinner", 820), "running", 14.0, 250.0),
        span(task("spinner", 821), "running", 250.0, 482.0),
    ];
    Evidence {
        sources: vec![
            EvidenceSource::Probe(Sees::MmapLock),
            EvidenceSource::Probe(Sees::Scheduler),
        ],
        missing: vec![NotSeen::NoTracepoint(Sees::Futex)],
        lost_events: 0,
        waits: vec![Wait {
            at_ms: 12.0,
            took_ns: 480_000_000,
            waiter: task("mapper", 5),
            resource: Resource::MmapLock { pid: 5 },
            mode: Some("write".into()),
            stack: Vec::new(),
            holders: vec![holder],
            covered_ns: 470_000_000,
            split: None,
            timeline,
        }],
        threads: vec![ThreadEvidence {
            task: task("scanner", 812),
            running_ns: 2_000_000,
            runnable_ns: 468_000_000,
            longest_runnable_ns: 468_000_000,
            ..ThreadEvidence::default()
        }],
        waits_seen: 3,
        waits_ns: 490_000_000,
        ..Evidence::default()
    }
}

/// A fact in which every part is hostile.
fn fact(evil: &str) -> Fact {
    Fact { id: evil.to_owned(), values: [(evil.to_owned(), evil.into())].into() }
}

/// A suggestion in which every part is hostile.
fn suggestion(evil: &str) -> Suggestion {
    let mut parameters = Settings::default();
    parameters.set(evil, model::Value::Text(evil.to_owned()));
    parameters.set("procfile", model::Value::Text(evil.to_owned()));
    let run = Run { command: Command::Run, scenario: "mmap-lock".to_owned(), parameters };
    let what = What::Scenario(fact(evil));
    Suggestion { what, run: Some(run), measured: None }
}

/// A record in which every text that another user could have written is hostile.
pub fn hostile(evil: &str) -> Judged {
    let mut record = story().facts;
    let name = |text: &mut String| *text = format!("{evil}{text}");
    for arm in &mut record.plan.arms {
        name(&mut arm.id);
        arm.change = Some(Changed::Said(evil.to_owned()));
    }
    for trial in &mut record.trials {
        name(&mut trial.arm);
        let seen = &mut trial.observation;
        seen.notes.push(Note::Said(evil.to_owned()));
        seen.stalls.iter_mut().for_each(|stall| name(&mut stall.operation));
        for series in seen.series.values_mut() {
            series.title.iter_mut().for_each(name);
            series.columns.iter_mut().for_each(name);
        }
        if let Some(vm) = &mut seen.vm {
            name(&mut vm.otp);
            vm.flags.push(evil.to_owned());
        }
        let waits = seen.evidence.iter_mut().flat_map(|evidence| &mut evidence.waits);
        for wait in waits {
            wait.resource = Resource::Said(evil.to_owned());
            wait.waiter.part = Some(evil.to_owned());
            wait.timeline.iter_mut().for_each(|span| name(&mut span.task.name));
        }
        seen.latencies = std::mem::take(&mut seen.latencies)
            .into_iter()
            .map(|(key, latency)| (format!("{evil}{key}"), latency))
            .collect();
    }
    record.machine.kernel = evil.to_owned();
    record.machine.cpu_model = Some(evil.to_owned());
    record.tool.argv.push(evil.to_owned());
    record.tool.version = evil.to_owned();
    record.started = evil.to_owned();
    let mut record = scenarios::judged(record);
    record.judgement.reasons.push(Reason::Scenario(fact(evil)));
    record.judgement.caveats.push(Caveat::Scenario(fact(evil)));
    record.judgement.suggestions.push(suggestion(evil));
    record.judgement.headline = Headline::Scenario(fact(evil));
    record.facts.scenario = format!("{evil}{}", record.facts.scenario);
    record
}
