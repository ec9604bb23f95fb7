//! One trial: a node does the work twice. The first run is undisturbed. In the second run, half of
//! the work is watched from inside.
//!
//! A process that wakes up from time to time makes sleeping schedulers look for work. A timer
//! process that ticks every millisecond ends a collapse, and sampling the run queues every 20 ms
//! shortens it. So the duration of the work and the sleep of schedulers are measured with no other
//! process awake in the node. Lateness and run queues are measured in a second run.
//!
//! Nothing is left behind for the next trial. The node has no files and no sockets. When it is
//! dropped, the trial waits until the VM, its memory and everything that it started are gone.

use super::meta::measure;
use super::observe::{Measured, Outside, observe};
use super::plan::TrialSpec;
use super::ticks::Ticks;
use crate::erlang::Ended;
use crate::erlang::evidence::Watched;
use crate::{Context, Disturbances, ScenarioError, Tick, TrialResult, erlang};
use beam::term::{self, as_f64, as_list, as_text, as_tuple, as_u64, each, field};
use beam::{CallError, Node, NodeOptions, Term, ThreadSampler};
use model::{Measure, Observation, Unit};
use os::time;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Interval of the ticks, in milliseconds.
const TICK_MS: u64 = 1;

/// Interval between two samples of the run queues in the second run, in milliseconds.
const SAMPLE_MS: u64 = 5;

/// The same in the first run: too long to matter.
const HARDLY_MS: u64 = 10_000;

/// Interval between two samples of the threads from outside.
const THREADS_EVERY: Duration = Duration::from_millis(5);

/// How long the node is quiet before the work begins, in milliseconds. Idle schedulers look for
/// work for less than a millisecond before they sleep.
const SETTLE_MS: u64 = 20;

/// The same in the second run. It gives some ticks on time, with which late ticks are compared.
const FEW_TICKS_MS: u64 = 5;

/// Runs a trial and makes its observation.
pub(super) fn run(spec: &TrialSpec, context: &mut Context) -> Result<TrialResult, ScenarioError> {
    let options = NodeOptions { flags: spec.flags.clone(), ..NodeOptions::default() };
    let roots = context.host.roots;
    let mut watched = Watched::prepare(context.probe, roots, false);
    let mut node = erlang::start(&spec.vm, options, context.interrupted)?;
    let facts = erlang::facts(&spec.vm, &node, &spec.flags);
    let watch = Disturbances::start(roots, None);
    let began = Instant::now();
    let observation = both_runs(spec, &mut node, context, began, &mut watched);
    let disturbance = watch.finish(roots);
    let mut observation = match observation {
        Ok(observation) => observation,
        Err(Ended::Late) => hang(spec.limit, began.elapsed()),
        Err(Ended::Broken(error)) => return Err(error),
    };
    observation.vm = Some(facts);
    observation.evidence = watched.evidence(None);
    Ok(TrialResult { observation, disturbance })
}

fn both_runs(
    spec: &TrialSpec,
    node: &mut Node,
    context: &mut Context,
    began: Instant,
    watched: &mut Watched,
) -> Result<Observation, Ended> {
    let proc = context.host.roots.resolve(std::path::Path::new("/proc"));
    let sampler =
        ThreadSampler::start(&proc, node.pid(), THREADS_EVERY).map_err(erlang::refused)?;
    let args = vec![options(spec, spec.processes, HARDLY_MS, SETTLE_MS)];
    watched.release(node.pid());
    let answer = call(node, "wait", "measure", args, spec, context, began, &mut |_, _| {});
    watched.end();
    let threads = sampler.finish();
    let alone = erlang::read(measured(erlang::answer(&answer?)?))?;
    let mut ticks = Ticks::default();
    let mut on_event = |at: Instant, event: Term| {
        if let Ok(number) = tick_number(&event) {
            ticks.push(number, at.saturating_duration_since(began));
        }
    };
    let second = options(spec, spec.watched, SAMPLE_MS, FEW_TICKS_MS);
    let args = vec![second, term::uint(TICK_MS), term::atom("$tell")];
    let answer =
        call(node, "tailback_trial", "blocking_nif", args, spec, context, began, &mut on_event)?;
    let with_ticks = erlang::read(measured(erlang::answer(&answer)?))?;
    let outside = Outside {
        ticks: ticks.lateness(Duration::from_millis(TICK_MS)),
        run_queues: with_ticks.run_queues,
        unbalanced: with_ticks.unbalanced,
        cpu_ms_per_s: erlang::threads::scheduler_cpu_rate(&threads),
        threads: erlang::threads::at_work(&threads),
    };
    Ok(observe(&alone, outside))
}

fn options(spec: &TrialSpec, processes: u32, sample_ms: u64, settle_ms: u64) -> Term {
    term::map([
        ("mode", term::atom(&spec.mode.to_string())),
        ("processes", term::uint(processes.into())),
        ("work", term::uint(spec.work.into())),
        ("calls", term::uint(spec.calls.into())),
        ("iterations", term::uint(spec.iterations.into())),
        ("sample_ms", term::uint(sample_ms)),
        ("settle_ms", term::uint(settle_ms)),
    ])
}

