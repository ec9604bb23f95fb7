//! One trial: its load, what was seen of it, and what the machine did meanwhile.

use super::load::{Event, TrialSpec, run_load};
use super::observe;
use crate::probing::Probing;
use crate::{Context, Disturbances, ScenarioError, TrialResult};
use model::Surroundings;

/// Runs a trial of the scenario and makes its observation.
pub(super) fn run(spec: &TrialSpec, context: &mut Context) -> Result<TrialResult, ScenarioError> {
    let _pinned = os::pin::Pinned::to(spec.cpu_tool)
        .map_err(|e| ScenarioError::Unusable(format!("tool on CPU {}: {e}", spec.cpu_tool)))?;
    let roots = context.host.roots;
    let mut watch = None;
    let mut mapper = None;
    let mut surroundings = Surroundings::default();
    let (launcher, interrupted) = (context.launcher, context.interrupted);
    let mut probing = Probing::start(context.probe, roots);
    let raw = run_load(spec, launcher, interrupted, &mut |event| match event {
        Event::Ready(parts) => {
            // The first of them is the mapper.
            mapper = parts.first().map(|process| process.pid);
            parts.iter().for_each(|process| probing.watch(process));
        }
        Event::Released => {
            probing.release();
            watch = Some(Disturbances::start(roots, mapper));
        }
        Event::Tick(tick) => (context.tick)(tick),
        // What comes after is the end of the children, which is nobody's disturbance.
        Event::Ended => {
            surroundings = watch.take().map_or_else(Default::default, |w| w.finish(roots));
            probing.end();
        }
    })?;
    let mut observation = observe::observe(&raw)?;
    observation.evidence = probing.evidence();
    Ok(TrialResult { observation, surroundings })
}
