//! One trial: its load, its observation, and the disturbances of the machine.

use super::load::{Event, TrialSpec, run_load};
use super::observe;
use super::reader_group::{self, ReaderGroup};
use crate::probing::Probing;
use crate::quota;
use crate::{Context, Disturbances, ScenarioError, TrialResult};
use host::cgroup::Bandwidth;
use model::Disturbance;
use model::problem::{Problem, UnusableCpu};
use probe::SessionOptions;

/// Runs a trial of the scenario and makes its observation.
pub(super) fn run(
    mut spec: TrialSpec,
    reader_quota: Option<Bandwidth>,
    context: &mut Context,
) -> Result<TrialResult, ScenarioError> {
    let _pinned =
        os::pin::Pinned::to(spec.cpu_tool).map_err(|error| unusable_tool(spec.cpu_tool, &error))?;
    let roots = context.host.roots;
    let mut group = reader_quota.map(|quota| ReaderGroup::create(roots, &quota)).transpose()?;
    spec.reader_groups = group.as_ref().map(ReaderGroup::folders).unwrap_or_default();
    let mut gained = None;
    let mut watch = None;
    let mut mapper = None;
    let mut disturbance = Disturbance::default();
    let (spawner, interrupted) = (context.spawner, context.interrupted);
    let options = SessionOptions { quota: group.is_some(), ..SessionOptions::new(roots) };
    let mut probing = Probing::start_with(context.probe, &options);
    let raw = run_load(&spec, spawner, interrupted, &mut |event| match event {
        Event::Ready(parts) => {
            // The first process is the mapper.
            mapper = parts.first().map(|process| process.pid);
            parts.iter().for_each(|process| probing.watch(process));
        }
        Event::Released => {
            probing.release();
            group.iter_mut().for_each(ReaderGroup::begin);
            watch = Some(Disturbances::start(roots, mapper));
        }
        Event::Tick(tick) => (context.tick)(tick),
        // From here on the children end, which does not count as a disturbance.
        Event::Ended => {
            disturbance = watch.take().map_or_else(Default::default, |w| w.finish(roots));
            probing.end();
            gained = group.as_ref().map(ReaderGroup::end);
        }
    })?;
    let mut observation = observe::observe(&raw)?;
    observation.evidence = probing.evidence();
    if let Some(gained) = gained {
        reader_group::add(&mut observation, &gained);
        if let Some(evidence) = &mut observation.evidence {
            quota::lay_over(evidence, &gained);
        }
    }
    Ok(TrialResult { observation, disturbance })
}

/// The error for a tool CPU that no thread can be pinned to.
fn unusable_tool(cpu: u32, error: &std::io::Error) -> ScenarioError {
    let why = UnusableCpu::Refused { error: error.to_string() };
    ScenarioError::Unusable(Problem::Cpu { option: "--cpu-tool".to_owned(), cpu, why })
}