/// Calls a function of the node. Reports the elapsed time meanwhile.
#[allow(
    clippy::too_many_arguments,
    reason = "a call is a module, a function, and what gets its events"
)]
fn call(
    node: &mut Node,
    module: &str,
    function: &str,
    args: Vec<Term>,
    spec: &TrialSpec,
    context: &mut Context,
    began: Instant,
    on_event: &mut dyn FnMut(Instant, Term),
) -> Result<Term, CallError> {
    let interrupted = context.interrupted;
    let tick = RefCell::new(&mut context.tick);
    let asked = || {
        (tick.borrow_mut())(Tick { elapsed: began.elapsed(), ..Tick::default() });
        interrupted()
    };
    node.call(module, function, args, spec.limit, &asked, on_event)
}

/// The number of a tick, or of the first of several ticks that were reported together.
fn tick_number(event: &Term) -> term::Read<u64> {
    if let Ok([_, number, _]) = as_tuple::<3>(event) {
        return as_u64(number);
    }
    let [_, first, _, _] = as_tuple::<4>(event)?;
    as_u64(first)
}

/// The observation of a trial that did not end in time. It has a bound without information for
/// every judged figure, so its block is complete. What counts is that it hung.
fn hang(limit: Duration, watched: Duration) -> Observation {
    let limit_ms = time::ms(limit);
    let mut seen =
        Observation { window_ms: time::ms(watched), hang: true, ..Observation::default() };
    let mut put = |name: &str, measure| seen.measures.insert(name.to_owned(), measure);
    put(measure::WALL, Measure::at_least(limit_ms, Unit::Milliseconds));
    put(measure::ASLEEP, Measure::at_least(0.0, Unit::Percent));
    put(measure::UNFAIRNESS, Measure::at_least(1.0, Unit::Ratio));
    put(measure::LATE, Measure::at_least(0.0, Unit::MillisecondsPerSecond));
    seen
}

/// Reads the answer of `wait:measure`.
fn measured(map: &Term) -> term::Read<Measured> {
    let numbers = |key: &str| field(map, key, |list| each(list, as_f64));
    let uses = field(map, "scheduler_use", |list| each(list, scheduler_use))?;
    let kind = field(map, "lane_kind", as_name)?;
    let of_kind = |kind: &str| {
        let of_kind = uses.iter().filter(|one| one.kind == kind);
        of_kind.map(|one| (one.active_us, one.total_us)).collect::<Vec<_>>()
    };
    let percent = |(active, total): &(f64, f64)| 100.0 * active / total.max(1.0);
    let counts = field(map, "class_counts", |counts| {
        let count = |class: &str| field(counts, class, as_f64);
        Ok((count("unbalanced")?, count("even")? + count("minority_zero")?))
    })?;
    Ok(Measured {
        wall_us: field(map, "wall_us", as_f64)?,
        ideal_us: field(map, "ideal_us", as_f64)?,
        lanes: usize::try_from(field(map, "lanes", as_u64)?).unwrap_or(usize::MAX),
        run_times_us: numbers("run_times_us")?,
        finish_us: numbers("finish_us")?,
        active_us: of_kind(&kind).iter().map(|(active, _)| *active).collect(),
        use_percent: of_kind("normal").iter().map(percent).collect(),
        run_queues: field(map, "run_queues", |list| each(list, queues))?,
        unbalanced: (counts.0, counts.0 + counts.1),
    })
}

struct Use {
    kind: String,
    active_us: f64,
    total_us: f64,
}

fn scheduler_use(map: &Term) -> term::Read<Use> {
    Ok(Use {
        kind: field(map, "kind", as_name)?,
        active_us: field(map, "active_us", as_f64)?,
        total_us: field(map, "total_us", as_f64)?,
    })
}

/// The name of an atom, or a text.
fn as_name(term: &Term) -> term::Read<String> {
    term::as_atom(term).map(str::to_owned).or_else(|_| as_text(term))
}

/// Reads a sample of the run queues: time, normal schedulers, dirty CPU, dirty I/O.
fn queues(sample: &Term) -> term::Read<(f64, Vec<f64>)> {
    let [at, normal, cpu, io] = as_tuple::<4>(sample)?;
    let mut lengths = as_list(normal)?.iter().map(as_f64).collect::<term::Read<Vec<f64>>>()?;
    lengths.extend([as_f64(cpu)?, as_f64(io)?]);
    Ok((as_f64(at)?, lengths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hang_has_every_judged_figure() {
        let seen = hang(Duration::from_secs(1), Duration::from_secs(1));
        assert!(seen.hang);
        for judging in
            [super::super::meta::ASLEEP, super::super::meta::UNFAIRNESS, super::super::meta::LATE]
        {
            assert!(seen.measures[judging.measure.as_ref()].at_least);
        }
    }
}
