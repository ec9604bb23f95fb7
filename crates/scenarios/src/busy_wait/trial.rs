//! One trial: a node serves requests, in a group with a quota or without one.

use super::meter::Meter;
use super::observe::{Outside, Served, hung, observe};
use super::plan::TrialSpec;
use super::sentences::BusyWaitFact;
use crate::erlang::evidence::Watched;
use crate::{Context, ScenarioError, Tick, TrialResult, erlang, quota};
use beam::term::{self, as_bytes, as_f64, as_u64, each, field};
use beam::{CallError, Node, NodeOptions, Term};
use host::cgroup::{Bandwidth, BandwidthGroup, ParentGroup};
use host::governor::Governor;
use host::roots::Roots;
use model::{Amount, Evidence, Problem, Unit};
use os::time;
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the node may take after the end of the load. A throttled node notices the end late. A
/// node that takes longer hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a trial and makes its observation.
pub(super) fn run(spec: &TrialSpec, context: &mut Context) -> Result<TrialResult, ScenarioError> {
    let roots = context.host.roots;
    let _governor = Governor::performance(roots);
    let group = spec.bandwidth.as_ref().map(|bandwidth| throttled(bandwidth, roots));
    let group = group.transpose()?;
    let options = node_options(spec, group.as_ref());
    let mut watched = Watched::prepare(context.probe, roots, group.is_some());
    let mut node = erlang::start(&spec.vm, options, context.interrupted)?;
    let facts = erlang::facts(&spec.vm, &node, &spec.flags);
    let (answer, meter) = serve(spec, &mut node, context, roots, group.as_ref(), &mut watched)?;
    watched.end();
    let (outside, disturbance) = meter.finish();
    let served = match &answer {
        Some(answer) => Some(erlang::read(served(erlang::answer(answer)?))?),
        None => None,
    };
    drop(node);
    if let Some(group) = group {
        group.remove().map_err(quota::broken)?;
    }
    let quota = spec.bandwidth.as_ref();
    let mut observation = match &served {
        Some(served) => observe(served, &outside, quota),
        None => hung(&outside, quota, PATIENCE),
    };
    observation.vm = Some(facts);
    observation.evidence = served.and_then(|served| evidence(watched, &served, &outside));
    Ok(TrialResult { observation, disturbance })
}

/// The options of a node with the flags of a spec, started in the group.
pub(super) fn node_options(spec: &TrialSpec, group: Option<&BandwidthGroup>) -> NodeOptions {
    let procs = |group: &std::path::Path| group.join("cgroup.procs");
    let join = group.into_iter().flat_map(BandwidthGroup::join_paths).map(procs).collect();
    NodeOptions { flags: spec.flags.clone(), join, ..NodeOptions::default() }
}

/// The evidence about the node's threads, and about the quota if there is one.
fn evidence(watched: Watched, served: &Served, outside: &Outside) -> Option<Evidence> {
    let gained = outside.group.as_ref().map(|(gained, _)| gained);
    let mut evidence = watched.evidence(Some(served.active))?;
    if let Some(gained) = gained {
        quota::lay_over(&mut evidence, gained);
    }
    Some(evidence)
}

fn throttled(bandwidth: &Bandwidth, roots: &Roots) -> Result<BandwidthGroup, ScenarioError> {
    let home = ParentGroup::find(roots).map_err(quota::broken)?;
    let group = BandwidthGroup::create(&home).map_err(quota::broken)?;
    group.set(bandwidth).map_err(quota::broken)?;
    Ok(group)
}

/// Lets the node serve requests. The meter starts when the node reports that it is ready and has
/// rested. From then on it is read every 50 ms. The answer is None if the node hangs.
fn serve<'a>(
    spec: &TrialSpec,
    node: &mut Node,
    context: &mut Context,
    roots: &'a Roots,
    group: Option<&'a BandwidthGroup>,
    watched: &mut Watched,
) -> Result<(Option<Term>, Meter<'a>), ScenarioError> {
    let pid = node.pid();
    let meter: RefCell<Option<Result<Meter, ScenarioError>>> = RefCell::new(None);
    let mut ready = |_: Instant, _: Term| {
        let mut meter = meter.borrow_mut();
        if meter.is_none() {
            watched.release(pid);
            *meter = Some(Meter::start(roots, pid, group, spec.strace));
        }
    };
    let interrupted = context.interrupted;
    let options = options(spec, context.seed);
    let tick = RefCell::new(&mut context.tick);
    let asked = || {
        if let Some(Ok(meter)) = meter.borrow_mut().as_mut() {
            meter.look();
            (tick.borrow_mut())(Tick { elapsed: meter.elapsed(), ..Tick::default() });
        }
        interrupted()
    };
    let limit = spec.duration + spec.settle + PATIENCE;
    let called = node.call("tailback_requests", "run", vec![options], limit, &asked, &mut ready);
    let answer = match called {
        Ok(answer) => Some(answer),
        Err(CallError::Late { .. }) => None,
        Err(error) => return Err(erlang::failed(error)),
    };
    let Some(meter) = meter.into_inner() else {
        // If the node refused before it was ready, its answer has the reason. Otherwise it did not
        // get ready in time.
        let why = answer.as_ref().and_then(|answer| erlang::answer(answer).err());
        return Err(why.unwrap_or_else(|| {
            let limit = Amount::exact(time::ms(limit), Unit::Milliseconds);
            ScenarioError::Broken(Problem::Scenario(BusyWaitFact::NotReady { limit }.into()))
        }));
    };
    Ok((answer, meter?))
}

pub(super) fn options(spec: &TrialSpec, seed: u64) -> Term {
    let ms = |time: Duration| term::uint(u64::try_from(time.as_millis()).unwrap_or(1));
    term::map([
        ("kind", term::atom(&spec.load.to_string())),
        ("workers", term::uint(spec.workers.into())),
        ("rate", term::uint(spec.rate.into())),
        ("settle_ms", ms(spec.settle)),
        ("duration_ms", ms(spec.duration)),
        ("background", term::uint(spec.background.into())),
        ("seed", term::uint(seed >> 11)),
        ("dir", term::text(&folder(spec).to_string_lossy())),
        ("tell", term::atom("$tell")),
    ])
}

/// The folder for files that a node removes at once. The caller's folder may be closed to the
/// node's user.
fn folder(spec: &TrialSpec) -> PathBuf {
    match spec.vm.otp.user() {
        Some(_) => PathBuf::from("/tmp"),
        None => std::env::temp_dir(),
    }
}

/// Reads the answer of `tailback_requests:run`.
fn served(map: &Term) -> term::Read<Served> {
    let microseconds = |key: &str| field(map, key, |bytes| as_bytes(bytes).map(numbers));
    let us = |us: f64| Duration::try_from_secs_f64(us / 1e6).unwrap_or_default();
    let active: Vec<f64> =
        field(map, "scheduler_use", |list| each(list, |one| field(one, "active_us", as_f64)))?;
    Ok(Served {
        wall: us(field(map, "wall_us", as_f64)?),
        done_us: microseconds("latencies")?,
        waiting_us: microseconds("unfinished")?,
        failed: field(map, "failed", as_u64)?,
        background: field(map, "background_pieces", as_u64)?,
        active: us(active.iter().sum()),
    })
}

/// Unsigned 32-bit big-endian numbers.
fn numbers(bytes: &[u8]) -> Vec<u32> {
    let (whole, _) = bytes.as_chunks::<4>();
    whole.iter().map(|number| u32::from_be_bytes(*number)).collect()
}
