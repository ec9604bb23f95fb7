//! One trial: its load, what was seen of it, and what the machine did meanwhile.

use super::load::{Event, TrialSpec, run_load};
use super::observe;
use crate::probing::Probing;
use crate::{Context, ScenarioError, TrialResult, Watch};
use model::Disturbance;

/// Runs a trial of the scenario and makes its observation.
pub(super) fn run(spec: &TrialSpec, context: &mut Context) -> Result<TrialResult, ScenarioError> {
    let _pinned = os::pin::Pinned::to(spec.cpu_tool)
        .map_err(|e| ScenarioError::Unusable(format!("tool on CPU {}: {e}", spec.cpu_tool)))?;
    let roots = context.host.roots;
    let mut watch = None;
    let mut mapper = None;
    let mut disturbance = Disturbance::default();
    let (spawner, interrupted) = (context.spawner, context.interrupted);
    let mut probing = Probing::start(context.probe, roots);
    let raw = run_load(spec, spawner, interrupted, &mut |event| match event {
        Event::Ready(parts) => {
            // The first of them is the mapper.
            mapper = parts.first().map(|process| process.pid);
            parts.iter().for_each(|process| probing.watch(process));
        }
        Event::Released => {
            probing.release();
            watch = Some(Watch::start(roots, mapper));
        }
        Event::Tick(tick) => (context.tick)(tick),
        // What comes after is the end of the children, which is nobody's disturbance.
        Event::Ended => {
            disturbance = watch.take().map_or_else(Default::default, |w| w.finish(roots));
            probing.end();
        }
    })?;
    let mut observation = observe::observe(&raw)?;
    observation.evidence = probing.evidence();
    Ok(TrialResult { observation, disturbance })
}
