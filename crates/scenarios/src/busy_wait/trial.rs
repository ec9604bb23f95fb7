//! One trial: a node serves requests, in a group with a quota or free.

use super::observe::{Outside, Served, observe};
use super::plan::Script;
use crate::{Context, ScenarioError, Seen, Tick, Watch, erlang};
use beam::term::{self, as_bytes, as_f64, as_u64, each, field};
use beam::{Node, NodeOptions, Term, ThreadSampler};
use host::cgroup::{BandwidthGroup, Home, ThrottledRuns};
use host::governor::Governor;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How often the threads are looked at: only their totals are of use here.
const THREADS_EVERY: Duration = Duration::from_millis(50);

/// How long the node may take beyond the load itself: a throttled one is slow to notice the end.
const PATIENCE: Duration = Duration::from_secs(90);

/// Runs a trial and makes its observation.
pub(super) fn run(script: &Script, context: &mut Context) -> Result<Seen, ScenarioError> {
    let roots = context.site.roots;
    let _governor = Governor::performance(roots);
    let group = match &script.bandwidth {
        Some(bandwidth) => {
            let home = Home::find(roots).map_err(broken)?;
            let group = BandwidthGroup::create(&home).map_err(broken)?;
            group.set(bandwidth).map_err(broken)?;
            Some(group)
        }
        None => None,
    };
    let procs = |group: &std::path::Path| group.join("cgroup.procs");
    let join = group.iter().flat_map(BandwidthGroup::join_paths).map(procs).collect();
    let options = NodeOptions { flags: script.flags.clone(), join, ..NodeOptions::default() };
    let mut node = erlang::start(&script.vm, options, context.interrupted)?;
    let facts = erlang::facts(&script.vm, &node, &script.flags);
    let measured_cpu = context.site.machine.allowed_cpus.first().copied().unwrap_or(0);
    let watch = Watch::start(roots, measured_cpu);
    let before = group.as_ref().map(BandwidthGroup::usage);
    let proc = roots.resolve(std::path::Path::new("/proc"));
    let sampler =
        ThreadSampler::start(&proc, node.pid(), THREADS_EVERY).map_err(erlang::refused)?;
    let cpu_before = erlang::threads::process_cpu(roots, node.pid());
    let began = Instant::now();
    let runs = RefCell::new(ThrottledRuns::new());
    let answer = serve(script, &mut node, context, began, &mut || read(group.as_ref(), &runs));
    let window = began.elapsed();
    let cpu_after = erlang::threads::process_cpu(roots, node.pid());
    let threads = sampler.finish();
    let usage = group.as_ref().zip(before).map(|(group, before)| group.usage().since(&before));
    let surroundings = watch.finish(roots);
    let served = erlang::read(served(erlang::answer(&answer?)?))?;
    drop(node);
    if let Some(group) = group {
        group.remove().map_err(broken)?;
    }
    let outside = Outside {
        schedulers: erlang::threads::scheduler_cpu(&threads),
        cpu: cpu_before.zip(cpu_after).map(|(before, after)| {
            (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1))
        }),
        switches: erlang::threads::scheduler_switches(&threads),
        window,
        group: usage.map(|usage| (usage, runs.into_inner())),
    };
    let mut observation = observe(&served, &outside);
    observation.vm = Some(facts);
    Ok(Seen { observation, surroundings })
}

fn broken(error: host::cgroup::CgroupError) -> ScenarioError {
    ScenarioError::Broken(error.to_string())
}

/// Reads the throttling counters, so that runs of throttled periods are seen.
fn read(group: Option<&BandwidthGroup>, runs: &RefCell<ThrottledRuns>) {
    let usage = group.map(BandwidthGroup::usage);
    if let Some((periods, throttled)) = usage.and_then(|u| Some((u.nr_periods?, u.nr_throttled?))) {
        runs.borrow_mut().read(periods, throttled);
    }
}

/// Has the node serve requests; `look` is called every 50 ms meanwhile.
fn serve(
    script: &Script,
    node: &mut Node,
    context: &mut Context,
    began: Instant,
    look: &mut dyn FnMut(),
) -> Result<Term, ScenarioError> {
    let options = term::map([
        ("kind", term::atom(&script.load)),
        ("workers", term::uint(script.workers)),
        ("rate", term::uint(script.rate)),
        ("duration_ms", term::uint(u64::try_from(script.duration.as_millis()).unwrap_or(1))),
        ("background", term::uint(script.background)),
        ("seed", term::uint(context.seed >> 11)),
        ("dir", term::text(&std::env::temp_dir().to_string_lossy())),
    ]);
    let interrupted = context.interrupted;
    let each_time = RefCell::new((&mut context.tick, look));
    let asked = || {
        let mut both = each_time.borrow_mut();
        (both.0)(Tick { elapsed: began.elapsed(), ..Tick::default() });
        (both.1)();
        interrupted()
    };
    let limit = script.duration + PATIENCE;
    node.call("tailback_requests", "play", vec![options], limit, &asked, &mut |_, _| {})
        .map_err(erlang::failed)
}

/// What `tailback_requests:play` says.
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
