//! Waiting for child processes, until the user interrupts.

use crate::ScenarioError;
use load::protocol::{Ready, Report};
use load::{Awaited, Child};
use std::time::{Duration, Instant};

/// Interval between two checks for an interruption.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Waits until a child is set up.
pub(crate) fn ready(
    child: &mut Child,
    limit: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Ready, ScenarioError> {
    let ready = until(limit, interrupted, |deadline| child.ready_before(deadline))?;
    ready.ok_or_else(|| child.late(Awaited::Ready, limit).into())
}

/// Waits for a child's report.
pub(crate) fn report(
    child: &mut Child,
    limit: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Report, ScenarioError> {
    let report = report_before(child, limit, interrupted)?;
    report.ok_or_else(|| child.late(Awaited::Report, limit).into())
}

/// Waits for the report of a child that may hang. None after the limit.
pub(crate) fn report_before(
    child: &mut Child,
    limit: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Option<Report>, ScenarioError> {
    until(limit, interrupted, |deadline| child.report_before(deadline))
}

/// Asks repeatedly until there is an answer. None after the limit.
pub(crate) fn until<T>(
    limit: Duration,
    interrupted: &dyn Fn() -> bool,
    mut ask: impl FnMut(Instant) -> Result<Option<T>, load::LoadError>,
) -> Result<Option<T>, ScenarioError> {
    let deadline = Instant::now() + limit;
    loop {
        let next = (Instant::now() + TICK).min(deadline);
        if let Some(answer) = ask(next)? {
            return Ok(Some(answer));
        }
        if interrupted() {
            return Err(ScenarioError::Interrupted);
        }
        if next >= deadline {
            return Ok(None);
        }
    }
}
